//! One launch of a reduction: its form, how operands are reached, and the parameter.

mod columns;

use std::sync::Arc;

use devarray::{
    backend::ReduceOp,
    function::{Combine, ElementType, primitive::Program},
    layout::nest::Strided,
};

use super::{
    kernel::{Form, Kernel, Running, Tile, Words},
    sizes::{self, GROUP, INSTRUCTIONS, SIDE, small},
    space::{Space, registers, segments},
};
use crate::{
    function::{
        class::{Access, Class, Family},
        parameter::{Parameter, divider},
        problem::{ACCESS_BYTES, Kind},
        text::{BLOCK, MAX_WORDS},
    },
    memory::CudaBuffer,
    stream::COUNTERS_BYTES,
};

use columns::in_columns;
pub(super) use columns::{has_columns, split};

/// Most registers that a thread loads elements into before it adds them.
const EARLY: u64 = 64;

/// Most steps whose elements a thread loads before it adds them. The same for parts, so that one
/// text serves any number of parts.
const MOST_STEPS: u64 = 16;
const PARTS_STEPS: u64 = 4;

/// Blocks that fill a large device twice.
const MANY_BLOCKS: u64 = 264;

const LANES: u64 = Combine::LANES as u64;
const THREADS: u64 = BLOCK as u64;
const WARP: u64 = sizes::WARP as u64;

/// Most short rows of a thread.
const ROWS: u64 = 4;

/// Bytes in front of the words that tiles publish: the number of the next tile.
const LINK_BYTES: u64 = 256;

/// Bytes of all words that tiles publish, with the number in front.
pub(super) fn link_bytes(rows: u64, tiles: u64) -> u64 {
    link_words(0, rows, tiles)[3]
}

/// Where the words of tiles are, and two for each group of tiles, and where they end.
fn link_words(address: u64, rows: u64, tiles: u64) -> [u64; 4] {
    let of_tiles = address + LINK_BYTES;
    let of_groups = of_tiles + 8 * rows * tiles;
    let len_bytes = 8 * rows * tiles.div_ceil(GROUP);
    [of_tiles, of_groups, of_groups + len_bytes, of_groups + 2 * len_bytes]
}

/// What a launch writes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output {
    /// The result.
    Finished,
    /// Parts, and where they are.
    Parts { values: u64, indices: u64 },
    /// The result. The address is that of the stream's memory, for parts of segments.
    Joined { address: u64 },
    /// A scan. The address is where totals are stored, or what precedes tiles.
    Running { tile: Tile, what: Running, address: u64 },
}

/// One launch.
pub(super) struct Pass<'a> {
    /// The program under which, with the class, the kernel is kept.
    pub(super) program: &'a Program,
    pub(super) class: Class,
    pub(super) grid: u32,
    /// Shared memory of a block that the text does not declare.
    pub(super) dynamic_bytes: u32,
    pub(super) parameter: Parameter,
}

