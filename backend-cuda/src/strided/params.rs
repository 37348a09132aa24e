//! The parameter blocks that the host shares with the kernels, passed by value: one launch needs no
//! memory on the device.
//!
//! The sources in `kernels/strided` explain the fields. Each struct has the name that it has there,
//! and the same fields in the same order; a test compares names, types and offsets with the
//! sources.

/// A field of a parameter block.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub name: &'static str,
    pub type_name: &'static str,
    pub offset: usize,
    pub len_bytes: usize,
}

/// Declares a struct that a kernel source declares as well. Padding is declared as a field, so that
/// every byte of a block is set.
macro_rules! shared {
    ($visibility:vis, $($(#[$attribute:meta])* struct $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            $(#[$attribute])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            #[repr(C)]
            $visibility struct $name {
                $(pub $field: $type,)*
            }

            const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())*, "no padding");
        )*

        /// Every struct declared here: its name, its size and its fields.
        #[cfg(test)]
        pub(super) const SHARED: &[(&str, usize, &[Field])] = &[$((
            stringify!($name),
            size_of::<$name>(),
            &[$(Field {
                name: stringify!($field),
                type_name: stringify!($type),
                offset: std::mem::offset_of!($name, $field),
                len_bytes: size_of::<$type>(),
            }),*],
        )),*];
    };
}

/// The most loops around single elements in a launch. Each has at least two steps, and a launch has
/// fewer than 2^31 elements.
pub const MAX_GATHER_AXES: usize = 32;
/// The most loops around rows in a launch; a copy with more goes by tiles or single elements.
pub const MAX_ROW_AXES: usize = 24;
/// The most loops around tiles in a launch.
pub const MAX_OUTER: usize = 20;
/// The most loops around rows, around runs, and along a run in a tile.
pub const MAX_INNER: usize = 8;
/// The most loops of a fill. Each repeats at least twice, and there are at most `isize::MAX`
/// elements, which have at least one byte each.
pub const MAX_FILL_AXES: usize = 62;
/// The most copies that one launch carries out together.
pub const MAX_PIECES: usize = 16;
/// The most loops around the rows or elements of each of them.
pub const MAX_PIECE_AXES: usize = 4;
/// For short rows: the most sources, elements of a row, and loops around boxes of rows.
pub const MAX_SOURCES: usize = 64;
pub const MAX_SHORT_ROW: usize = 256;
pub const MAX_BOX_LOOPS: usize = 2;
/// "No axis" for the counters of pieces.
pub const NO_AXIS: u32 = u32::MAX;

