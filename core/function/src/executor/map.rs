//! Maps: computes every element of a result, or a range of them.
#![allow(unsafe_code)] // computes the elements that callers vouch for

use std::{ops::Range, ptr};

use smallvec::SmallVec;

use super::{
    code::Code,
    machine::LINE_BYTES,
    moves::{Tile, scatter, turn},
    nest::{Nest, boxes, scaled},
    runner::{Part, Runner, Sink, linear},
    stream::{FETCHED_BYTES, STREAMED_BYTES, fence, stream},
};

/// Rows and columns of a tile, for operands that are transposed.
const TILE_ROWS: usize = 64;
const TILE_COLUMNS: usize = 256;

/// The way to write a result.
#[derive(Debug, Clone, Copy)]
struct Written {
    /// Whether an input is the result's own elements.
    in_place: bool,
    /// Whether the result exceeds the caches.
    streamed: bool,
}

/// Computes the elements of a range, counted in row-major order of the shape.
///
/// # Safety
///
/// The nest's operands are the inputs, then the result, with their layouts in the shape. The elements of
/// the inputs in the range may be read, and the elements of the result may be written. An input shares
/// no byte with the result, or is the result's own elements.
pub(super) unsafe fn map(code: &Code, nest: &Nest, shape: &[usize], scalars: &[u64], range: Range<usize>) {
    let result = nest.operands.len() - 1;
    let start = nest.operands[result].start;
    let in_place = nest.operands[..result].iter().any(|input| input.start == start);
    let result_bytes = nest.len() * nest.operands[result].item_bytes;
    let streamed = result_bytes >= STREAMED_BYTES;
    // With fewer steps an element, the processor's own prefetching is enough.
    let fetches = result_bytes >= FETCHED_BYTES && code.steps.len() >= 4;
    let written = Written { in_place, streamed };
    if nest.extents.len() == 1 || !code.positions.is_empty() {
        let mut runner = Runner::new(code, scalars, range.len(), 0);
        runner.fetches = fetches;
        // SAFETY: as the caller promises
        unsafe { blocks(&mut runner, nest, shape, range, written) };
    } else {
        let turned_bytes = TILE_ROWS * (TILE_COLUMNS * 8 + LINE_BYTES) * result;
        let mut runner = Runner::new(code, scalars, range.len(), turned_bytes);
        runner.fetches = fetches;
        boxes(&nest.extents, range, &mut |part| {
            let nest = nest.part(part, result);
            // SAFETY: as the caller promises; the box is a part of the range
            #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one of both is done")]
            unsafe {
                match turned(&nest) {
                    Some(axis) => tiles(&mut runner, &nest, axis, written),
                    None => blocks(&mut runner, &nest, shape, 0..nest.len(), written),
                }
            }
        });
    }
    if streamed {
        fence();
    }
}

/// # Safety
///
/// The conditions of [`map`].
unsafe fn blocks(
    runner: &mut Runner<'_>,
    nest: &Nest,
    shape: &[usize],
    range: Range<usize>,
    written: Written,
) {
    let result = nest.operands.len() - 1;
    let width = nest.operands[result].item_bytes;
    let dense = nest.operands[result].is_dense();
    // Lines of a streamed result are written whole.
    let ahead = nest.at(result, range.start).addr().wrapping_neg() % LINE_BYTES / width;
    let block_len = runner.code.block_len;
    let first = if written.streamed && dense && ahead > 0 { ahead } else { block_len };
    runner.past = written.streamed;
    let mut sink = Stored {
        past: runner.code.past.is_some(),
        nest,
        result,
        width,
        dense,
        written,
        whole: nest.extents.len() == 1 || nest.is_dense(result),
    };
    let part = Part { nest, shape, range, first, block_len };
    // SAFETY: as the caller promises
    unsafe { linear(runner, part, &mut sink) };
}

/// Writes results in place.
struct Stored<'a> {
    nest: &'a Nest,
    result: usize,
    width: usize,
    dense: bool,
    written: Written,
    /// Whether the last step itself writes past the caches.
    past: bool,
    /// Whether every block of the result is one run.
    whole: bool,
}

impl Stored<'_> {
    fn is_run(&self, range: &Range<usize>) -> bool {
        let inner = self.nest.inner();
        self.whole || range.start / inner == (range.end - 1) / inner
    }
}

impl Sink for Stored<'_> {
    fn target(&mut self, range: Range<usize>) -> *mut u8 {
        let direct = !self.written.in_place && (!self.written.streamed || self.past);
        if self.dense && direct && self.is_run(&range) {
            return self.nest.at(self.result, range.start).cast_mut();
        }
        ptr::null_mut()
    }

    unsafe fn take(&mut self, range: Range<usize>, result: *const u8) {
        let stride = self.nest.operands[self.result].inner();
        if self.is_run(&range) {
            let to = self.nest.at(self.result, range.start).cast_mut();
            // SAFETY: as the caller promises; the elements of the result may be written
            return unsafe { store(result, to, (self.width, stride), range.len(), self.written) };
        }
        let mut from = result;
        self.nest.runs(self.result, range, |to, len| {
            // SAFETY: as above
            unsafe { scatter(self.width, from, to.cast_mut(), stride, len) };
            from = from.wrapping_add(len * self.width);
        });
    }
}

