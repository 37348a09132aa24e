//! Computes blocks of a result: operands are packed, and tiles go over them.
#![allow(unsafe_code)] // reads and writes the elements that callers vouch for

use std::ops::Range;

use crate::{
    chains::{CHAIN, Sums},
    kind::Kind,
    lanes::Lanes,
    lines::{Lines, MOST_ROWS, lines},
    number::Number,
    pack::{Elements, pack},
    tile::{Tile, tile},
};

/// The number of k between two stores of the sums, if operands are packed.
const DEPTH: usize = 256;
/// The number of k between two stores, if the right operand is read in place and does not fit a
/// cache. It is small, so that the processor can fetch the rows ahead.
const DEPTH_IN_PLACE: usize = 8;
/// The most bytes of the right operand that are packed at a time. They stay in the second-level
/// cache.
const PACKED_BYTES: usize = 480 << 10;
/// Up to this many rows, a right operand whose columns lie side by side is not packed.
const FEW_ROWS: usize = 32;
/// Up to this many rows, a packed right operand is used from the first-level cache.
const VERY_FEW_ROWS: usize = 8;
/// Operands of at most this many bytes are used in place.
const SMALL_BYTES: usize = 64 << 10;
const CACHED_BYTES: usize = 256 << 10;
/// Up to this many tiles side by side, a left operand is not packed.
const FEW_TILES: usize = 2;

/// The number of columns that are packed at a time.
pub(crate) const fn packed_columns<N>() -> usize {
    PACKED_BYTES / (DEPTH * size_of::<N>())
}

/// A block of a result, and the rows and columns that make it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<B> {
    /// Rows, k and columns.
    pub(crate) extents: [usize; 3],
    pub(crate) a: Elements<B>,
    pub(crate) b: Elements<B>,
    pub(crate) result: *mut B,
    /// The strides between rows, and between columns.
    pub(crate) strides: [isize; 2],
    /// Whether chains start from the elements of the result.
    pub(crate) onto: bool,
}

/// Memory that blocks use one after the other.
#[derive(Debug)]
pub(crate) struct Room<N> {
    a: Vec<N>,
    b: Vec<N>,
    y: Vec<N>,
    sums: Sums<N>,
}

impl<N: Number> Room<N> {
    pub(crate) fn new() -> Self {
        Self { a: Vec::new(), b: Vec::new(), y: Vec::new(), sums: Sums::new() }
    }
}

/// Gets `len` numbers that start with a cache line, so that vectors do not straddle lines.
#[inline(always)]
fn grown<N: Number>(room: &mut Vec<N>, len: usize) -> &mut [N] {
    const LINE_BYTES: usize = 64;
    let line = LINE_BYTES / size_of::<N>();
    if room.len() < len + line {
        *room = vec![N::ZERO; len + line];
    }
    let start = room.as_ptr().align_offset(LINE_BYTES).min(line);
    &mut room[start..][..len]
}

/// The length of pieces of about one size, each at most `most` long and a multiple of `multiple`.
#[inline(always)]
pub(crate) fn evenly(len: usize, most: usize, multiple: usize) -> usize {
    len.div_ceil(len.div_ceil(most).max(1)).next_multiple_of(multiple).max(1)
}

/// Whether tiles can write the result in place.
pub(crate) fn in_place<K: Kind>(depth: usize, column_stride: isize) -> bool {
    K::IS_NUMBER && column_stride == 1 && depth <= CHAIN
}

/// Where the sums of chains go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<N> {
    pub(crate) start: *mut N,
    pub(crate) row_stride: isize,
    /// Whether chains start here, at 0; otherwise they continue from the stored sums.
    pub(crate) fresh: bool,
    /// Whether chains end here, and NaNs become canonical.
    pub(crate) done: bool,
}

