//! The box of a copy that becomes a tile.

use devarray::Axes;

use super::{
    row_ends::should_end,
    scale::{Scale, Size},
    shape::Shape,
    sizes::{LEAST_BOX_BYTES, SECTOR_BYTES, WITHOUT_GAPS},
};
use crate::strided::strided_copy::{Axis, StridedCopy};

/// The most bytes of a tile, so that tables also fit in shared memory.
const MAX_TILE_BYTES: u64 = 40 << 10;

/// Bytes that a thread stores at once.
const VECTOR_BYTES: u64 = 16;
/// Elements that are further apart, in elements, make no row: at most a quarter of it would be
/// used.
const MOST_APART: u64 = 4;

/// The sizes that a tile should have.
#[derive(Debug, Clone, Copy)]
struct Target {
    size: Size,
    /// Whether a row may include gaps of up to a sector. The elements of a run are then less
    /// regular.
    gaps: bool,
    /// Whether rows end where runs along them would split sectors between tiles.
    sectors: bool,
}

/// The axes of the source, fastest first, without repeated ones.
fn by_source(axes: &[Axis]) -> Axes<usize> {
    let mut order: Axes<usize> = (0..axes.len()).filter(|&axis| axes[axis].src != 0).collect();
    order.sort_by_key(|&axis| axes[axis].src.unsigned_abs());
    order
}

/// The steps of an axis that cover about `bytes`. All steps of the axis, if these are at most half
/// as many again: a small remainder would cost more.
fn steps_for(axis: &Axis, stride: u64, bytes: u64) -> u32 {
    let wanted = u32::try_from(bytes.div_ceil(stride)).unwrap_or(u32::MAX);
    if wanted.saturating_mul(3) / 2 >= axis.extent { axis.extent } else { wanted }
}

/// Chooses the box for the given targets.
fn mark(copy: &StridedCopy, target: Target) -> Option<Shape> {
    let (axes, width, scattered) = (&copy.axes, u64::from(copy.width), copy.is_scattered());
    let mut steps = Axes::from_elem(1_u32, axes.len());
    let (mut row, mut run, mut ended) = (Axes::new(), Axes::new(), false);
    // A row includes axes as long as each continues the previous ones, except for gaps of up to a
    // sector, which is read anyway.
    let mut span = width;
    for axis in by_source(axes) {
        let stride = axes[axis].src.unsigned_abs();
        if !row.is_empty() {
            // Gaps may also make up a fifth of the bytes that are then read.
            let reach = if target.gaps { (span * 5 / 4).max(span + u64::from(SECTOR_BYTES)) } else { span };
            if !(span..=reach).contains(&stride) || span >= target.size.row_bytes {
                break;
            }
            ended = axis == 0 && !scattered && should_end(copy, span, target.size.tile_bytes, target.sectors);
            if ended {
                break;
            }
        }
        row.push(axis);
        steps[axis] = steps_for(&axes[axis], stride, target.size.row_bytes);
        if steps[axis] < axes[axis].extent {
            break;
        }
        span += u64::from(axes[axis].extent - 1) * stride;
    }
    if scattered && row.contains(&0) {
        return None;
    }
    // A run includes axes as long as each continues the previous ones exactly.
    let mut length = 0;
    for (axis, of) in axes.iter().enumerate() {
        let stride = of.dst.unsigned_abs();
        let enough = length >= target.size.run_bytes;
        if axis > 0 && (stride != length || scattered || enough) {
            break;
        }
        run.push(axis);
        let per_step = if scattered { width } else { stride };
        steps[axis] = steps[axis].max(steps_for(of, per_step, target.size.run_bytes));
        if steps[axis] < of.extent {
            break;
        }
        length = stride * u64::from(of.extent);
    }
    end_before_row(copy, &steps, &row, &mut run);
    Some(Shape { copy: copy.clone(), steps, row, run, batch: None, fused: None, ended, reaches_back: false })
}

/// Ends runs before the axes of the rows, if they are long enough by then. Elements are then found
/// by one step, or in words of several runs, instead of a table. The tile and the bytes that are
/// written stay the same.
fn end_before_row(copy: &StridedCopy, steps: &[u32], row: &[usize], run: &mut Axes<usize>) {
    let Some(at) = run.iter().position(|axis| row.contains(axis)).filter(|&at| at > 0) else { return };
    let elements: u64 = run[..at].iter().map(|&axis| u64::from(steps[axis])).product();
    let bytes = elements * u64::from(copy.width);
    let rows_have_the_rest = run[at..].iter().all(|axis| row.contains(axis));
    if rows_have_the_rest && bytes >= SECTOR_BYTES.into() && bytes.is_multiple_of(VECTOR_BYTES) {
        run.truncate(at);
    }
}

