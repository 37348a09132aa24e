//! Rows: the destination is contiguous along its innermost axis, and the source has no faster one.

mod cost;
mod table;

use devarray::Axes;

use self::cost::Way;
pub use self::table::CHUNKS;
use super::{
    axes::{Axis, Problem, loops},
    kernel::Entry,
    launch::{LINE_BYTES, Launch, Params, THREADS},
    params::{FastDiv, MAX_ROW_AXES, Operands, RowsParams},
    tile::Scale,
};

/// Of shorter rows, too many chunks are partial.
const MIN_ROW_BYTES: u32 = 64;
/// Chunks of a thread where the source repeats; `REPEATS` in `rows.cu`.
pub const REPEATS: u32 = 4;
/// Longer rows are equally fast in any order.
const MAX_SQUARED_BYTES: u32 = 1024;

/// Whether the start and all strides are multiples of 16 bytes.
fn aligned(start: u64, mut strides: impl Iterator<Item = i64>) -> bool {
    start.is_multiple_of(16) && strides.all(|stride| stride % 16 == 0)
}

/// The launch that copies row by row, if rows are what the problem has.
pub(super) fn select(problem: &Problem, scale: Scale) -> Option<Launch> {
    let (inner, outer) = problem.axes.split_first()?;
    let step = problem.step();
    let row_bytes = inner.extent.checked_mul(problem.width)?;
    if inner.dst != step || outer.len() > MAX_ROW_AXES {
        return None;
    }
    if row_bytes < MIN_ROW_BYTES && !outer.is_empty() {
        return None;
    }
    let dst_aligned = aligned(problem.dst, outer.iter().map(|axis| axis.dst));
    let src_aligned = aligned(problem.src, outer.iter().map(|axis| axis.src));
    let comes_back = outer.iter().any(|axis| axis.src == 0);
    let mut src = problem.src;
    let mut group = None;
    let entry = if inner.src == step {
        if dst_aligned && src_aligned && row_bytes.is_multiple_of(16) {
            if comes_back { Entry::RowsAgain } else { Entry::RowsAligned }
        } else {
            let joined = joined(row_bytes, outer).filter(|_| !dst_aligned);
            let table = table::Table::of(problem, row_bytes, outer).filter(|_| joined.is_some());
            match cost::cheapest(scale, row_bytes, outer.len(), joined.is_some(), table.as_ref()) {
                Way::Table => return table.map(|table| table.launch(problem, outer)),
                Way::Join => {
                    group = joined;
                    Entry::RowsJoin
                }
                Way::Realign => Entry::RowsRealign,
            }
        }
    } else if inner.src == -step && problem.width < 16 {
        src = src.wrapping_add_signed(i64::from(inner.extent - 1) * inner.src);
        Entry::RowsReverse
    } else if inner.src == 0 {
        Entry::RowsRepeat
    } else if strided_fits(problem, inner, outer) {
        Entry::RowsStride
    } else {
        return None;
    };
    let outer = if group.is_some() { &outer[1..] } else { outer };
    let length = group.map_or(row_bytes, |(bytes, _)| bytes);
    let group_aligned = aligned(problem.dst, outer.iter().map(|axis| axis.dst));
    let over = if group_aligned { 0 } else { 16 - problem.width };
    let chunks = (length + over).div_ceil(16);
    let rows: u32 = outer.iter().map(|axis| axis.extent).product();
    let total = rows.checked_mul(chunks).filter(|&total| total < 1 << 31)?;
    let each = if matches!(entry, Entry::RowsAgain | Entry::RowsRepeat) { REPEATS } else { 1 };
    // Lines loaded with evict-last priority need it reset. The kernel that picks elements resets
    // the line that begins before an element, so rows must begin with a line.
    let streams = match entry {
        Entry::RowsAligned => true,
        Entry::RowsStride => {
            let lines = |stride: i64| stride != 0 && stride.unsigned_abs().is_multiple_of(LINE_BYTES.into());
            src.is_multiple_of(LINE_BYTES.into())
                && outer.iter().all(|axis| lines(axis.src))
                && dst_aligned
                && row_bytes.is_multiple_of(16)
        }
        _ => false,
    };
    let short = row_bytes <= MAX_SQUARED_BYTES && matches!(entry, Entry::RowsAligned);
    let squares = (short && scale == Scale::Stream).then(|| in_squares(outer)).flatten();
    let around = squares.as_deref().unwrap_or(outer);
    let params = RowsParams {
        at: Operands { src, ..problem.operands() },
        axes: u32::try_from(around.len()).ok()?,
        total,
        chunks: FastDiv::new(chunks),
        row_bytes,
        row: FastDiv::new(row_bytes),
        group_bytes: group.map_or(0, |(bytes, _)| bytes),
        evict_last: u32::from(scale == Scale::Stream && streams),
        unused: 0,
        step: group.map_or(inner.src, |(_, step)| step),
        axis: loops(around),
    };
    Some(Launch::new(entry, problem.width, total.div_ceil(THREADS * each), Params::Rows(params)))
}

/// The loops around rows, blocked in squares: a few steps of the loop that is fastest in the
/// destination, then as many of the one that is fastest in the source. Blocks that run at the same
/// time then read longer pieces of the source. Only for loops that the squares divide evenly, and
/// not on fast memory, where it was slower.
fn in_squares(outer: &[Axis]) -> Option<Axes<Axis>> {
    let distance = |&k: &usize| outer[k].src.unsigned_abs();
    let near = (0..outer.len()).min_by_key(distance).filter(|&k| k > 0 && outer.len() + 2 <= MAX_ROW_AXES)?;
    let side =
        |axis: &Axis| [4, 5, 3, 2].into_iter().find(|n| axis.extent.is_multiple_of(*n) && axis.extent > *n);
    let rows = side(&outer[near])?;
    let mut loops: Axes<Axis> = outer.into();
    let mut inner = Axes::new();
    for (k, steps) in [(0, side(&outer[0])), (near, Some(rows))] {
        let (of, Some(steps)) = (outer[k], steps) else { continue };
        let far = i64::from(steps);
        loops[k] = Axis::new(of.extent / steps, of.src * far, of.dst * far);
        inner.push(Axis::new(steps, of.src, of.dst));
    }
    loops.insert_many(0, inner);
    Some(loops)
}

/// Bytes of a group of rows that follow each other in the destination without a gap, and the step
/// of the source.
fn joined(row_bytes: u32, outer: &[Axis]) -> Option<(u32, i64)> {
    let next = outer.first()?;
    let follows = next.dst == i64::from(row_bytes);
    let bytes = row_bytes.checked_mul(next.extent)?;
    follows.then_some((bytes, next.src))
}

/// Whether picking the elements of a row one by one is fastest: the source has no faster axis, and
/// is not so dense that reading all of it through shared memory is cheaper.
fn strided_fits(problem: &Problem, inner: &Axis, outer: &[Axis]) -> bool {
    let stride = inner.src.unsigned_abs();
    let fastest = outer
        .iter()
        .map(|axis| axis.src.unsigned_abs())
        .filter(|&other| other > 0)
        .all(|other| stride < other);
    fastest && (problem.width > 1 || stride > 4)
}