impl<B: Copy> Block<B> {
    /// Computes the block.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of the lanes. The elements of the operands may be read. The
    /// elements of the result may be written, and also read if it is `onto`. Nothing else touches any of
    /// them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn compute<L: Lanes, K: Kind<Bits = B, Number = L::Number>>(
        &self,
        room: &mut Room<L::Number>,
    ) {
        let [rows, depth, columns] = self.extents;
        if in_place::<K>(depth, self.strides[1]) || (K::IS_NUMBER && columns == 1 && depth <= CHAIN) {
            let target = Target {
                start: self.result.cast(),
                row_stride: self.strides[0],
                fresh: !self.onto,
                done: true,
            };
            // SAFETY: as the caller promises
            return unsafe { self.chain::<L, K>(0..depth, target, room) };
        }
        let (mut y, mut sums) = (std::mem::take(&mut room.y), std::mem::replace(&mut room.sums, Sums::new()));
        let numbers = grown(&mut y, rows * columns);
        let chain = |number: usize, numbers: &mut [L::Number]| {
            let onto = self.onto && number == 0;
            if onto {
                // SAFETY: as the caller promises
                unsafe { self.load::<K>(numbers) };
            }
            let (start, row_stride) = (numbers.as_mut_ptr(), columns.cast_signed());
            let target = Target { start, row_stride, fresh: !onto, done: false };
            let range = number * CHAIN..depth.min((number + 1) * CHAIN);
            // SAFETY: as the caller promises; there are as many numbers as the block has elements
            unsafe { self.chain::<L, K>(range, target, room) };
        };
        sums.chains(depth, numbers, chain);
        // SAFETY: as the caller promises
        unsafe { self.store::<K>(numbers) };
        (room.y, room.sums) = (y, sums);
    }

    /// Computes one chain of all elements.
    ///
    /// # Safety
    ///
    /// The conditions of [`compute`](Self::compute), for the target.
    #[inline(always)]
    pub(crate) unsafe fn chain<L: Lanes, K: Kind<Bits = B, Number = L::Number>>(
        &self,
        range: Range<usize>,
        target: Target<L::Number>,
        room: &mut Room<L::Number>,
    ) {
        let [rows, _, columns] = self.extents;
        let (number_bytes, depth) = (size_of::<L::Number>(), range.len());
        if K::IS_NUMBER && rows <= MOST_ROWS && self.b.along == 1 && self.b.across != 1 {
            let call = Lines {
                depth,
                columns,
                a: self.a.from(0, range.start).cast(),
                b: self.b.from(0, range.start).cast(),
                y: target.start,
                y_stride: target.row_stride,
                fresh: target.fresh,
                done: target.done,
            };
            // SAFETY: as the caller promises; the bits are numbers
            return unsafe { lines::<L>(rows, &call) };
        }
        let b_bytes = depth * columns * number_bytes;
        let b_in_place = K::IS_NUMBER && self.b.across == 1 && (rows <= FEW_ROWS || b_bytes <= SMALL_BYTES);
        let tiles = columns.div_ceil(L::VECTORS * L::COUNT);
        let a_in_place =
            K::IS_NUMBER && (self.a.across == 1 || self.a.along == 1) && (b_in_place || tiles <= FEW_TILES);
        let each_depth = match (b_in_place, b_bytes <= CACHED_BYTES) {
            (true, true) => depth.max(1),
            (true, false) => DEPTH_IN_PLACE,
            (false, _) => evenly(depth, DEPTH, 1),
        };
        let each_columns = match b_in_place {
            true => columns,
            false if rows <= VERY_FEW_ROWS => L::VECTORS * L::COUNT,
            false => evenly(columns, packed_columns::<L::Number>(), L::VECTORS * L::COUNT),
        };
        for column in (0..columns).step_by(each_columns) {
            let columns = each_columns.min(columns - column);
            let mut from = range.start;
            loop {
                let depth = each_depth.min(range.end - from);
                let part = Part {
                    a: self.a.from(0, from),
                    b: self.b.from(column, from),
                    rows,
                    columns,
                    depth,
                    a_in_place,
                    b_in_place,
                };
                let target = Target {
                    start: target.start.wrapping_add(column),
                    fresh: target.fresh && from == range.start,
                    done: target.done && from + depth == range.end,
                    ..target
                };
                // SAFETY: as the caller promises
                unsafe { part.compute::<L, K>(target, room) };
                from += depth;
                if from == range.end {
                    break;
                }
            }
        }
    }

    /// Loads the elements of the result, as numbers row by row.
    ///
    /// # Safety
    ///
    /// The elements may be read.
    #[inline(always)]
    pub(crate) unsafe fn load<K: Kind<Bits = B>>(&self, numbers: &mut [K::Number]) {
        self.places(|number, place| {
            // SAFETY: as the caller promises
            numbers[number] = K::load(unsafe { place.read_unaligned() });
        });
    }

    /// # Safety
    ///
    /// The elements of the result may be written.
    #[inline(always)]
    pub(crate) unsafe fn store<K: Kind<Bits = B>>(&self, numbers: &[K::Number]) {
        self.places(|number, place| {
            // SAFETY: as the caller promises
            unsafe { place.write_unaligned(K::store(numbers[number])) };
        });
    }

    /// Calls with the number of each element, counted row by row, and its address.
    #[inline(always)]
    fn places(&self, mut each: impl FnMut(usize, *mut B)) {
        let ([rows, _, columns], [row_stride, column_stride]) = (self.extents, self.strides);
        let place = |row: usize, column: usize| {
            let at = row.cast_signed() * row_stride + column.cast_signed() * column_stride;
            self.result.wrapping_offset(at)
        };
        if column_stride == 1 {
            for row in 0..rows {
                let start = place(row, 0);
                (0..columns).for_each(|column| each(row * columns + column, start.wrapping_add(column)));
            }
        } else {
            for column in 0..columns {
                (0..rows).for_each(|row| each(row * columns + column, place(row, column)));
            }
        }
    }
}

