//! The distribution of columns over threads.

use std::ops::RangeInclusive;

use devarray::{
    backend::ReduceOp,
    function::{Combine, primitive::Program},
    layout::nest::Loop,
};

use crate::{
    function::{
        operands::ACCESS_BYTES,
        reduce::{
            combining::Combining,
            kernel::{Division, Form},
            reduce_operands::{ReduceOperands, registers, segments},
            sizes::{self, INSTRUCTIONS, small},
        },
        text::BLOCK,
    },
    memory::CudaBuffer,
};

const LANES: u64 = Combine::LANES as u64;
const THREADS: u64 = BLOCK as u64;
const WARP: u64 = sizes::WARP as u64;

/// The most columns of a thread, and the most bytes of their totals if any order is right.
const WIDEST: u64 = 8;
const COLUMN_BYTES: u64 = 16;

/// The most registers of a thread of columns for elements and their totals, and the most elements
/// that it loads at once.
const COLUMN_REGISTERS: u64 = 52;
const MOST_LOADS: u64 = 16;

/// The bytes that neighbouring threads cover: a line of the cache.
const LINE_BYTES: u64 = 128;

/// Blocks share lanes until a large device is full and holds all blocks at once, or until there are
/// enough blocks that a partly filled last round does not matter. They stop earlier at the most
/// shares of a segment, and at the fewest elements of a column for a thread.
const AT_ONCE: RangeInclusive<u64> = 400..=528;
const MANY_BLOCKS: u64 = 2_048;
const MOST_SHARES: u64 = 32;
const SHARE_LOADS: u64 = 64;

/// Whether inputs are nearer along the innermost kept axis than along the innermost reduced axis.
pub(in crate::function::reduce) fn has_columns(operands: &ReduceOperands) -> bool {
    let (Some(column), Some(inner)) = (operands.kept.last(), operands.reduced.last()) else { return false };
    let votes = |operand: usize| {
        let Some(element_type) = operands.kinds[operand].element_type() else { return 0 };
        let size = element_type.len_bytes().cast_signed();
        match (column.strides[operand].abs(), inner.strides[operand].abs()) {
            (column, inner) if column > 0 && column < inner => size,
            (column, inner) if inner > 0 && inner < column => -size,
            _ => 0,
        }
    };
    (1..operands.count()).map(votes).sum::<isize>() > 0
}

/// The distribution of columns, if inputs are nearer along a kept axis and most threads then have
/// work.
fn division(operands: &ReduceOperands, program: &Program, combining: Combining) -> Option<Division> {
    if !has_columns(operands) {
        return None;
    }
    let instructions = (program.instructions().len() as u64).max(1);
    let extent = operands.kept.last()?.extent as u64;
    let row_len = operands.row_len();
    let types = operands.kinds.iter().skip(1).filter_map(|kind| kind.element_type());
    let size = types.map(|of| of.len_bytes() as u64).max().unwrap_or(1);
    let value = combining.value_type().len_bytes() as u64 / if combining.has_order() { 1 } else { 4 };
    let mut vector = WIDEST;
    while vector > 1
        && (!extent.is_multiple_of(vector)
            || vector * size > ACCESS_BYTES
            || vector * value > COLUMN_BYTES
            || 4 * vector * instructions > INSTRUCTIONS)
    {
        vector /= 2;
    }
    let lanes = row_len.min(LANES).next_power_of_two();
    let of_lane = row_len.min(Combine::SEGMENT as u64).div_ceil(LANES).next_power_of_two();
    let threads = operands.rows() / vector;
    // A thread keeps few lanes.
    let single = row_len <= LANES;
    let line = (LINE_BYTES / (vector * size)).clamp(1, WARP);
    // Exchanging lanes of one element does not pay if whole warps side by side fill the device.
    let wide = single && lanes > WARP && threads / WARP >= MANY_BLOCKS;
    let line = if wide { WARP } else { line };
    let across = if lanes <= WARP { THREADS } else { line }.min(threads.next_power_of_two());
    let covered = THREADS / across;
    if threads * lanes.min(covered) * 4 < threads.next_multiple_of(across) * covered {
        return None;
    }
    let mut of_thread = (lanes / covered).max(1);
    let blocks = threads.div_ceil(across) * segments(operands);
    let mut split = 1;
    while split < MOST_SHARES
        && blocks * split < MANY_BLOCKS
        && !AT_ONCE.contains(&(blocks * split))
        && of_thread * of_lane > SHARE_LOADS
    {
        (split, of_thread) = (2 * split, of_thread / 2);
    }
    // Registers hold the elements loaded at once, and the totals that they are added to.
    let loaded = registers(operands, vector);
    let kept =
        vector * (combining.value_type().len_bytes() as u64 / 4 + u64::from(combining.index.is_some()));
    let fits = |steps: u64, at_once: u64| {
        let levels = if combining.has_order() { u64::from((of_thread / at_once).ilog2()) } else { 1 };
        // A lane of one element stays in the register that it was loaded to.
        let in_use = if single {
            at_once * loaded.max(kept) + levels * kept + 12
        } else {
            steps * at_once * loaded + (at_once + levels) * kept
        };
        steps * at_once <= MOST_LOADS
            && steps * at_once * vector * instructions <= INSTRUCTIONS
            && in_use <= COLUMN_REGISTERS
    };
    let (mut steps, mut at_once) = (1, 1);
    while steps < of_lane && fits(2 * steps, 1) {
        steps *= 2;
    }
    while at_once < of_thread && fits(steps, 2 * at_once) {
        at_once *= 2;
    }
    Some(Division {
        across: small(across),
        lanes: small(of_thread),
        at_once: small(at_once),
        steps: small(steps),
        vector: small(vector),
        split: small(split),
        single,
    })
}

/// The number of blocks that share the lanes of a segment.
pub(in crate::function::reduce) fn split(op: &ReduceOp<'_, CudaBuffer>, operands: &ReduceOperands) -> u64 {
    let combining = Combining::new(op.combine(), op.program().result_type(), false);
    division(operands, op.program(), combining).map_or(1, |division| division.split as u64)
}

/// The form of a launch, if elements are distributed by columns. A step along the axis of columns
/// becomes one of all columns of a thread.
pub(super) fn in_columns(operands: &mut ReduceOperands, op: &ReduceOp<'_, CudaBuffer>) -> Option<Form> {
    let combining = Combining::new(op.combine(), op.program().result_type(), false);
    let division = division(operands, op.program(), combining)?;
    let columns = operands.kept.last_mut()?;
    *columns = columns.every(division.vector);
    columns.extent /= division.vector;
    Some(Form::Columns(division))
}

#[cfg(test)]
mod tests;
