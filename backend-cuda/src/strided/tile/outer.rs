//! In which order tiles are worked on.
//!
//! What matters is what the blocks under way at one time touch: the pages of memory on each side, and whether the tile
//! that shares a cache line or a sector with this one comes while that is still in the cache.

use devarray::Axes;

use super::{
    Layout,
    params::{MAX_OUTER, NO_AXIS},
};
use crate::strided::axes::Axis;

/// Rows at least this long use their memory pages and sectors well by themselves.
const LONG_ROW_BYTES: u32 = 1024;
/// Blocks under way at one time on a large device.
const IN_FLIGHT: u64 = 768;
/// What addresses are translated by.
const PAGE_BYTES: u64 = 2 << 20;
/// What surely stays in the cache of a large device for a while.
const CACHED_BYTES: u64 = 8 << 20;
/// What memory is fetched in beyond a chunk, if told.
const AHEAD_BYTES: u32 = 256;

/// Fills in the loops around tiles.
pub(super) fn lower(layout: &mut Layout<'_>) -> Option<()> {
    let order = order(layout);
    if order.len() > MAX_OUTER {
        return None;
    }
    let shape = layout.shape;
    let ahead = layout.row_split.is_some_and(|row| {
        let strides = || layout.across_rows.iter().map(|&axis| shape.axes[axis].src);
        let whole = layout.params.span.is_multiple_of(AHEAD_BYTES)
            && strides().all(|stride| stride % i64::from(AHEAD_BYTES) == 0);
        !whole && bytes_between(layout, &order, row) <= CACHED_BYTES
    });
    let mut tiles = 1_u32;
    for (at, &axis) in order.iter().enumerate() {
        let (of, steps, pieces) = (shape.axes[axis], shape.steps[axis], pieces(layout, axis));
        let p = &mut layout.params;
        p.outer[at] = Axis::new(pieces, of.src * i64::from(steps), of.dst * i64::from(steps)).lowered();
        tiles = tiles.checked_mul(pieces)?;
        let number = u32::try_from(at).ok()?;
        if layout.row_split == Some(axis) {
            p.a_outer = number;
        }
        if layout.run_split == Some(axis) {
            p.b_outer = number;
        }
        if shape.batch == Some(axis) {
            p.c_outer = number;
        }
    }
    let p = &mut layout.params;
    p.ahead = ahead.into();
    p.outer_axes = u32::try_from(order.len()).ok()?;
    p.tiles = tiles;
    debug_assert!(p.a_extent == 0 || p.a_outer != NO_AXIS, "a cut axis has a loop");
    (tiles < 1 << 31).then_some(())
}

/// Tiles along an axis.
fn pieces(layout: &Layout<'_>, axis: usize) -> u32 {
    let skew = if layout.run_split == Some(axis) { layout.skew } else { 0 };
    (layout.shape.axes[axis].extent + skew).div_ceil(layout.shape.steps[axis])
}

/// The loops, fastest first. The next tile goes on along the destination's runs, so that what neighbouring blocks write is
/// close together; short source rows then go on along the source, so that sectors two tiles share are still
/// cached. If the source would come back to a shared sector too late, and the destination not, it is the other way round.
/// The rest is in the order of the destination or of the source, whichever keeps to fewer pages.
fn order(layout: &Layout<'_>) -> Axes<usize> {
    let shape = layout.shape;
    let next = continuing(layout);
    let sorted = |first: [Option<usize>; 2], by_source: bool| {
        let mut order: Axes<usize> = (0..shape.axes.len()).filter(|&axis| shape.is_cut(axis)).collect();
        order.sort_by_key(|&axis| {
            let rank = first.iter().position(|&this| this == Some(axis)).unwrap_or(first.len());
            let of = shape.axes[axis];
            (rank, if by_source { of.src.unsigned_abs() } else { of.dst.unsigned_abs() })
        });
        order
    };
    let (run, row) = (layout.run_split, layout.row_split);
    if let (Some(a), Some(b)) = (run, row)
        && a != b
    {
        let (by_run, by_row) = (sorted([run, next], false), sorted([row, run], false));
        let late = |order: &[usize], axis| bytes_between(layout, order, axis) > CACHED_BYTES;
        if late(&by_run, b) && !late(&by_row, a) {
            return by_row;
        }
    }
    let candidates = [sorted([run, next], false), sorted([run, next], true)];
    let [by_dst, by_src] = candidates;
    if pages(layout, &by_src) < pages(layout, &by_dst) { by_src } else { by_dst }
}

/// Bytes read, and as many written, between a tile and the next one along an axis.
fn bytes_between(layout: &Layout<'_>, order: &[usize], axis: usize) -> u64 {
    let tile = u64::from(layout.params.rows) * u64::from(layout.params.span);
    let before = order.iter().take_while(|&&other| other != axis);
    before.map(|&other| u64::from(pieces(layout, other))).product::<u64>().saturating_mul(tile)
}

/// A measure of the pages that the blocks under way touch, those written counted a little more.
fn pages(layout: &Layout<'_>, order: &[usize]) -> u64 {
    let shape = layout.shape;
    let (mut src, mut dst) = (Axes::<(u64, u64)>::new(), Axes::<(u64, u64)>::new());
    for &axis in &layout.across_rows {
        src.push((shape.axes[axis].src.unsigned_abs(), layout.loaded[axis].into()));
    }
    for &axis in &layout.across_runs {
        dst.push((shape.axes[axis].dst.unsigned_abs(), shape.steps[axis].into()));
    }
    let mut left = IN_FLIGHT;
    for &axis in order {
        let (of, steps, pieces) = (shape.axes[axis], shape.steps[axis], u64::from(pieces(layout, axis)));
        let count = pieces.min(left);
        left = left.div_ceil(count);
        src.push((of.src.unsigned_abs() * u64::from(steps), count));
        dst.push((of.dst.unsigned_abs() * u64::from(steps), count));
    }
    let run_bytes = u64::from(layout.params.run * layout.problem.width);
    3 * touched(src, layout.params.span.into()) + 4 * touched(dst, run_bytes)
}

/// Pages that pieces of `extent` bytes touch which are repeated by (stride, times).
fn touched(mut loops: Axes<(u64, u64)>, mut extent: u64) -> u64 {
    loops.sort_unstable();
    let mut groups = 1_u64;
    for (stride, times) in loops {
        if stride <= extent.max(PAGE_BYTES) {
            extent += stride * (times - 1);
        } else {
            groups = groups.saturating_mul(times);
        }
    }
    groups.saturating_mul(extent.div_ceil(PAGE_BYTES))
}

/// The loop whose next tile continues the rows of this one, if rows are short enough for that to matter.
fn continuing(layout: &Layout<'_>) -> Option<usize> {
    let shape = layout.shape;
    let span = layout.params.span;
    if span >= LONG_ROW_BYTES {
        return None;
    }
    let ragged = !span.is_multiple_of(64);
    let odd = (0..shape.axes.len()).any(|axis| !shape.in_row(axis) && shape.axes[axis].src % 32 != 0);
    if layout.row_split.is_some() {
        return layout.row_split.filter(|_| ragged || odd);
    }
    let follows = |&axis: &usize| {
        let distance = shape.axes[axis].src.unsigned_abs();
        shape.steps[axis] == 1 && distance >= u64::from(span) && distance <= u64::from(span) * 5 / 4
    };
    (0..shape.axes.len()).filter(|_| ragged).find(follows)
}