/// Halves or doubles the targets until the tile has about the size it should have.
fn fit(copy: &StridedCopy, mut target: Target) -> Option<Shape> {
    /// A box that is still too large with rows and runs of one sector does not fit.
    const LEAST: u64 = SECTOR_BYTES as u64;
    /// Twelve doublings each of rows and of runs, from at least [`LEAST`], make both longer than
    /// any tile: a box that is still small then covers the whole copy.
    const DOUBLINGS: u32 = 24;
    let tile_bytes = target.size.tile_bytes;
    let most = (2 * tile_bytes).min(MAX_TILE_BYTES);
    let mut shape = mark(copy, target)?;
    while shape.tile_bytes() > most {
        let Size { row_bytes, run_bytes, .. } = &mut target.size;
        let longer = if row_bytes >= run_bytes { row_bytes } else { run_bytes };
        if *longer <= LEAST {
            return None;
        }
        *longer /= 2;
        shape = mark(copy, target)?;
    }
    for _ in 0..DOUBLINGS {
        // A doubled box would be further from the target than this one.
        if shape.tile_bytes() >= tile_bytes * 3 / 4 {
            break;
        }
        let Size { row_bytes, run_bytes, .. } = &mut target.size;
        *if row_bytes <= run_bytes { row_bytes } else { run_bytes } *= 2;
        let larger = mark(copy, target)?;
        let enough = larger.run.len() > shape.run.len() && is_best_ended(&larger, shape.tile_bytes());
        if larger.tile_bytes() > most || enough {
            break;
        }
        shape = larger;
    }
    Some(shape)
}

/// Whether a box of this many bytes should not grow: its rows were ended so that each vector of a
/// run is found from its row. With one more axis, its runs would go both over rows and along them,
/// and every element would need a table entry.
fn is_best_ended(shape: &Shape, bytes: u64) -> bool {
    shape.ended && shape.run.iter().any(|&axis| shape.in_row(axis)) && bytes >= LEAST_BOX_BYTES
}

/// Repeats a small box along one more axis, so that a block has enough work.
fn add_batch(shape: &mut Shape, tile_bytes: u64) {
    let axes = 0..shape.steps.len();
    let in_box = |axis: usize| shape.in_row(axis) || shape.in_run(axis);
    let bytes = shape.tile_bytes();
    let cut = axes.clone().any(|axis| in_box(axis) && shape.is_cut(axis));
    // Next to a box of more than half a tile, a second one does not fit.
    if cut || bytes * 2 > tile_bytes || is_best_ended(shape, bytes) {
        return;
    }
    let Some(axis) = axes.clone().find(|&axis| !in_box(axis) && shape.axis(axis).src != 0) else { return };
    let steps = u32::try_from(tile_bytes / bytes).unwrap_or(u32::MAX);
    shape.steps[axis] = steps.min(shape.axis(axis).extent);
    shape.batch = Some(axis);
}

/// The box of all rows and this many columns, if the destination continues along the source's
/// fastest axis after the end of a run.
pub(super) fn of_all_rows(copy: &StridedCopy, columns: u32) -> Option<Shape> {
    let (of, width) = (copy.axes[0], copy.width);
    let fastest = *by_source(&copy.axes).first()?;
    let next = copy.axes[fastest];
    let follows = !copy.is_scattered() && next.dst == i64::from(of.extent) * of.dst;
    // Runs of whole vectors end with their axis.
    let partial = !u64::from(of.extent * width).is_multiple_of(VECTOR_BYTES);
    let dense = next.src.unsigned_abs() == u64::from(width);
    if !(follows && partial && dense) || next.extent < 2 * columns {
        return None;
    }
    let mut steps = Axes::from_elem(1, copy.axes.len());
    (steps[0], steps[fastest]) = (of.extent, columns);
    let (row, run) = (Axes::from_slice(&[fastest]), Axes::from_slice(&[0, fastest]));
    let copy = copy.clone();
    let shape = Shape { copy, steps, row, run, batch: None, fused: None, ended: false, reaches_back: false };
    Some(shape.forward())
}

/// The box for a copy, or nothing if the source has no dense axis to load rows along. The size
/// is halved `shrink` times, because shared memory was too small or a table too long.
pub(super) fn choose(copy: &StridedCopy, size: Size, shrink: u32) -> Option<Shape> {
    let fastest = *by_source(&copy.axes).first()?;
    if copy.axes[fastest].src.unsigned_abs() > MOST_APART * u64::from(copy.width) {
        return None;
    }
    let halved = Size {
        row_bytes: size.row_bytes >> shrink,
        run_bytes: size.run_bytes >> shrink,
        tile_bytes: size.tile_bytes >> shrink,
    };
    // The cache merges the sectors of small results.
    let sectors = size.tile_bytes > Scale::Small.size(copy.width).tile_bytes;
    let mut shape = fit(copy, Target { size: halved, gaps: shrink < WITHOUT_GAPS, sectors })?;
    // A box that is small only because of its table is repeated until it fills a tile.
    add_batch(&mut shape, size.tile_bytes >> (shrink % WITHOUT_GAPS));
    Some(shape.forward())
}
