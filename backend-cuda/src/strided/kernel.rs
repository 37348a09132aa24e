//! Every kernel there is, each listed once: where it is, what it is called, for which widths, and
//! why it is chosen.
//!
//! A launch names a kernel by its [`Entry`], so one that is not listed does not compile; a test
//! compares the list with what the images hold.

use std::ffi::CStr;

macro_rules! modules {
    ($($module:ident $name:literal)*) => {
        /// A module of kernels, loaded when one of them is first needed. Those of tiles are
        /// `tile.cu` for one width each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Module {
            $($module),*
        }

        impl Module {
            pub const ALL: &'static [Self] = &[$(Self::$module),*];

            /// The name of its file, without suffix.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$module => $name),*
                }
            }
        }
    };
}

modules! {
    Rows "rows"
    Gather "gather"
    Fill "fill"
    Join "join"
    Tile1 "tile_1"
    Tile2 "tile_2"
    Tile4 "tile_4"
    Tile8 "tile_8"
    Tile16 "tile_16"
}

/// The source file of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Rows,
    Gather,
    Fill,
    Join,
    Tile,
}

/// How the byte of an element of a run is found in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Find {
    /// One step.
    #[default]
    Linear,
    /// A step for a period, and another from period to period.
    Periodic,
    /// A table that repeats with a step.
    Table,
    /// One step, in words that hold one element of each of several runs.
    Packed,
    /// In place: a row interleaves the elements of this many runs.
    Split(u32),
    /// One step, and elements stored one by one.
    Scatter,
}

/// What tells one kernel of tiles from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileKernel {
    /// How elements are found.
    pub find: Find,
    /// Bytes of a store.
    pub store_bytes: u32,
    /// Runs start at any alignment.
    pub shifted: bool,
    /// Tiles overlap along the run, each run stored from one sector to another.
    pub overlap: bool,
    /// Runs go over two axes as one (a fused axis).
    pub fused: bool,
    /// Lines are loaded with evict-last priority, so that they stay in the cache until all of them
    /// was read.
    pub evict_last: bool,
    /// Entries of the table are read as vectors.
    pub wide: bool,
}

/// One line of the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    family: Family,
    /// What it is called for each of `widths`, or once.
    names: &'static [&'static CStr],
    /// Element widths it is compiled for; empty if it does not depend on one.
    pub(super) widths: &'static [u32],
    /// Of tiles: what it does.
    tile: Option<TileKernel>,
    /// Why a copy uses it.
    pub(super) why: &'static str,
}

/// A kernel for one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    pub entry: Entry,
    /// Bytes of an element; 0 if the kernel does not depend on it.
    pub width: u32,
}

impl Kernel {
    pub fn new(entry: Entry, width: u32) -> Self {
        Self { entry, width: if entry.listed().widths.is_empty() { 0 } else { width } }
    }

    /// Where it is.
    pub fn module(self) -> Module {
        match (self.entry.family(), self.width) {
            (Family::Rows, _) => Module::Rows,
            (Family::Gather, _) => Module::Gather,
            (Family::Fill, _) => Module::Fill,
            (Family::Join, _) => Module::Join,
            (Family::Tile, 1) => Module::Tile1,
            (Family::Tile, 2) => Module::Tile2,
            (Family::Tile, 4) => Module::Tile4,
            (Family::Tile, 8) => Module::Tile8,
            (Family::Tile, _) => Module::Tile16,
        }
    }

    /// What it is called there, if it is compiled for the width.
    pub fn name(self) -> Option<&'static CStr> {
        let Listed { names, widths, .. } = self.entry.listed();
        let at =
            if widths.is_empty() { Some(0) } else { widths.iter().position(|&width| width == self.width) };
        at.and_then(|at| names.get(at).or(names.first())).copied()
    }
}

const fn terminated(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a zero inside a name"),
    }
}

/// Lines `ENTRY: FAMILY [NAMES] what it does, if of tiles, why it is chosen`. Names: one; one in
/// the modules of some widths; ones that end with their width, or contain it.
macro_rules! kernels {
    ($($entry:ident: $family:ident $names:tt $tile:expr, $why:expr;)*) => {
        /// A kernel, whatever the width.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Entry {
            $($entry),*
        }

        impl Entry {
            pub const ALL: &'static [Self] = &[$(Self::$entry),*];

            /// Its line of the list.
            pub(super) const fn listed(self) -> Listed {
                match self {
                    $(Self::$entry => {
                        const NAMES: (&[&CStr], &[u32]) = kernels!(@names $names);
                        let (names, widths) = NAMES;
                        Listed { family: Family::$family, names, widths, tile: $tile, why: $why }
                    })*
                }
            }
        }
    };
    (@names [$name:literal]) => { (&[terminated(concat!($name, "\0"))], &[]) };
    (@names [$name:literal in $($width:literal)+]) => { (&[terminated(concat!($name, "\0"))], &[$($width),+]) };
    (@names [$name:literal of $($width:literal)+; $rest:literal]) => {
        (&[$(terminated(concat!($name, $width, $rest, "\0"))),+], &[$($width),+])
    };
}

