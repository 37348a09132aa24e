//! Computes functions of elements, in pieces that threads share. All computing happens here.
//!
//! The executor promises that results do not depend, to the bit, on how work is cut. So pieces are chosen to
//! suit the memory and the number of threads.
#![allow(unsafe_code)] // computes on memory that its callers vouch for

mod gathers;
mod orders;
mod ranks;

use std::{ops::Range, sync::OnceLock};

use devarray::{
    backend::{FusedOp, MapOp, Operand, ProductOp, ReduceForm, ReduceOp},
    function::{Combine, primitive::Program},
};
use devarray_function::{
    executor::{
        Partial, PlacedMap, Prepared, execute_reduction, execute_scan_part, execute_scan_total,
        execute_segments, finish_segments,
    },
    interpreter::{InputElements, ResultElements},
};
pub(crate) use gathers::gather;
pub(crate) use orders::order;
pub(crate) use ranks::combine;
use smallvec::SmallVec;

use crate::{memory::DeviceMemory, threads::Threads};

/// The number of elements in a piece, about: at least some ten microseconds of work.
const PIECE_LEN: usize = 64 << 10;
/// The number of segments in a piece.
const SEGMENTS: usize = PIECE_LEN / Combine::SEGMENT;
/// The number of rows in a piece, if an input is transposed: at least a cache line of it.
const TURNED: Range<usize> = 16..64;
/// The number of rows in a piece, if neighbouring rows lie side by side: at least a cache line, at most a
/// page.
const NEIGHBOURS: Range<usize> = 16..1024;

/// Operands that threads share.
struct Operands<'a> {
    inputs: SmallVec<[InputElements<'a>; 3]>,
    result: ResultElements<'a>,
}

// SAFETY: it holds addresses with layouts; an access to them is `unsafe` code of the caller.
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
/// The operands' elements may be read and written; nobody else writes the inputs or touches the result.
pub(crate) unsafe fn map(threads: &Threads, op: &MapOp<'_, DeviceMemory>) {
    // SAFETY: passed on to the caller.
    unsafe { map_operands(threads, op.program(), op.scalars(), &Operands::of(op.inputs(), op.result())) };
}

/// Computes a function for every element of the result.
///
/// # Safety
///
/// The conditions of [`map`].
unsafe fn map_operands(threads: &Threads, program: &Program, scalars: &[u64], operands: &Operands<'_>) {
    let prepared = Prepared::of(program);
    let piece_len = piece_len(threads, operands);
    in_pieces(threads, operands.result.layout.len(), piece_len, |range| {
        let Operands { inputs, result } = operands;
        // SAFETY: as the caller promises; ranges of pieces share no element.
        unsafe { prepared.run(inputs, scalars, *result, range) }
    });
}

/// A map with the addresses of its operands, and the length of the pieces that threads share.
pub(crate) struct PlacedPieces {
    map: PlacedMap,
    piece_len: usize,
}

impl PlacedPieces {
    pub(crate) fn of(threads: &Threads, op: &MapOp<'_, DeviceMemory>) -> Self {
        let operands = Operands::of(op.inputs(), op.result());
        let map = PlacedMap::new(op.program(), &operands.inputs, op.scalars(), operands.result);
        Self { map, piece_len: piece_len(threads, &operands) }
    }

    /// Computes the elements.
    ///
    /// # Safety
    ///
    /// The conditions of [`map`].
    pub(crate) unsafe fn run(&self, threads: &Threads) {
        in_pieces(threads, self.map.len(), self.piece_len, |range| {
            // SAFETY: as the caller promises; ranges of pieces share no element.
            unsafe { self.map.run(range) }
        });
    }
}

