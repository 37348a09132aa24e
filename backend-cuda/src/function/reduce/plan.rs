//! One launch of a reduction: its form, the access to operands, and the parameter.

mod columns;

use std::sync::Arc;

use devarray::{
    backend::ReduceOp,
    function::{Combine, ElementType, primitive::Program},
    layout::nest::Strided,
};

use super::{
    kernel::{Form, Kernel, ScanPass, ScanTile, Words},
    reduce_operands::{ReduceOperands, registers, segments},
    sizes::{self, GROUP, INSTRUCTIONS, SIDE, UNITS, small},
};
use crate::{
    function::{
        class::{Access, Class, Family},
        operands::{ACCESS_BYTES, Kind},
        parameter::{Parameter, divider},
        text::{BLOCK, MAX_WORDS},
    },
    memory::CudaBuffer,
    stream::COUNTERS_BYTES,
};

use columns::in_columns;
pub(super) use columns::{has_columns, split};

/// The most registers into which a thread loads elements before it adds them.
const EARLY: u64 = 64;

/// The most steps whose elements a thread loads before it adds them. Partials always take this number,
/// so that one text serves any number of partials.
const MOST_STEPS: u64 = 16;
const PARTIALS_STEPS: u64 = 4;

/// The number of blocks that fill a large device twice.
const MANY_BLOCKS: u64 = 264;

const LANES: u64 = Combine::LANES as u64;
const THREADS: u64 = BLOCK as u64;
const WARP: u64 = sizes::WARP as u64;

/// The most short rows of a thread.
const ROWS: u64 = 4;

/// The bytes before the words that tiles publish; they hold the number of the next tile.
const LOOK_BACK_BYTES: u64 = 256;

/// Bytes of all words that tiles publish, with the number in front.
pub(super) fn look_back_bytes(rows: u64, tiles: u64) -> u64 {
    look_back_words(0, rows, tiles)[3]
}

/// The addresses of the words of tiles, and of two for each group of tiles, and their end.
fn look_back_words(address: u64, rows: u64, tiles: u64) -> [u64; 4] {
    let of_tiles = address + LOOK_BACK_BYTES;
    let of_groups = of_tiles + 8 * rows * tiles;
    let len_bytes = 8 * rows * tiles.div_ceil(GROUP);
    [of_tiles, of_groups, of_groups + len_bytes, of_groups + 2 * len_bytes]
}

/// The output of a launch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output {
    /// The result.
    Finished,
    /// Partials, at these addresses.
    Partials { values: u64, indices: u64 },
    /// The result. The address is in the stream's memory, for partials of segments.
    Joined { address: u64 },
    /// A scan. The address is of stored totals, or of the values before tiles.
    Scan { tile: ScanTile, pass: ScanPass, address: u64 },
}

/// One launch of a reduction.
pub(super) struct Pass<'a> {
    /// The program that, with the class, identifies the kernel in the cache.
    pub(super) program: &'a Program,
    pub(super) class: Class,
    pub(super) grid: u32,
    /// Shared memory of a block that the text does not declare.
    pub(super) dynamic_bytes: u32,
    pub(super) parameter: Parameter,
}