shared! {
    pub,

    /// Division by a number known at launch.
    #[derive(Default)]
    struct FastDiv { divisor: u32, multiplier: u32, shift: u32, }

    /// A loop of a copy, and the bytes from step to step on each side.
    #[derive(Default)]
    struct Loop { extent: FastDiv, unused: u32, src: i64, dst: i64, }

    /// The beginning of every parameter block of a copy.
    #[derive(Default)]
    struct Operands { src: u64, dst: u64, src_begin: u64, src_end: u64, }

    /// The parameters of `gather.cu`.
    struct GatherParams {
        at: Operands,
        axes: u32, total: u32,
        axis: [Loop; MAX_GATHER_AXES],
    }

    /// The parameters of `rows.cu`.
    struct RowsParams {
        at: Operands,
        axes: u32, total: u32,
        chunks: FastDiv,
        row_bytes: u32, row: FastDiv, group_bytes: u32,
        step: i64,
        axis: [Loop; MAX_ROW_AXES],
    }

    /// A loop around rows of a tile: the byte step in the tile, and in the source.
    #[derive(Default)]
    struct RowLoop { extent: FastDiv, x: i32, src: i64, }

    /// A loop around runs: the byte step in the tile, and in the destination.
    #[derive(Default)]
    struct StoreLoop { extent: FastDiv, x: i32, dst: i64, }

    /// A loop along a run: the byte step in the tile.
    #[derive(Default)]
    struct RunLoop { extent: FastDiv, x: i32, }

    /// The parameters of `tile.cu`.
    #[derive(Default)]
    struct TileParams {
        at: Operands,
        tiles: u32, outer_axes: u32, a_outer: u32, b_outer: u32,
        outer: [Loop; MAX_OUTER],
        c_outer: u32, c_extent: u32, c_piece: u32, ahead: u32,
        a_extent: u32, a_piece: u32, b_extent: u32, b_piece: u32,
        a_src: i64, a_in_run: u32, b_in_rows: u32,
        overlap: u32, start_mask: u32,
        low: i64, high: i64,
        span: u32, span_inner: u32, rows: u32, rows_inner: u32, row_step: u32,
        swizzle_shift: u32, swizzle_mask: u32, run_in_classes: u32,
        chunks: FastDiv, pad_chunks: FastDiv, pad_log2: u32,
        row_axes: u32, classes_log2: u32, row_pitch: u32, class_pitch: u32, unused_1: u32,
        row: [RowLoop; MAX_INNER],
        run: u32, run_inner: u32, stores: u32, stores_inner: u32,
        store_groups: FastDiv, run_chunks: u32, lanes_log2: u32, passes: u32, columns: FastDiv,
        store_axes: u32, store_x: i32, unused_2: u32, run_dst: i64,
        store: [StoreLoop; MAX_INNER],
        fused: FastDiv, fused_x: u32, fused_src: i64,
        vector_x: i32, element_x: i32, period: FastDiv, period_x: i32,
        run_axes: u32, run_axis: [RunLoop; MAX_INNER], element_at: [i32; 8],
        rotate_by_run: u32, rotate_by_vector: u32,
        row_table: u32, store_table: u32, run_table: u32, data: u32,
        rotate_bytes: u32, share: u32, unused_3: u32,
    }

    /// One copy of several.
    #[derive(Default)]
    struct Piece {
        at: Operands,
        axes: u32, total: u32, row_bytes: u32, share: u32,
        chunks: FastDiv, begin: u32,
        axis: [Loop; MAX_PIECE_AXES],
    }

    /// The parameters of `join.cu` for pieces.
    struct PiecesParams {
        round: FastDiv, unused: u32,
        end: [u32; MAX_PIECES],
        piece: [Piece; MAX_PIECES],
    }

    /// The source of some elements of each short row.
    #[derive(Default)]
    struct Source { src: u64, row: i64, step: i64, first: u32, count: u32, outer: [i64; MAX_BOX_LOOPS], }

    /// The parameters of `join.cu` for interleaved rows.
    struct InterleaveParams {
        dst: u64,
        row: FastDiv,
        elements: u32, total: u32, sources: u32,
        blocks: FastDiv, unused: u32,
        outer: [Loop; MAX_BOX_LOOPS],
        source: [Source; MAX_SOURCES],
    }

    /// A loop of a fill.
    #[derive(Default)]
    struct FillLoop { extent: u64, dst: i64, unused: i64, multiplier: u32, shift: u32, }

    /// The parameters of `fill.cu`.
    struct FillParams {
        dst: u64, unused: u64, total: u64,
        axes: u32, unused_after_axes: u32, pattern: [u32; 4],
        axis: [FillLoop; MAX_FILL_AXES],
    }
}

impl FastDiv {
    /// Division by `divisor`, which is from 1 to 2^31, of numbers below 2^31: `n / divisor` is the
    /// high half of `n * multiplier`, plus `n`, shifted right. Granlund and Montgomery, "Division
    /// by Invariant Integers using Multiplication", 1994, figure 4.1; the sum is computed in 32
    /// bits, which is exact for such numbers.
    pub fn new(divisor: u32) -> Self {
        debug_assert!((1..=1 << 31).contains(&divisor), "a divisor of 32-bit division");
        let shift = divisor.next_power_of_two().trailing_zeros();
        let over = (1_u64 << shift) - u64::from(divisor);
        // Below 2^32, because the power of two is less than twice the divisor.
        let multiplier = (over << 32) / u64::from(divisor) + 1;
        Self { divisor, multiplier: u32::try_from(multiplier).unwrap_or(u32::MAX), shift }
    }

    /// Division by `divisor`, if that is from 1 to 2^31.
    pub fn checked(divisor: u64) -> Option<Self> {
        let divisor = u32::try_from(divisor).ok()?;
        (1..=1 << 31).contains(&divisor).then(|| Self::new(divisor))
    }

    /// The quotient, computed as on the device.
    pub fn divide(self, n: u32) -> u32 {
        let high = (u64::from(n) * u64::from(self.multiplier)) >> 32;
        (u32::try_from(high).unwrap_or(u32::MAX).wrapping_add(n)) >> self.shift
    }
}

impl Operands {
    /// Returns these operands, moved by `src` in the source and by `dst` in the destination.
    pub(super) fn moved(self, (src, dst): (u64, u64)) -> Self {
        Self {
            src: self.src.wrapping_add(src),
            dst: self.dst.wrapping_add(dst),
            src_begin: self.src_begin.wrapping_add(src),
            src_end: self.src_end.wrapping_add(src),
        }
    }
}

impl Loop {
    pub fn new(extent: u32, src: i64, dst: i64) -> Self {
        Self { extent: FastDiv::new(extent), unused: 0, src, dst }
    }
}