/// Multiplies matrices, and computes the function that may follow.
///
/// # Safety
///
/// The conditions of [`map`].
pub(crate) unsafe fn product(threads: &Threads, op: &ProductOp<'_, DeviceMemory>) {
    let follow =
        |program: &Program, inputs: &[InputElements<'_>], scalars: &[u64], result: ResultElements<'_>| {
            let operands = Operands { inputs: inputs.iter().copied().collect(), result };
            // SAFETY: passed on to the caller.
            unsafe { map_operands(threads, program, scalars, &operands) };
        };
    // SAFETY: passed on to the caller.
    unsafe { op.run_on_host_with(|memory| memory.at(0), threads, follow) };
}

/// The number of elements in a piece of a map: if an input is transposed, rows of the result that share the
/// input's cache lines.
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

/// Reduces elements: by rows, or by parts of rows if rows are few and long.
///
/// # Safety
///
/// The conditions of [`map`].
pub(crate) unsafe fn reduce(threads: &Threads, op: &ReduceOp<'_, DeviceMemory>) {
    let operands = &Operands::of(op.inputs(), op.result());
    let (rows, row_len) = (op.rows().len(), op.row_len());
    let most = threads.count();
    let is_shared = most > 1 && rows * row_len > PIECE_LEN;
    let neighbours = are_neighbours(op);
    let least = if neighbours { rows.div_ceil(most).clamp(NEIGHBOURS.start, NEIGHBOURS.end) } else { 1 };
    let piece_rows = (PIECE_LEN / row_len).max(least);
    let enough = if neighbours { most.div_ceil(2) } else { 4 * most };
    if is_shared && row_len > PIECE_LEN && rows.div_ceil(piece_rows) < enough {
        return match op.form() {
            // SAFETY: passed on to the caller.
            ReduceForm::Total => unsafe { totals(threads, op, operands) },
            // SAFETY: as above.
            _ => unsafe { scans(threads, op, operands) },
        };
    }
    in_pieces(threads, rows, if is_shared { piece_rows } else { rows }, |rows| {
        // SAFETY: as the caller promises; the pieces' rows share no element of the result.
        unsafe {
            execute_reduction(op.work(), op.form(), &operands.inputs, op.shape(), operands.result, rows)
        }
    });
}

/// The bytes of rows that stay in a near cache between passes.
const KEPT_BYTES: usize = 256 << 10;

/// Makes all passes over a group of rows before the next group, if a group fits a near cache; otherwise makes
/// one pass after another over all rows.
///
/// # Safety
///
/// The conditions of [`map`].
pub(crate) unsafe fn fuse(threads: &Threads, op: &FusedOp<'_, DeviceMemory>) {
    let reductions = op.reductions();
    let (rows, row_len) = (reductions[0].rows().len(), reductions[0].row_len());
    let item_bytes: usize = reductions[0].work().program.inputs().iter().map(|of| of.len_bytes()).sum();
    let kept_rows = KEPT_BYTES / (row_len * item_bytes).max(1);
    let groups = rows.checked_div(kept_rows).unwrap_or(0);
    if groups < 4 * threads.count() || reductions.iter().any(are_neighbours) {
        for reduction in reductions {
            // SAFETY: passed on to the caller.
            unsafe { reduce(threads, reduction) };
        }
        if let Some(last) = op.last() {
            // SAFETY: passed on to the caller.
            unsafe { map(threads, last) };
        }
        return;
    }
    let each: SmallVec<[_; 2]> = reductions.iter().map(|op| Operands::of(op.inputs(), op.result())).collect();
    let last = op.last().map(|op| (op, Operands::of(op.inputs(), op.result()), Prepared::of(op.program())));
    threads.run(rows.div_ceil(kept_rows), |group| {
        let rows = group * kept_rows..rows.min((group + 1) * kept_rows);
        for (op, Operands { inputs, result }) in reductions.iter().zip(&each) {
            let (work, form, rows) = (op.work(), op.form(), rows.clone());
            // SAFETY: as the caller promises; groups of rows share no element of a result.
            unsafe { execute_reduction(work, form, inputs, op.shape(), *result, rows) }
        }
        if let Some((op, Operands { inputs, result }, prepared)) = &last {
            let elements = rows.start * row_len..rows.end * row_len;
            // SAFETY: as above; an element that is also an input is read only by its own group.
            unsafe { prepared.run(inputs, op.scalars(), *result, elements) }
        }
    });
}

/// Whether the stride between rows is smaller than the stride within a row.
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

/// Totals of long rows. Consecutive pieces belong to different rows, because neighbouring rows may share
/// cache lines.
///
/// # Safety
///
/// The conditions of [`map`].
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

/// Scans of long rows: first the total of each part, then the values of each part, starting from the totals
/// of the parts before it.
///
/// # Safety
///
/// The conditions of [`map`].
unsafe fn scans(threads: &Threads, op: &ReduceOp<'_, DeviceMemory>, operands: &Operands<'_>) {
    /// The most parts of a row: each part reads the totals of all parts before it.
    const MOST_PARTS: usize = 1024;
    let (work, rows, row_len) = (op.work(), op.rows().len(), op.row_len());
    let part_len = PIECE_LEN.max(row_len.div_ceil(MOST_PARTS).next_power_of_two());
    let parts = row_len.div_ceil(part_len);
    let before: Vec<OnceLock<Partial>> = (0..rows * (parts - 1)).map(|_| OnceLock::new()).collect();
    threads.run(before.len(), |piece| {
        let part = (piece % rows, piece / rows, part_len);
        // SAFETY: as the caller promises.
        let total = unsafe { execute_scan_total(work, &operands.inputs, op.shape(), part) };
        before[piece].get_or_init(|| total);
    });
    threads.run(rows * parts, |piece| {
        let (row, part) = (piece % rows, piece / rows);
        let of_row = before.iter().skip(row).step_by(rows).take(part).filter_map(OnceLock::get);
        let (of_row, part) = (of_row.copied().collect::<Vec<Partial>>(), (row, part, part_len));
        // SAFETY: as the caller promises; parts share no element of the result.
        unsafe { execute_scan_part(work, op.form(), &operands.inputs, operands.result, part, &of_row) }
    });
}

/// Calls `work` with ranges that together make up `0..len`.
fn in_pieces(threads: &Threads, len: usize, piece_len: usize, work: impl Fn(Range<usize>) + Sync) {
    let piece = |number: usize| number * piece_len..len.min((number + 1) * piece_len);
    if len <= piece_len || threads.count() == 1 {
        return work(0..len);
    }
    threads.run(len.div_ceil(piece_len), |number| work(piece(number)));
}
