//! In which order tiles are worked on.
//!
//! What matters is what the blocks under way at one time touch: how much of a row of memory on each side, on how many
//! pages, and whether the tile that shares a sector with this one comes while that is still in the cache.

use devarray::Axes;

use super::{Layout, Scale};
use crate::strided::{
    axes::Axis,
    launch::LINE_BYTES,
    params::{MAX_OUTER, NO_AXIS},
};

/// Rows at least this long use their memory pages and sectors well by themselves.
const LONG_ROW_BYTES: u32 = 1024;
/// Memory whose addresses a large device translates without waiting, wherever they lie.
const TRANSLATED_BYTES: u64 = 224 << 20;
/// Runs, each on pages of its own, whose addresses it translates so, too.
const RUNS_TRANSLATED: u32 = 1024;
/// What one address translation is for.
const PAGE_BYTES: u64 = 2 << 20;
/// What surely stays in the cache of a large device for a while.
const CACHED_BYTES: u64 = 8 << 20;
/// Shorter pieces of runs are slower if the next one does not follow at once.
const LEAST_PIECE_BYTES: u64 = 256;
/// What memory is fetched in beyond a line, if told.
const AHEAD_BYTES: u32 = 256;
/// Rows that are no longer, and further apart than half a line, leave most of their lines unread.
const LONE_ROW_BYTES: u32 = LINE_BYTES;

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
    let alone = stand_alone(layout);
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
    p.ahead = match (ahead, alone) {
        (true, _) => AHEAD_BYTES,
        (_, true) => 0,
        _ => LINE_BYTES,
    };
    p.outer_axes = u32::try_from(order.len()).ok()?;
    p.tiles = tiles;
    debug_assert!(p.a_extent == 0 || p.a_outer != NO_AXIS, "a cut axis has a loop");
    (tiles < 1 << 31).then_some(())
}

/// Whether nobody reads what lies between rows, and that is a good part of their lines.
fn stand_alone(layout: &Layout<'_>) -> bool {
    let (shape, span) = (layout.shape, layout.params.span);
    let others = (0..shape.axes.len())
        .filter(|&axis| !shape.in_row(axis))
        .map(|axis| shape.axes[axis].src.unsigned_abs());
    let next = others.filter(|&stride| stride > 0).min();
    layout.row_split.is_none()
        && span <= LONE_ROW_BYTES
        && next.is_some_and(|next| next >= u64::from(span + LINE_BYTES / 2))
}

/// Tiles along an axis.
fn pieces(layout: &Layout<'_>, axis: usize) -> u32 {
    let skew = if layout.run_split == Some(axis) { layout.skew } else { 0 };
    (layout.shape.axes[axis].extent + skew).div_ceil(layout.shape.steps[axis])
}

/// The loops, fastest first. The next tile goes on along the destination's runs, so that what neighbouring blocks write is
/// close together; short source rows then go on along the source, so that sectors two tiles share are still
/// cached. It is the other way round if the source would come back to a row too late for that, and the destination not,
/// unless that spreads what is under way over too many pages; for runs that wrap; and where whole lines are moved and the source is the
/// narrower side.
fn order(layout: &Layout<'_>) -> Axes<usize> {
    let (run, row) = (layout.run_split, layout.row_split);
    let by_run = by_destination(layout, [run, continuing(layout)]);
    if let (Some(a), Some(b)) = (run, row)
        && a != b
    {
        let by_row = by_destination(layout, [row, run]);
        let late = |order: &[usize], axis| bytes_between(layout, order, axis) > CACHED_BYTES;
        let returns_late = late(&by_run, b) && !late(&by_row, a);
        if layout.shape.wrap.is_some() || (returns_late && !spread(layout, b, a)) {
            return by_row;
        }
        if by_run.get(1) == Some(&b) && narrow(layout, b, a) {
            return by_row;
        }
    }
    by_run
}

/// Whether what is under way, if tiles follow each other along rows, is spread over more pages than are found without waiting: rows
/// all over the source to runs all over the destination, or to very many. Less is lost by that than where tiles share lines of rows,
/// which come back too late otherwise (`NOTES.md`, version 12).
fn spread(layout: &Layout<'_>, row: usize, run: usize) -> bool {
    let (p, axes) = (&layout.params, &layout.shape.axes);
    let whole = p.at.src.is_multiple_of(LINE_BYTES.into()) && layout.shape.rows_keep(LINE_BYTES.into());
    let far = axes[run].src.unsigned_abs().saturating_mul(p.rows.into()) > PAGE_BYTES;
    whole && reach(layout) > TRANSLATED_BYTES && (far || axes[row].extent > RUNS_TRANSLATED)
}

/// Whether a source of whole lines has rows at most half as long as the destination's runs, but long. What is under way then
/// reaches from end to end of many rows, and over as long a piece of each run, not over all of a few runs and a tile of each row.
/// Faster memory was slower so (`NOTES.md`, version 8).
fn narrow(layout: &Layout<'_>, row: usize, run: usize) -> bool {
    let axes = &layout.shape.axes;
    let row_bytes = axes[row].src.unsigned_abs().saturating_mul(axes[row].extent.into());
    let run_bytes = axes[run].dst.unsigned_abs().saturating_mul(axes[run].extent.into());
    let piece = u64::from(layout.params.run) * u64::from(layout.problem.width);
    layout.scale == Scale::Stream
        && (LONG_ROW_BYTES.into()..=run_bytes / 2).contains(&row_bytes)
        && piece >= LEAST_PIECE_BYTES
        && layout.whole_lines()
        && layout.shape.runs_keep(LINE_BYTES.into())
}

/// The loops in the order of the destination, but for the first two.
fn by_destination(layout: &Layout<'_>, first: [Option<usize>; 2]) -> Axes<usize> {
    let shape = layout.shape;
    let mut order: Axes<usize> = (0..shape.axes.len()).filter(|&axis| shape.is_cut(axis)).collect();
    order.sort_by_key(|&axis| {
        let rank = first.iter().position(|&this| this == Some(axis)).unwrap_or(first.len());
        (rank, shape.axes[axis].dst.unsigned_abs())
    });
    order
}

/// Bytes from the first to the last element of the side that reaches further.
fn reach(layout: &Layout<'_>) -> u64 {
    let dst: u64 = layout
        .shape
        .axes
        .iter()
        .map(|axis| u64::from(axis.extent - 1).saturating_mul(axis.dst.unsigned_abs()))
        .sum();
    dst.max(layout.problem.src_end - layout.problem.src_begin)
}

/// Bytes read, and as many written, between a tile and the next one along an axis.
fn bytes_between(layout: &Layout<'_>, order: &[usize], axis: usize) -> u64 {
    let tile = u64::from(layout.params.rows) * u64::from(layout.params.span);
    let before = order.iter().take_while(|&&other| other != axis);
    before.map(|&other| u64::from(pieces(layout, other))).product::<u64>().saturating_mul(tile)
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
