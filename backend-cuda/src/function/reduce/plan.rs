//! One launch of a reduction: its form, how operands are reached, and the parameter.

mod columns;

use std::sync::Arc;

use devarray::{
    backend::ReduceOp,
    function::{Combine, ElementType, primitive::Program},
};

use super::{
    Class, Family, Parameter,
    combining::Combining,
    kernel::{Form, Kernel, Running, Words},
    linked::GROUP,
    rows,
    running::SIDE,
    space::{Axis, Space},
};
use crate::{
    function::{
        class::Access,
        launch::{MAX_WORDS, divider},
        problem::{ACCESS_BYTES, Kind},
        text::BLOCK,
    },
    memory::CudaBuffer,
    stream::COUNTERS_BYTES,
};

use columns::in_columns;
pub(super) use columns::{has_columns, split};

/// Most instructions of the program that are written one after another.
const INSTRUCTIONS: u64 = 1_024;

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
const WARP: u64 = 32;

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
    /// A running form. The address is where totals are stored, or what precedes tiles.
    Running { what: Running, address: u64 },
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

/// How many threads a tile of a running form has, and how often each has four elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    threads: u64,
    pieces: u64,
}

impl Tile {
    pub(super) fn len(self) -> u64 {
        self.threads * self.pieces * SIDE as u64
    }
}

/// Segments of a row.
pub(super) fn segments(space: &Space) -> u64 {
    space.row_len().div_ceil(Combine::SEGMENT as u64)
}

pub(super) fn tile(row_len: u64, instructions: u64, value_type: ElementType) -> Tile {
    let threads = row_len.div_ceil(SIDE as u64).next_power_of_two().min(THREADS);
    let long = instructions <= INSTRUCTIONS / 32;
    // As many as registers hold.
    let most = if long { 32 / value_type.len_bytes() as u64 } else { 1 };
    Tile { threads, pieces: row_len.div_ceil(THREADS * SIDE as u64).next_power_of_two().min(most) }
}

/// The form of a launch, with what depends on it.
pub(super) struct Chosen {
    form: Form,
    segment_len: u64,
    /// The axis of columns.
    column: Option<Axis>,
    grid: u64,
    /// Blocks side by side.
    across: u64,
    /// Elements that a thread reaches side by side, along the axis where it does.
    count: u64,
}

impl Chosen {
    /// Rows of one segment, in which a thread reaches four elements side by side.
    pub(super) fn of_rows(form: Form, grid: u64) -> Self {
        let (segment_len, count) = (Combine::SEGMENT as u64, rows::LANES as u64);
        Self { form, segment_len, column: None, grid, across: 1, count }
    }
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
        let chosen = match output {
            Output::Running { what, .. } => {
                let value_type = Combining::new(work.combine, work.program.result_type(), true).value_type();
                running(&space, tile(space.row_len(), instructions, value_type), what)
            }
            _ if of_parts => in_rows(&space, instructions, PARTS_STEPS),
            _ => in_columns(&mut space, op).unwrap_or_else(|| {
                let steps = (space.row_len() / LANES).clamp(1, MOST_STEPS);
                in_rows(&space, instructions, steps)
            }),
        };
        let segments = space.row_len().div_ceil(chosen.segment_len);
        let finished = match output {
            Output::Finished | Output::Joined { .. } => true,
            Output::Parts { .. } => false,
            Output::Running { what, .. } => what != Running::Totals && !of_parts,
        };
        let kernel = Kernel {
            of_parts,
            finish: finished.then(|| work.finish.clone()),
            segmented: segments > 1,
            joined: matches!(output, Output::Joined { .. }),
            ..Kernel::new(chosen.form, work, &space)?
        };
        let scalars = if of_parts { &[] } else { work.scalars };
        let finish_scalars = if finished { work.finish_scalars } else { &[] };
        let program = if of_parts { work.finish } else { work.program };
        Self::of(program, kernel, (&space, &chosen), (scalars, finish_scalars), output)
    }

    /// The launch of a kernel of some form.
    pub(super) fn of(
        program: &'a Program,
        kernel: Kernel,
        (space, chosen): (&Space, &Chosen),
        scalars: (&[u64], &[u64]),
        output: Output,
    ) -> Option<Self> {
        let parameter = parameter(space, chosen, scalars, output)?;
        let accesses = (0..space.operands()).map(|operand| access(space, chosen, operand));
        let class = Class {
            outer: kernel.kept,
            wide: true,
            operands: space.kinds.iter().copied().zip(accesses).collect(),
            family: Family::Reduce(Arc::new(kernel)),
        };
        Some(Self { program, class, grid: u32::try_from(chosen.grid).ok()?, dynamic_bytes: 0, parameter })
    }
}

/// Registers of 4 bytes that one element of each input takes, together.
fn registers(space: &Space) -> u64 {
    let types = space.kinds.iter().skip(1).filter_map(|kind| kind.element_type());
    types.map(|element_type| element_type.len_bytes().div_ceil(4) as u64).sum::<u64>().max(1)
}