/// The division of a row of a scan.
pub(super) fn tile(row_len: u64, instructions: u64, value_type: ElementType) -> ScanTile {
    let threads = row_len.div_ceil(SIDE as u64).next_power_of_two().min(THREADS);
    let long = instructions <= INSTRUCTIONS / 32;
    // The most pieces are what registers hold.
    let most = if long { 32 / value_type.len_bytes() as u64 } else { 1 };
    let pieces = row_len.div_ceil(THREADS * SIDE as u64).next_power_of_two().min(most);
    ScanTile { threads: small(threads), pieces: small(pieces) }
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        op: &ReduceOp<'a, CudaBuffer>,
        operands: &ReduceOperands,
        of_partials: bool,
        output: Output,
    ) -> Option<Self> {
        let work = op.work();
        let instructions = if of_partials { 1 } else { work.program.instructions().len() as u64 };
        let mut operands = operands.clone();
        let form = match output {
            Output::Scan { tile, pass, .. } => Form::Scan { tile, pass },
            _ if of_partials => in_rows(&operands, instructions, PARTIALS_STEPS),
            _ => in_columns(&mut operands, op).unwrap_or_else(|| {
                let steps = (operands.row_len() / LANES).clamp(1, MOST_STEPS);
                in_rows(&operands, instructions, steps)
            }),
        };
        let finished = match output {
            Output::Finished | Output::Joined { .. } => true,
            Output::Partials { .. } => false,
            Output::Scan { pass, .. } => pass != ScanPass::Totals && !of_partials,
        };
        let kernel = Kernel {
            of_partials,
            finish: finished.then(|| work.finish.clone()),
            segmented: operands.row_len() > form.segment_len(),
            joined: matches!(output, Output::Joined { .. }),
            ..Kernel::new(form, work, &operands)?
        };
        let scalars = if of_partials { &[] } else { work.scalars };
        let finish_scalars = if finished { work.finish_scalars } else { &[] };
        let program = if of_partials { work.finish } else { work.program };
        Self::of(program, kernel, &operands, (scalars, finish_scalars), output)
    }

    /// The launch of a kernel of some form; none if one launch is not enough for the rows.
    pub(super) fn of(
        program: &'a Program,
        kernel: Kernel,
        operands: &ReduceOperands,
        scalars: (&[u64], &[u64]),
        output: Output,
    ) -> Option<Self> {
        let form = kernel.form;
        let parameter = parameter(operands, form, scalars, output)?;
        let accesses = (0..operands.count()).map(|operand| access(operands, form, operand));
        let grid = u32::try_from(form.blocks(operands).0).ok()?;
        let class = Class {
            outer: kernel.kept,
            wide: true,
            operands: operands.kinds.iter().copied().zip(accesses).collect(),
            family: Family::Reduce(Arc::new(kernel)),
        };
        Some(Self { program, class, grid, dynamic_bytes: 0, parameter })
    }
}

/// Lets threads lie along the elements of rows. If rows are long, threads take up to `steps` steps
/// at once.
fn in_rows(operands: &ReduceOperands, instructions: u64, steps: u64) -> Form {
    let (row_len, side) = (operands.row_len(), SIDE as u64);
    let threads = if row_len > LANES { THREADS } else { row_len.div_ceil(side).next_power_of_two() };
    let goes_on =
        |(inner, outer): (&Strided, &[Strided])| outer.is_empty() || inner.extent.is_multiple_of(SIDE);
    let vector = operands.reduced.split_last().is_some_and(goes_on);
    // Most loads of elements side by side before they are added.
    let most = (INSTRUCTIONS / side / instructions.max(1)).min(EARLY / side / registers(operands, 1));
    let is_short = row_len.div_ceil(side * WARP) <= most && operands.rows() >= MANY_BLOCKS;
    if threads <= WARP || row_len <= LANES && is_short {
        return in_short_rows(operands, most, threads.min(WARP), vector);
    }
    Form::Rows { threads: small(threads), steps: 1 << most.clamp(1, steps).ilog2(), vector }
}

fn in_short_rows(operands: &ReduceOperands, most: u64, threads: u64, vector: bool) -> Form {
    let (row_len, side) = (operands.row_len(), SIDE as u64);
    let chunks = row_len.div_ceil(side * threads);
    let mut at_once = 1 << (most / chunks).clamp(1, ROWS).ilog2();
    let blocks = |at_once: u64| operands.rows().div_ceil(at_once * (THREADS / threads));
    while at_once > 1 && blocks(at_once) < MANY_BLOCKS {
        at_once /= 2;
    }
    let vector = vector && row_len.is_multiple_of(side);
    Form::Short { threads: small(threads), rows: small(at_once), chunks: small(chunks), vector }
}

/// Whether the last block of each row combines its segments, in memory of the stream.
pub(super) fn joins(operands: &ReduceOperands) -> bool {
    let segments = segments(operands);
    (2..=LANES).contains(&segments)
        && operands.rows() <= COUNTERS_BYTES / 4
        && operands.rows() * segments <= COUNTERS_BYTES
        && !has_columns(operands)
}

/// The stride of an operand between columns. A thread has several columns.
fn column(operands: &ReduceOperands, form: Form, operand: usize) -> Option<i64> {
    let axis = operands.kept.last().filter(|_| matches!(form, Form::Columns(_)))?;
    Some(axis.strides[operand] as i64 / form.side().cast_signed())
}

