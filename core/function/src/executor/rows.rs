//! Walks rows of elements, one after another.
#![allow(unsafe_code)] // looks at the elements that callers vouch for

use std::{ops::Range, ptr};

use bytemuck::Pod;
use smallvec::SmallVec;

use super::{
    Prepared,
    moves::{Tile, turn},
    nest::{Elements, Nest, Operand},
    raw::Raw,
    runner::{Part, Runner, Sink, linear},
};
use crate::{Combine, interpreter::InputElements};

/// A reduction's rows, whatever the element type.
pub(super) struct Rows<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) scalars: &'a [u64],
    pub(super) inputs: &'a [InputElements<'a>],
    pub(super) shape: &'a [usize],
    /// The number of axes that are kept, which come first; the others are combined.
    pub(super) kept: usize,
    pub(super) row_len: usize,
}

impl Rows<'_> {
    /// A nest of the inputs over a range of axes.
    pub(super) fn nest(&self, axes: Range<usize>) -> Nest {
        let of = &self.prepared.code.inputs;
        let elements = self.inputs.iter().zip(of).map(|(input, of)| -> Elements<'_> {
            (input.start, of.len_bytes(), input.layout.offset(), &input.layout.strides()[axes.clone()])
        });
        Nest::new(&self.shape[axes.clone()], elements)
    }
}

/// Takes the elements of rows.
pub(super) trait RowSink<V> {
    type Element: Pod;

    /// Takes the next elements of the row.
    fn add(&mut self, elements: &[Raw<Self::Element>], values: &mut Vec<V>);

    /// Ends the row; the next one begins.
    fn end(&mut self, values: &mut Vec<V>);

    /// Takes rows from their first to their last element.
    fn rows(&mut self, elements: &[Raw<Self::Element>], row_len: usize, values: &mut Vec<V>) {
        for row in elements.chunks_exact(row_len) {
            self.add(row, values);
            self.end(values);
        }
    }
}

/// The number of values that are finished at once, while they are in a near cache.
const AT_ONCE: usize = 8192;

/// Passes all elements of some rows to the sink. `finish` takes the values in order, some at a
/// time.
///
/// # Safety
///
/// The elements may be read, and have the sink's type.
pub(super) unsafe fn all<V, S: RowSink<V>>(
    all: &Rows<'_>,
    rows: Range<usize>,
    sink: &mut S,
    mut finish: impl FnMut(&[V]),
) {
    let range = rows.start * all.row_len..rows.end * all.row_len;
    let mut cut = Cut { row_len: all.row_len, sink, values: Vec::new(), finish: &mut finish };
    // SAFETY: as the caller promises
    unsafe { blocks(all, range, &mut cut) }
    (cut.finish)(&cut.values);
}

/// Passes a part of a row to the sink, without ending the row. `finish` takes the values in order,
/// some at a time.
///
/// # Safety
///
/// The conditions of [`all`].
pub(super) unsafe fn part<V, S: RowSink<V>>(
    all: &Rows<'_>,
    range: Range<usize>,
    sink: &mut S,
    mut finish: impl FnMut(&[V]),
) {
    let mut cut = Cut { row_len: usize::MAX, sink, values: Vec::new(), finish: &mut finish };
    // SAFETY: as the caller promises
    unsafe { blocks(all, range, &mut cut) }
    (cut.finish)(&cut.values);
}