/// Stores a run, unless it is in place already.
///
/// # Safety
///
/// `len` elements may be read, and written.
unsafe fn store(from: *const u8, to: *mut u8, (width, stride): (usize, isize), len: usize, written: Written) {
    // The result of an identity in place is there already, too.
    if from == to.cast_const() {
        return;
    }
    if written.streamed && stride == width.cast_signed() {
        // SAFETY: the caller promises that the elements may be read and written; they lie side by side
        return unsafe { stream(from, to, len * width) };
    }
    // SAFETY: as the caller promises
    unsafe { scatter(width, from, to, stride, len) };
}

/// The axis along which an input's elements are nearer than along the innermost axis.
fn turned(nest: &Nest) -> Option<usize> {
    let last = nest.extents.len().checked_sub(1)?;
    let (_, inputs) = nest.operands.split_last()?;
    let far = inputs.iter().find(|input| input.inner().unsigned_abs() > input.item_bytes)?;
    let axis = (0..last).filter(|&axis| far.strides[axis] != 0);
    let axis = axis.min_by_key(|&axis| far.strides[axis].unsigned_abs())?;
    let nearer = far.strides[axis].unsigned_abs() < far.inner().unsigned_abs();
    (nearer && nest.extents[axis] >= 4 && nest.extents[last] >= TILE_COLUMNS / 4).then_some(axis)
}

/// Computes by tiles of an axis and the innermost axis.
///
/// # Safety
///
/// The conditions of [`map`], for the whole nest.
unsafe fn tiles(runner: &mut Runner<'_>, nest: &Nest, axis: usize, written: Written) {
    runner.past = false;
    let (last, result) = (nest.extents.len() - 1, nest.operands.len() - 1);
    let others: SmallVec<[usize; 4]> = (0..last).filter(|&other| other != axis).collect();
    let count: usize = others.iter().map(|&other| nest.extents[other]).product();
    let most_columns = TILE_COLUMNS.min(runner.code.block_len);
    let extra = runner.extra();
    let mut starts: SmallVec<[*const u8; 4]> = SmallVec::new();
    for outer in 0..count {
        starts.clear();
        starts.extend(nest.operands.iter().map(|operand| {
            let mut left = outer;
            others.iter().rev().fold(operand.start, |start, &other| {
                let at = left % nest.extents[other];
                left /= nest.extents[other];
                start.wrapping_offset(scaled(at, operand.strides[other]))
            })
        }));
        for row in (0..nest.extents[axis]).step_by(TILE_ROWS) {
            let rows = TILE_ROWS.min(nest.extents[axis] - row);
            for column in (0..nest.extents[last]).step_by(most_columns) {
                let columns = most_columns.min(nest.extents[last] - column);
                let from = |operand: usize, row: usize| {
                    let strides = &nest.operands[operand].strides;
                    let start = starts[operand].wrapping_offset(scaled(row, strides[axis]));
                    start.wrapping_offset(scaled(column, strides[last]))
                };
                let buffer =
                    |input: usize| extra.wrapping_add(input * TILE_ROWS * (TILE_COLUMNS * 8 + LINE_BYTES));
                let tile = |input: usize| {
                    let operand = &nest.operands[input];
                    let (row_bytes, column_bytes) = (operand.strides[axis], operand.strides[last]);
                    let is_turned =
                        column_bytes != 0 && row_bytes.unsigned_abs() < column_bytes.unsigned_abs();
                    // A row has one more line, so that rows do not share one set of a cache.
                    let pitch = TILE_COLUMNS * operand.item_bytes + LINE_BYTES;
                    is_turned.then_some(Tile { rows, columns, row_bytes, column_bytes, pitch })
                };
                for input in 0..result {
                    if let Some(tile) = tile(input) {
                        let width = nest.operands[input].item_bytes;
                        // SAFETY: as the caller promises; the buffer has room for a tile
                        unsafe { turn(width, from(input, row), tile, buffer(input)) };
                    }
                }
                for r in 0..rows {
                    for input in 0..result {
                        let operand = &nest.operands[input];
                        let (start, stride) = match tile(input) {
                            Some(tile) => {
                                let start = buffer(input).wrapping_add(r * tile.pitch);
                                (start.cast_const(), operand.item_bytes.cast_signed())
                            }
                            None => (from(input, row + r), operand.inner()),
                        };
                        // SAFETY: as the caller promises, or a row of the tile
                        unsafe { runner.run(input, start, stride, columns) };
                    }
                    let operand = &nest.operands[result];
                    let to = from(result, row + r).cast_mut();
                    let direct = operand.is_dense() && !written.in_place;
                    let target = if direct { to } else { ptr::null_mut() };
                    // SAFETY: all is set; the result has room for the row of the tile
                    let done = unsafe { runner.execute(columns, target) };
                    let step = (operand.item_bytes, operand.inner());
                    // SAFETY: as above
                    unsafe { store(done, to, step, columns, Written { streamed: false, ..written }) };
                }
            }
        }
    }
}