/// Threads along the elements of rows, which take up to `steps` steps at once if the rows are long.
fn in_rows(space: &Space, instructions: u64, steps: u64) -> Chosen {
    let row_len = space.row_len();
    let lanes = rows::LANES as u64;
    let threads = if row_len > LANES { THREADS } else { row_len.div_ceil(lanes).next_power_of_two() };
    let vector = match space.reduced.as_slice() {
        [] => false,
        [_] => true,
        [.., inner] => inner.extent.is_multiple_of(lanes),
    };
    let chunks = row_len.div_ceil(lanes * WARP);
    let short = lanes * chunks * instructions <= INSTRUCTIONS
        && lanes * chunks * registers(space) <= EARLY
        && space.rows() >= MANY_BLOCKS;
    if threads <= WARP || row_len <= LANES && short {
        return in_short_rows(space, instructions, threads.min(WARP), vector);
    }
    let most =
        (INSTRUCTIONS / lanes / instructions.max(1)).min(EARLY / lanes / registers(space)).clamp(1, steps);
    let form = Form::Rows { threads: small(threads), steps: 1 << most.ilog2(), vector };
    Chosen::of_rows(form, (space.rows() * segments(space)).div_ceil(THREADS / threads))
}

fn in_short_rows(space: &Space, instructions: u64, threads: u64, vector: bool) -> Chosen {
    let lanes = rows::LANES as u64;
    let chunks = space.row_len().div_ceil(lanes * threads);
    let most = (INSTRUCTIONS / lanes / instructions.max(1)).min(EARLY / lanes / registers(space)) / chunks;
    let mut at_once = 1 << most.clamp(1, ROWS).ilog2();
    let blocks = |at_once: u64| space.rows().div_ceil(at_once * (THREADS / threads));
    while at_once > 1 && blocks(at_once) < MANY_BLOCKS {
        at_once /= 2;
    }
    let vector = vector && space.row_len().is_multiple_of(lanes);
    let form = Form::Short { threads: small(threads), rows: small(at_once), chunks: small(chunks), vector };
    Chosen::of_rows(form, blocks(at_once))
}

fn running(space: &Space, tile: Tile, what: Running) -> Chosen {
    let tiles = space.row_len().div_ceil(tile.len());
    let form = Form::Running { threads: small(tile.threads), pieces: small(tile.pieces), what };
    let grid = (space.rows() * tiles).div_ceil(THREADS / tile.threads);
    Chosen { segment_len: tile.len(), count: SIDE as u64, ..Chosen::of_rows(form, grid) }
}

/// Whether the last block of each row combines its segments, in memory of the stream.
pub(super) fn joins(space: &Space) -> bool {
    let segments = segments(space);
    (2..=LANES).contains(&segments)
        && space.rows() <= COUNTERS_BYTES / 4
        && space.rows() * segments <= COUNTERS_BYTES
        && !has_columns(space)
}

/// How a thread reaches the elements of an operand.
fn access(space: &Space, chosen: &Chosen, operand: usize) -> Access {
    let kind = space.kinds[operand];
    let along = |axis: &Axis| axis.strides[operand];
    let column = chosen.column.as_ref().map_or(0, along);
    if operand > 0 && column == 0 && space.reduced.iter().all(|axis| along(axis) == 0) {
        let tiled = matches!(chosen.form, Form::Running { .. });
        return if tiled { Access::Each } else { Access::Uniform };
    }
    let (inner, others) = match (&chosen.column, space.reduced.split_last()) {
        (Some(_), _) => (column, space.reduced.as_slice()),
        (None, Some((inner, others))) => (along(inner), others),
        (None, None) => return Access::Single,
    };
    let size = kind.len_bytes();
    match inner {
        0 => Access::Each,
        _ if inner == size && !matches!(kind, Kind::Position(_)) => {
            let rows = space.kept.iter().chain(others).map(|axis| along(axis).cast_unsigned());
            let bits = rows.fold(space.bases[operand] | ACCESS_BYTES, |bits, stride| bits | stride);
            let width = ((1 << bits.trailing_zeros()) / size.cast_unsigned()).clamp(1, chosen.count);
            Access::Span { width: u8::try_from(width).unwrap_or(1) }
        }
        _ => Access::Single,
    }
}

fn parameter(
    space: &Space,
    chosen: &Chosen,
    (scalars, finish_scalars): (&[u64], &[u64]),
    output: Output,
) -> Option<Parameter> {
    let segments = space.row_len().div_ceil(chosen.segment_len);
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
    all[words.across] = chosen.across;
    all[words.across_divider] = divider(chosen.across)?;
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
        Output::Running { what: Running::Totals, address } => all[0] = address,
        Output::Running { what: Running::Linked { .. }, address } => {
            let [of_tiles, groups, other_groups, _] = link_words(address, space.rows(), segments);
            all[words.columns] = address;
            all[words.carry] = of_tiles;
            all[words.across] = groups;
            all[words.across_divider] = other_groups;
        }
        Output::Running { address, .. } => all[words.carry] = address,
    }
    if let Some(column) = &chosen.column {
        all[words.columns] = space.rows();
        for (operand, &stride) in column.strides.iter().enumerate() {
            all[words.column(operand)] = stride.cast_unsigned();
        }
    }
    all[words.scalars..][..scalars.len()].copy_from_slice(scalars);
    all[words.finish_scalars..][..finish_scalars.len()].copy_from_slice(finish_scalars);
    let kept = space.kept.iter().rev().enumerate().map(|(at, axis)| (words.kept(at), axis));
    let reduced = space.reduced.iter().rev().enumerate().map(|(at, axis)| (words.reduced(at), axis));
    for (at, axis) in kept.chain(reduced) {
        // Nothing is divided by the outermost extent, so it may be longer.
        all[at] = divider(axis.extent).unwrap_or(0);
        all[at + 1] = axis.extent;
        for (operand, &stride) in axis.strides.iter().enumerate() {
            all[at + 2 + operand] = stride.cast_unsigned();
        }
    }
    Some(Parameter::from_words(all))
}

/// A number of threads, lanes or elements of a block.
fn small(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
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
