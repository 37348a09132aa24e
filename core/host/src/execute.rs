//! Functions on elements, in pieces that threads share: the one place that computes.
//!
//! Pieces are cut by the operation alone, never by the number of threads, so results do not depend on
//! it.
#![allow(unsafe_code)] // computes on memory that its callers vouch for

use std::ops::Range;

use devarray::{
    backend::{MapOp, Operand, ReduceForm, ReduceOp},
    function::interpreter::{InputElements, ResultElements, interpret_range, interpret_reduction},
};

use crate::{memory::DeviceMemory, threads::Threads};

/// Elements of a piece.
const PIECE_LEN: usize = 64 << 10;

/// Operands that threads share.
struct Operands<'a> {
    inputs: Vec<InputElements<'a>>,
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
    in_pieces(threads, operands.result.layout.len(), PIECE_LEN, |range| {
        let Operands { inputs, result } = &operands;
        // SAFETY: as the caller promises; ranges of pieces share no element.
        unsafe { interpret_range(op.program(), inputs, op.scalars(), *result, range) }
    });
}

/// Combines elements.
///
/// # Safety
///
/// As [`map`].
pub(crate) unsafe fn reduce(threads: &Threads, op: &ReduceOp<'_, DeviceMemory>) {
    let operands = Operands::of(op.inputs(), op.result());
    let row_len = match op.form() {
        ReduceForm::Total | ReduceForm::Inclusive | ReduceForm::Exclusive => op.row_len(),
    };
    in_pieces(threads, op.rows().len(), (PIECE_LEN / row_len.max(1)).max(1), |rows| {
        let Operands { inputs, result } = &operands;
        // SAFETY: as the caller promises; rows of pieces share no element of the result.
        unsafe { interpret_reduction(op.work(), op.form(), inputs, op.shape(), *result, rows) }
    });
}

/// Calls `work` with ranges that together are `0..len`.
fn in_pieces(threads: &Threads, len: usize, piece_len: usize, work: impl Fn(Range<usize>) + Sync) {
    let piece = |number: usize| number * piece_len..len.min((number + 1) * piece_len);
    if len <= piece_len || threads.count() == 1 {
        return work(0..len);
    }
    threads.run(len.div_ceil(piece_len), |number| work(piece(number)));
}
