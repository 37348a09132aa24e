//! Functions on elements, in pieces that threads share: the one place that computes.
//!
//! Bits do not depend on how work is cut, as the executor promises. So pieces suit the memory
//! and the number of threads.
#![allow(unsafe_code)] // computes on memory that its callers vouch for

use std::{ops::Range, sync::OnceLock};

use devarray::{
    backend::{MapOp, Operand, ReduceForm, ReduceOp},
    function::Combine,
};
use devarray_function::{
    executor::{Partial, Prepared, execute_reduction, execute_segments, finish_segments},
    interpreter::{InputElements, ResultElements},
};
use smallvec::SmallVec;

use crate::{memory::DeviceMemory, threads::Threads};

/// Elements of a piece, about: some ten microseconds at least.
const PIECE_LEN: usize = 64 << 10;
/// Segments of a piece.
const SEGMENTS: usize = PIECE_LEN / Combine::SEGMENT;
/// Rows of a piece where an input is transposed: a cache line of it at least.
const TURNED: Range<usize> = 16..64;
/// Rows of a piece where neighbours lie side by side: a cache line at least, and a page at most.
const NEIGHBOURS: Range<usize> = 16..1024;

/// Operands that threads share.
struct Operands<'a> {
    inputs: SmallVec<[InputElements<'a>; 3]>,
    result: ResultElements<'a>,
}

// SAFETY: addresses with layouts; access is the `unsafe` of whoever does it.
unsafe impl Sync for Operands<'_> {}

impl<'a> Operands<'a> {
    fn of(inputs: &[Operand<'a, DeviceMemory>], result: &Operand<'a, DeviceMemory>) -> Self {
        let input =
            |of: &Operand<'a, DeviceMemory>| InputElements { start: of.buffer().at(0), layout: of.layout() };
        let result = ResultElements { start: result.buffer().at(0), layout: result.layout() };
        Self { inputs: inputs.iter().map(input).collect(), result }
    }
}

/// Computes a function for every element of the result.
///
/// # Safety
///
/// The operands' elements may be read and written; nobody else writes the former or touches the latter.
pub(crate) unsafe fn map(threads: &Threads, op: &MapOp<'_, DeviceMemory>) {
    let operands = Operands::of(op.inputs(), op.result());
    let prepared = Prepared::of(op.program());
    let piece_len = piece_len(threads, &operands);
    in_pieces(threads, operands.result.layout.len(), piece_len, |range| {
        let Operands { inputs, result } = &operands;
        // SAFETY: as the caller promises; ranges of pieces share no element.
        unsafe { prepared.run(inputs, op.scalars(), *result, range) }
    });
}

/// Elements of a piece of a map: where an input is transposed, rows of the result that share its cache
/// lines.
fn piece_len(threads: &Threads, Operands { inputs, result }: &Operands<'_>) -> usize {
    let (len, Some(&inner)) = (result.layout.len(), result.layout.shape().last()) else { return PIECE_LEN };
    let is_turned = |input: &InputElements<'_>| {
        let strides = input.layout.strides();
        let inner = strides[strides.len() - 1].unsigned_abs();
        strides.iter().any(|&stride| stride != 0 && stride.unsigned_abs() < inner)
    };
    if len <= PIECE_LEN || !inputs.iter().any(is_turned) {
        return PIECE_LEN;
    }
    let rows = (len / inner / threads.count()).clamp(TURNED.start, TURNED.end);
    PIECE_LEN.max(rows * inner)
}

/// Combines elements: by rows, or by the segments of rows if these are few and long.
///
/// # Safety
///
/// As [`map`].
pub(crate) unsafe fn reduce(threads: &Threads, op: &ReduceOp<'_, DeviceMemory>) {
    let operands = &Operands::of(op.inputs(), op.result());
    let (rows, row_len) = (op.rows().len(), op.row_len());
    let most = threads.count();
    let is_shared = most > 1 && rows * row_len > PIECE_LEN;
    let neighbours = are_neighbours(op);
    let least = if neighbours { rows.div_ceil(most).clamp(NEIGHBOURS.start, NEIGHBOURS.end) } else { 1 };
    let piece_rows = (PIECE_LEN / row_len).max(least);
    let enough = if neighbours { most.div_ceil(2) } else { 4 * most };
    if is_shared
        && op.form() == ReduceForm::Total
        && row_len > PIECE_LEN
        && rows.div_ceil(piece_rows) < enough
    {
        // SAFETY: passed on to the caller.
        return unsafe { totals(threads, op, operands) };
    }
    in_pieces(threads, rows, if is_shared { piece_rows } else { rows }, |rows| {
        // SAFETY: as the caller promises; rows of pieces share no element of the result.
        unsafe {
            execute_reduction(op.work(), op.form(), &operands.inputs, op.shape(), operands.result, rows)
        }
    });
}

/// Whether elements of neighbouring rows lie closer together than those of a row.
fn are_neighbours(op: &ReduceOp<'_, DeviceMemory>) -> bool {
    let rank = op.result().layout().rank();
    let kept = if op.form() == ReduceForm::Total { rank } else { rank.saturating_sub(1) };
    kept > 0
        && kept < op.shape().len()
        && op.inputs().iter().any(|input| {
            let strides = input.layout().strides();
            let [row, element] = [strides[kept - 1], strides[strides.len() - 1]].map(isize::unsigned_abs);
            row < element
        })
}

/// Totals of long rows. Rows run fastest over the pieces, because neighbours may share cache lines.
///
/// # Safety
///
/// As [`map`].
unsafe fn totals(threads: &Threads, op: &ReduceOp<'_, DeviceMemory>, operands: &Operands<'_>) {
    let (work, shape, rows) = (op.work(), op.shape(), op.rows().len());
    let kept = operands.result.layout.rank();
    let segments = op.row_len().div_ceil(Combine::SEGMENT);
    let parts: Vec<OnceLock<Vec<Partial>>> =
        (0..rows * segments.div_ceil(SEGMENTS)).map(|_| OnceLock::new()).collect();
    threads.run(parts.len(), |piece| {
        let (row, first) = (piece % rows, piece / rows * SEGMENTS);
        let range = first..segments.min(first + SEGMENTS);
        // SAFETY: as the caller promises.
        let part = unsafe { execute_segments(work, &operands.inputs, shape, kept, row, range) };
        parts[piece].get_or_init(|| part);
    });
    for row in 0..rows {
        let of_row = parts.iter().skip(row).step_by(rows).filter_map(OnceLock::get);
        let of_row: Vec<Partial> = of_row.flatten().copied().collect();
        // SAFETY: as the caller promises.
        unsafe { finish_segments(work, &of_row, operands.result, row) }
    }
}

/// Calls `work` with ranges that together are `0..len`.
fn in_pieces(threads: &Threads, len: usize, piece_len: usize, work: impl Fn(Range<usize>) + Sync) {
    let piece = |number: usize| number * piece_len..len.min((number + 1) * piece_len);
    if len <= piece_len || threads.count() == 1 {
        return work(0..len);
    }
    threads.run(len.div_ceil(piece_len), |number| work(piece(number)));
}