/// How a row of a scan is divided.
pub(super) fn tile(row_len: u64, instructions: u64, value_type: ElementType) -> Tile {
    let threads = row_len.div_ceil(SIDE as u64).next_power_of_two().min(THREADS);
    let long = instructions <= INSTRUCTIONS / 32;
    // As many as registers hold.
    let most = if long { 32 / value_type.len_bytes() as u64 } else { 1 };
    let pieces = row_len.div_ceil(THREADS * SIDE as u64).next_power_of_two().min(most);
    Tile { threads: small(threads), pieces: small(pieces) }
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        op: &ReduceOp<'a, CudaBuffer>,
        space: &Space,
        of_parts: bool,
        output: Output,
    ) -> Option<Self> {
        let work = op.work();
        let instructions = if of_parts { 1 } else { work.program.instructions().len() as u64 };
        let mut space = space.clone();
        let form = match output {
            Output::Running { tile, what, .. } => Form::Running { tile, what },
            _ if of_parts => in_rows(&space, instructions, PARTS_STEPS),
            _ => in_columns(&mut space, op).unwrap_or_else(|| {
                let steps = (space.row_len() / LANES).clamp(1, MOST_STEPS);
                in_rows(&space, instructions, steps)
            }),
        };
        let finished = match output {
            Output::Finished | Output::Joined { .. } => true,
            Output::Parts { .. } => false,
            Output::Running { what, .. } => what != Running::Totals && !of_parts,
        };
        let kernel = Kernel {
            of_parts,
            finish: finished.then(|| work.finish.clone()),
            segmented: space.row_len() > form.segment_len(),
            joined: matches!(output, Output::Joined { .. }),
            ..Kernel::new(form, work, &space)?
        };
        let scalars = if of_parts { &[] } else { work.scalars };
        let finish_scalars = if finished { work.finish_scalars } else { &[] };
        let program = if of_parts { work.finish } else { work.program };
        Self::of(program, kernel, &space, (scalars, finish_scalars), output)
    }

    /// The launch of a kernel of some form.
    pub(super) fn of(
        program: &'a Program,
        kernel: Kernel,
        space: &Space,
        scalars: (&[u64], &[u64]),
        output: Output,
    ) -> Option<Self> {
        let form = kernel.form;
        let parameter = parameter(space, form, scalars, output)?;
        let accesses = (0..space.operands()).map(|operand| access(space, form, operand));
        let grid = u32::try_from(form.blocks(space).0).ok()?;
        let class = Class {
            outer: kernel.kept,
            wide: true,
            operands: space.kinds.iter().copied().zip(accesses).collect(),
            family: Family::Reduce(Arc::new(kernel)),
        };
        Some(Self { program, class, grid, dynamic_bytes: 0, parameter })
    }
}

/// Threads along the elements of rows, which take up to `steps` steps at once if the rows are long.
fn in_rows(space: &Space, instructions: u64, steps: u64) -> Form {
    let (row_len, side) = (space.row_len(), SIDE as u64);
    let threads = if row_len > LANES { THREADS } else { row_len.div_ceil(side).next_power_of_two() };
    let goes_on =
        |(inner, outer): (&Strided, &[Strided])| outer.is_empty() || inner.extent.is_multiple_of(SIDE);
    let vector = space.reduced.split_last().is_some_and(goes_on);
    // Most loads of elements side by side before they are added.
    let most = (INSTRUCTIONS / side / instructions.max(1)).min(EARLY / side / registers(space, 1));
    let is_short = row_len.div_ceil(side * WARP) <= most && space.rows() >= MANY_BLOCKS;
    if threads <= WARP || row_len <= LANES && is_short {
        return in_short_rows(space, most, threads.min(WARP), vector);
    }
    Form::Rows { threads: small(threads), steps: 1 << most.clamp(1, steps).ilog2(), vector }
}

fn in_short_rows(space: &Space, most: u64, threads: u64, vector: bool) -> Form {
    let (row_len, side) = (space.row_len(), SIDE as u64);
    let chunks = row_len.div_ceil(side * threads);
    let mut at_once = 1 << (most / chunks).clamp(1, ROWS).ilog2();
    let blocks = |at_once: u64| space.rows().div_ceil(at_once * (THREADS / threads));
    while at_once > 1 && blocks(at_once) < MANY_BLOCKS {
        at_once /= 2;
    }
    let vector = vector && row_len.is_multiple_of(side);
    Form::Short { threads: small(threads), rows: small(at_once), chunks: small(chunks), vector }
}

/// Whether the last block of each row combines its segments, in memory of the stream.
pub(super) fn joins(space: &Space) -> bool {
    let segments = segments(space);
    (2..=LANES).contains(&segments)
        && space.rows() <= COUNTERS_BYTES / 4
        && space.rows() * segments <= COUNTERS_BYTES
        && !has_columns(space)
}