use Find::{Linear, Packed, Periodic, Scatter, Split, Table};

/// A kernel of tiles.
const fn tile(find: Find) -> TileKernel {
    TileKernel {
        find,
        store_bytes: 16,
        shifted: false,
        overlap: false,
        fused: false,
        evict_last: false,
        wide: false,
    }
}

const REPEATED: &str = "the source repeats along the axis of the destination: only writing counts";
const ALIGNED: &str = "every run starts at a multiple of 16 B, its elements one step apart";
const STREAMED: &str = "every run starts at a multiple of 16 B, its elements one step apart; so much streams through that whole lines \
     stay in the cache until read";
const TABULATED: &str = "runs start anywhere, and a table finds their elements";
const FUSED: &str =
    "runs start anywhere, and go on over the ends of an axis, which lie within sectors of memory";
const ALL_ROWS: &str = "one run goes over all rows of a tile and then along them";
const NARROW: &str = "runs start at multiples of 8 or 4 B, and so do the source's rows: elements of neighbouring runs are fetched \
     together";
const OVERLAPPING: &str = "elements of neighbouring runs are fetched together, and tiles overlap so that each run is stored from one \
     sector of memory to another";
const PACKED_FUSED: &str = "elements of neighbouring runs are fetched together, and runs go on over the ends of an axis, which lie \
     within sectors of memory";
const INTERLEAVED: &str =
    "elements of a few runs are interleaved in the source: vectors of them are picked apart in registers";

kernels! {
    RowsAligned: Rows ["rows_aligned"] None,
        "both sides run along the same axis, every row from a multiple of 16 B to another";
    RowsAgain: Rows ["rows_again"] None,
        "both sides run along the same axis, every row from a multiple of 16 B to another, and rows of the source \
         come back: only writing counts";
    RowsRealign: Rows ["rows_realign"] None,
        "both sides run along the same axis, but rows start at different places of 16 B: two aligned loads are \
         shifted into each store";
    RowsJoin: Rows ["rows_join"] None,
        "both sides run along the same axis, and short rows follow each other in the destination: joined, so that \
         stores are whole";
    RowsTable: Rows ["rows_table_" of 2 4 8; ""] None,
        "both sides run along the same axis, and many rows follow each other in the destination: a block writes a piece \
         of it, and looks up where its rows begin";
    RowsReverse: Rows ["rows_reverse_" of 1 2 4 8; ""] None,
        "the source runs backwards along the axis of the destination";
    RowsStride: Rows ["rows_stride_" of 1 2 4 8 16; ""] None,
        "the source skips along the axis of the destination and has no faster axis: elements are picked into whole stores";
    RowsRepeat: Rows ["rows_repeat_" of 1 2 4 8 16; ""] None, REPEATED;
    Gather: Gather ["gather_" of 1 2 4 8 16; ""] None,
        "pieces are too short, or too far apart, for rows and tiles";
    Fill32: Fill ["fill_w" of 1 2 4 8 16; "_n32"] None, "at most 2^31 elements";
    Fill64: Fill ["fill_w" of 1 2 4 8 16; "_n64"] None, "more than 2^31 elements";
    JoinPieces: Join ["join_pieces_" of 1 2 4 8 16; ""] None,
        "several copies to one destination: what lies side by side is written at about the same time";
    JoinInterleave: Join ["join_interleave_" of 1 2 4 8 16; ""] None,
        "several sources have a few elements of each row: rows are put together in shared memory";
    JoinZip: Join ["join_zip_" of 1 2 4 8; ""] None,
        "2, 4, 8 or 16 sources have one element of each row: parts of vectors are put together";
    Linear: Tile ["tile_linear" in 1 2 4 8 16] Some(tile(Linear)), ALIGNED;
    LinearEvictLast: Tile ["tile_linear_evict_last" in 1 2 4 8 16] Some(TileKernel { evict_last: true, ..tile(Linear) }), STREAMED;
    LinearShifted: Tile ["tile_linear_shifted" in 1 2 4 8] Some(TileKernel { shifted: true, ..tile(Linear) }),
        "runs start anywhere, their elements one step apart";
    LinearShiftedFused: Tile ["tile_linear_shifted_fused" in 1]
        Some(TileKernel { shifted: true, fused: true, ..tile(Linear) }), FUSED;
    Periodic: Tile ["tile_periodic" in 1] Some(tile(Periodic)), ALL_ROWS;
    PeriodicShifted: Tile ["tile_periodic_shifted" in 1] Some(TileKernel { shifted: true, ..tile(Periodic) }), ALL_ROWS;
    Table: Tile ["tile_table" in 1 2 4 8 16] Some(tile(Table)), "a table finds the elements of runs over several axes";
    TableShifted: Tile ["tile_table_shifted" in 1 2 4 8] Some(TileKernel { shifted: true, ..tile(Table) }), TABULATED;
    TableShiftedFused: Tile ["tile_table_shifted_fused" in 2 4 8]
        Some(TileKernel { shifted: true, fused: true, ..tile(Table) }), FUSED;
    TableWide: Tile ["tile_table_shifted_wide" in 1] Some(TileKernel { shifted: true, wide: true, ..tile(Table) }), TABULATED;
    TableWideFused: Tile ["tile_table_shifted_wide_fused" in 1]
        Some(TileKernel { shifted: true, wide: true, fused: true, ..tile(Table) }), FUSED;
    Packed: Tile ["tile_packed" in 1 2 4 8] Some(tile(Packed)), ALIGNED;
    Packed8: Tile ["tile_packed_8" in 1] Some(TileKernel { store_bytes: 8, ..tile(Packed) }), NARROW;
    Packed4: Tile ["tile_packed_4" in 1] Some(TileKernel { store_bytes: 4, ..tile(Packed) }), NARROW;
    PackedEvictLast: Tile ["tile_packed_evict_last" in 1 2 4 8] Some(TileKernel { evict_last: true, ..tile(Packed) }), STREAMED;
    PackedOverlap: Tile ["tile_packed_overlap" in 1 2 4 8] Some(TileKernel { overlap: true, ..tile(Packed) }), OVERLAPPING;
    PackedOverlap8: Tile ["tile_packed_overlap_8" in 1]
        Some(TileKernel { overlap: true, store_bytes: 8, ..tile(Packed) }), OVERLAPPING;
    PackedOverlap4: Tile ["tile_packed_overlap_4" in 1]
        Some(TileKernel { overlap: true, store_bytes: 4, ..tile(Packed) }), OVERLAPPING;
    PackedFused: Tile ["tile_packed_fused" in 1 2 4 8] Some(TileKernel { fused: true, ..tile(Packed) }), PACKED_FUSED;
    PackedFused8: Tile ["tile_packed_fused_8" in 1]
        Some(TileKernel { fused: true, store_bytes: 8, ..tile(Packed) }), PACKED_FUSED;
    PackedFused4: Tile ["tile_packed_fused_4" in 1]
        Some(TileKernel { fused: true, store_bytes: 4, ..tile(Packed) }), PACKED_FUSED;
    Split2: Tile ["tile_split_2" in 1 2 4 8] Some(tile(Split(2))), INTERLEAVED;
    Split3: Tile ["tile_split_3" in 1 2 4 8] Some(tile(Split(3))), INTERLEAVED;
    Split4: Tile ["tile_split_4" in 1 2 4 8] Some(tile(Split(4))), INTERLEAVED;
    Scatter: Tile ["tile_scatter" in 1 2 4 8 16] Some(tile(Scatter)),
        "the source has dense rows, but elements of the destination lie apart";
}