/// Some rows and columns, and the k between two stores.
struct Part<B> {
    a: Elements<B>,
    b: Elements<B>,
    rows: usize,
    columns: usize,
    depth: usize,
    a_in_place: bool,
    b_in_place: bool,
}

impl<B: Copy> Part<B> {
    /// # Safety
    ///
    /// The block's conditions hold.
    #[inline(always)]
    unsafe fn compute<L: Lanes, K: Kind<Bits = B, Number = L::Number>>(
        &self,
        target: Target<L::Number>,
        room: &mut Room<L::Number>,
    ) {
        let (depth, columns) = (self.depth, self.columns);
        let vectors = columns.div_ceil(L::COUNT);
        let tiles = vectors.div_ceil(L::VECTORS);
        // The first vector of each tile.
        let first = |tile: usize| tile * vectors / tiles;
        let Room { a: a_room, b: b_room, .. } = room;
        let packed = grown(b_room, if self.b_in_place { 0 } else { depth * vectors * L::COUNT });
        if !self.b_in_place {
            for tile in 0..tiles {
                let [start, end] = [first(tile) * L::COUNT, first(tile + 1) * L::COUNT];
                let width = end.min(columns) - start;
                let to = &mut packed[start * depth..end * depth];
                // SAFETY: as the caller promises
                unsafe { pack::<L, K>(self.b.from(start, 0), [width, depth], to, end - start) };
            }
        }
        let mut row = 0;
        while row < self.rows {
            let left = self.rows - row;
            let rows = if left >= L::ROWS { L::ROWS } else { 4.min(1 << left.ilog2()) };
            let from = self.a.from(row, 0);
            let (a, by_k, a_stride) = if self.a_in_place {
                let by_k = from.across == 1;
                (from.start.cast(), by_k, if by_k { from.along } else { from.across })
            } else {
                let to = grown(a_room, depth * rows);
                // SAFETY: as the caller promises
                unsafe { pack::<L, K>(from, [rows, depth], to, rows) };
                (to.as_ptr(), true, rows.cast_signed())
            };
            for number in 0..tiles {
                let [start, end] = [first(number) * L::COUNT, first(number + 1) * L::COUNT];
                let (b, b_stride) = if self.b_in_place {
                    (self.b.from(start, 0).start.cast(), self.b.along)
                } else {
                    (packed[start * depth..].as_ptr(), (end - start).cast_signed())
                };
                let call = Tile {
                    depth,
                    a,
                    a_stride,
                    b,
                    b_stride,
                    y: target
                        .start
                        .wrapping_add(start)
                        .wrapping_offset(row.cast_signed() * target.row_stride),
                    y_stride: target.row_stride,
                    last: if end > columns { L::COUNT - (end - columns) } else { L::COUNT },
                    fresh: target.fresh,
                    done: target.done,
                };
                let vectors = (end - start) / L::COUNT;
                if by_k {
                    // SAFETY: as the caller promises
                    unsafe { tile::<L, true>(rows, vectors, &call) };
                } else {
                    // SAFETY: as the caller promises
                    unsafe { tile::<L, false>(rows, vectors, &call) };
                }
            }
            row += rows;
        }
    }
}