/// The access of a thread to the elements of an operand.
fn access(operands: &ReduceOperands, form: Form, operand: usize) -> Access {
    let kind = operands.kinds[operand];
    let along = |axis: &Strided| axis.strides[operand] as i64;
    let column = column(operands, form, operand);
    if operand > 0 && column.unwrap_or(0) == 0 && operands.reduced.iter().all(|axis| along(axis) == 0) {
        let tiled = matches!(form, Form::Scan { .. });
        return if tiled { Access::Each } else { Access::Uniform };
    }
    let (inner, others) = match (column, operands.reduced.split_last()) {
        (Some(column), _) => (column, operands.reduced.as_slice()),
        (None, Some((inner, others))) => (along(inner), others),
        (None, None) => return Access::Single,
    };
    let size = kind.len_bytes();
    match inner {
        0 => Access::Each,
        _ if inner == size && !matches!(kind, Kind::Position(_)) => {
            let rows = operands.kept.iter().chain(others).map(|axis| along(axis).cast_unsigned());
            let bits = rows.fold(operands.bases[operand] | ACCESS_BYTES, |bits, stride| bits | stride);
            let width = ((1 << bits.trailing_zeros()) / size.cast_unsigned()).clamp(1, form.side());
            Access::Span { width: u8::try_from(width).unwrap_or(1) }
        }
        _ => Access::Single,
    }
}

fn parameter(
    operands: &ReduceOperands,
    form: Form,
    (scalars, finish_scalars): (&[u64], &[u64]),
    output: Output,
) -> Option<Parameter> {
    let segments = operands.row_len().div_ceil(form.segment_len());
    let (_, across) = form.blocks(operands);
    let words = Words::new(
        operands.count(),
        [scalars.len(), finish_scalars.len()],
        [operands.kept.len(), operands.reduced.len()],
    );
    if words.count() > MAX_WORDS {
        return None;
    }
    let mut all = vec![0; words.count()];
    all[..operands.count()].copy_from_slice(&operands.bases);
    all[words.row_len] = operands.row_len();
    all[words.units] = operands.rows().checked_mul(segments).filter(|units| *units <= UNITS)?;
    all[words.segments_divider] = divider(segments)?;
    all[words.segments] = segments;
    all[words.across] = across;
    all[words.across_divider] = divider(across)?;
    match output {
        Output::Finished => {}
        Output::Joined { address } => {
            all[words.indices] = address;
            all[words.carry] = address + COUNTERS_BYTES;
        }
        Output::Partials { values, indices } => {
            all[0] = values;
            all[words.indices] = indices;
        }
        Output::Scan { pass: ScanPass::Totals, address, .. } => all[0] = address,
        Output::Scan { pass: ScanPass::LookBack { .. }, address, .. } => {
            let [of_tiles, groups, other_groups, _] = look_back_words(address, operands.rows(), segments);
            all[words.columns] = address;
            all[words.carry] = of_tiles;
            all[words.across] = groups;
            all[words.across_divider] = other_groups;
        }
        Output::Scan { address, .. } => all[words.carry] = address,
    }
    for operand in 0..operands.count() {
        if let Some(stride) = column(operands, form, operand) {
            all[words.columns] = operands.rows();
            all[words.column(operand)] = stride.cast_unsigned();
        }
    }
    all[words.scalars..][..scalars.len()].copy_from_slice(scalars);
    all[words.finish_scalars..][..finish_scalars.len()].copy_from_slice(finish_scalars);
    let kept = operands.kept.iter().rev().enumerate().map(|(at, axis)| (words.kept(at), axis));
    let reduced = operands.reduced.iter().rev().enumerate().map(|(at, axis)| (words.reduced(at), axis));
    for (at, axis) in kept.chain(reduced) {
        // Nothing is divided by the outermost extent, so it may be too long for a divider.
        all[at] = divider(axis.extent as u64).unwrap_or(0);
        all[at + 1] = axis.extent as u64;
        for (operand, &stride) in axis.strides.iter().enumerate() {
            all[at + 2 + operand] = (stride as i64).cast_unsigned();
        }
    }
    Some(Parameter::from_words(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of 300 tiles, which are two groups each.
    #[test]
    fn words_that_tiles_publish_are_apart() {
        assert_eq!(
            look_back_words(1 << 20, 2, 300),
            [256, 256 + 4_800, 256 + 4_832, 256 + 4_864].map(|at| (1 << 20) + at)
        );
        assert_eq!(look_back_bytes(2, 300), 256 + 4_864);
    }
}