impl Entry {
    pub fn family(self) -> Family {
        self.listed().family
    }

    /// What it does, if it is a kernel of tiles.
    pub fn tile(self) -> Option<TileKernel> {
        self.listed().tile
    }
}

impl TileKernel {
    /// The kernel that does this, the widths apart.
    pub fn entry(self) -> Entry {
        let Self { find, store_bytes, shifted, overlap, fused, evict_last, wide } = self;
        match (find, shifted) {
            (Linear, false) if evict_last => Entry::LinearEvictLast,
            (Linear, false) => Entry::Linear,
            (Linear, true) if fused => Entry::LinearShiftedFused,
            (Linear, true) => Entry::LinearShifted,
            (Periodic, false) => Entry::Periodic,
            (Periodic, true) => Entry::PeriodicShifted,
            (Table, false) => Entry::Table,
            (Table, true) => match (wide, fused) {
                (false, false) => Entry::TableShifted,
                (false, true) => Entry::TableShiftedFused,
                (true, false) => Entry::TableWide,
                (true, true) => Entry::TableWideFused,
            },
            (Packed, _) if evict_last => Entry::PackedEvictLast,
            (Packed, _) => match (store_bytes, overlap, fused) {
                (16, false, false) => Entry::Packed,
                (8, false, false) => Entry::Packed8,
                (_, false, false) => Entry::Packed4,
                (16, true, false) => Entry::PackedOverlap,
                (8, true, false) => Entry::PackedOverlap8,
                (_, true, false) => Entry::PackedOverlap4,
                (16, _, true) => Entry::PackedFused,
                (8, _, true) => Entry::PackedFused8,
                (_, _, true) => Entry::PackedFused4,
            },
            (Split(2), _) => Entry::Split2,
            (Split(3), _) => Entry::Split3,
            (Split(_), _) => Entry::Split4,
            (Scatter, _) => Entry::Scatter,
        }
    }
}