/// # Safety
///
/// The conditions of [`all`].
unsafe fn blocks(all: &Rows<'_>, range: Range<usize>, sink: &mut dyn Sink) {
    let (code, nest) = (&all.prepared.code, &all.nest(0..all.shape.len()));
    let mut runner = Runner::new(code, all.scalars, range.len(), 0);
    // Elements that need no steps are read in place. Positions are written to a slot, which has room for a block.
    let in_place = code.steps.is_empty()
        && nest.operands.len() == 1
        && nest.is_dense(0)
        && code.fixed.is_empty()
        && code.positions.is_empty();
    let block_len = if in_place { Combine::SEGMENT } else { code.block_len };
    let Some(rows) = turned(all, nest) else {
        let part = Part { nest, shape: all.shape, range, first: block_len, block_len };
        // SAFETY: as the caller promises
        return unsafe { linear(&mut runner, part, sink) };
    };
    let (inner, last) = (nest.inner(), nest.extents.len() - 1);
    let mut copies: SmallVec<[Vec<u64>; 2]> = nest.operands.iter().map(|_| Vec::new()).collect();
    let mut at = range.start;
    while at < range.end {
        let (first, extent) = (at / inner, nest.extents[last - 1]);
        let rows = rows.min(extent - first % extent).min(range.end.div_ceil(inner) - first);
        let operands = nest.operands.iter().zip(&mut copies).enumerate().map(|(number, (operand, copy))| {
            let (start, width) = (nest.at(number, first * inner), operand.item_bytes);
            let steps = [operand.strides[last - 1], operand.strides[last]];
            if !is_turned(operand) {
                return (start, width, steps);
            }
            copy.resize(rows * inner * width / 8 + 1, 0);
            let (to, pitch) = (copy.as_mut_ptr().cast::<u8>(), inner * width);
            let tile = Tile { rows, columns: inner, row_bytes: steps[0], column_bytes: steps[1], pitch };
            // SAFETY: as the caller promises; the copy has room for the rows
            unsafe { turn(width, start, tile, to) };
            (to.cast_const(), width, [pitch.cast_signed(), width.cast_signed()])
        });
        let part_nest = Nest::plane([rows, inner], operands);
        let end = range.end.min((first + rows) * inner);
        let part = Part {
            nest: &part_nest,
            shape: all.shape,
            range: at - first * inner..end - first * inner,
            first: code.block_len,
            block_len: code.block_len,
        };
        // SAFETY: the elements, or their copies, are there
        unsafe { linear(&mut runner, part, &mut Moved { sink: &mut *sink, by: first * inner }) };
        at = end;
    }
}

/// The most bytes of rows that are copied at once. The copies stay in a near cache.
const COPIED_BYTES: usize = 512 << 10;

/// The number of rows that are copied at once, if rows run across memory that their neighbours
/// share.
fn turned(all: &Rows<'_>, nest: &Nest) -> Option<usize> {
    if nest.extents.len() < 2 || !all.prepared.code.positions.is_empty() {
        return None;
    }
    let operands = nest.operands.iter().filter(|operand| is_turned(operand));
    let row_bytes = operands.map(|operand| operand.item_bytes * nest.inner()).sum::<usize>();
    let rows = COPIED_BYTES.checked_div(row_bytes)?.min(64);
    (rows >= 4 && nest.extents[nest.extents.len() - 2] >= 4).then_some(rows)
}

fn is_turned(operand: &Operand) -> bool {
    let inner = operand.inner().unsigned_abs();
    let outer = operand.strides.iter().rev().nth(1).map_or(0, |stride| stride.unsigned_abs());
    inner > operand.item_bytes && outer > 0 && outer < inner
}

/// Moves positions of blocks, which are counted from another position.
struct Moved<'a> {
    sink: &'a mut dyn Sink,
    by: usize,
}

impl Sink for Moved<'_> {
    fn target(&mut self, _range: Range<usize>) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn take(&mut self, range: Range<usize>, result: *const u8) {
        // SAFETY: as the caller promises
        unsafe { self.sink.take(range.start + self.by..range.end + self.by, result) }
    }
}

/// Cuts blocks at the ends of rows.
struct Cut<'a, V, S, F> {
    row_len: usize,
    sink: &'a mut S,
    values: Vec<V>,
    finish: &'a mut F,
}

impl<V, S: RowSink<V>, F: FnMut(&[V])> Sink for Cut<'_, V, S, F> {
    fn target(&mut self, _range: Range<usize>) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn take(&mut self, range: Range<usize>, result: *const u8) {
        let first = result.cast::<Raw<S::Element>>();
        // SAFETY: the caller promises as many elements
        let mut elements = unsafe { std::slice::from_raw_parts(first, range.len()) };
        let mut at = range.start % self.row_len;
        while !elements.is_empty() {
            let whole = if at == 0 { elements.len() - elements.len() % self.row_len } else { 0 };
            let next = if whole > 0 { whole } else { elements.len().min(self.row_len - at) };
            let (part, rest) = elements.split_at(next);
            if whole > 0 {
                self.sink.rows(part, self.row_len, &mut self.values);
            } else {
                self.sink.add(part, &mut self.values);
                at += part.len();
            }
            if at == self.row_len {
                self.sink.end(&mut self.values);
                at = 0;
            }
            if self.values.len() >= AT_ONCE {
                (self.finish)(&self.values);
                self.values.clear();
            }
            elements = rest;
        }
    }
}