/// The stride of an operand from column to column. A thread has some of them.
fn column(space: &Space, form: Form, operand: usize) -> Option<i64> {
    let axis = space.kept.last().filter(|_| matches!(form, Form::Columns(_)))?;
    Some(axis.strides[operand] as i64 / form.side().cast_signed())
}

/// How a thread reaches the elements of an operand.
fn access(space: &Space, form: Form, operand: usize) -> Access {
    let kind = space.kinds[operand];
    let along = |axis: &Strided| axis.strides[operand] as i64;
    let column = column(space, form, operand);
    if operand > 0 && column.unwrap_or(0) == 0 && space.reduced.iter().all(|axis| along(axis) == 0) {
        let tiled = matches!(form, Form::Running { .. });
        return if tiled { Access::Each } else { Access::Uniform };
    }
    let (inner, others) = match (column, space.reduced.split_last()) {
        (Some(column), _) => (column, space.reduced.as_slice()),
        (None, Some((inner, others))) => (along(inner), others),
        (None, None) => return Access::Single,
    };
    let size = kind.len_bytes();
    match inner {
        0 => Access::Each,
        _ if inner == size && !matches!(kind, Kind::Position(_)) => {
            let rows = space.kept.iter().chain(others).map(|axis| along(axis).cast_unsigned());
            let bits = rows.fold(space.bases[operand] | ACCESS_BYTES, |bits, stride| bits | stride);
            let width = ((1 << bits.trailing_zeros()) / size.cast_unsigned()).clamp(1, form.side());
            Access::Span { width: u8::try_from(width).unwrap_or(1) }
        }
        _ => Access::Single,
    }
}

fn parameter(
    space: &Space,
    form: Form,
    (scalars, finish_scalars): (&[u64], &[u64]),
    output: Output,
) -> Option<Parameter> {
    let segments = space.row_len().div_ceil(form.segment_len());
    let (_, across) = form.blocks(space);
    let words = Words::new(
        space.operands(),
        [scalars.len(), finish_scalars.len()],
        [space.kept.len(), space.reduced.len()],
    );
    if words.count() > MAX_WORDS {
        return None;
    }
    let mut all = vec![0; words.count()];
    all[..space.operands()].copy_from_slice(&space.bases);
    all[words.row_len] = space.row_len();
    all[words.units] = space.rows() * segments;
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
        Output::Parts { values, indices } => {
            all[0] = values;
            all[words.indices] = indices;
        }
        Output::Running { what: Running::Totals, address, .. } => all[0] = address,
        Output::Running { what: Running::Linked { .. }, address, .. } => {
            let [of_tiles, groups, other_groups, _] = link_words(address, space.rows(), segments);
            all[words.columns] = address;
            all[words.carry] = of_tiles;
            all[words.across] = groups;
            all[words.across_divider] = other_groups;
        }
        Output::Running { address, .. } => all[words.carry] = address,
    }
    for operand in 0..space.operands() {
        if let Some(stride) = column(space, form, operand) {
            all[words.columns] = space.rows();
            all[words.column(operand)] = stride.cast_unsigned();
        }
    }
    all[words.scalars..][..scalars.len()].copy_from_slice(scalars);
    all[words.finish_scalars..][..finish_scalars.len()].copy_from_slice(finish_scalars);
    let kept = space.kept.iter().rev().enumerate().map(|(at, axis)| (words.kept(at), axis));
    let reduced = space.reduced.iter().rev().enumerate().map(|(at, axis)| (words.reduced(at), axis));
    for (at, axis) in kept.chain(reduced) {
        // Nothing is divided by the outermost extent, so it may be longer.
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
            link_words(1 << 20, 2, 300),
            [256, 256 + 4_800, 256 + 4_832, 256 + 4_864].map(|at| (1 << 20) + at)
        );
        assert_eq!(link_bytes(2, 300), 256 + 4_864);
    }
}
