//! The order in which tiles are copied.
//!
//! The order decides which memory blocks access at the same time: how much of each memory row, how
//! many pages, and whether two tiles that share a sector access it while it is in the cache.

use devarray::Axes;

use super::load_and_store::Tile;
use crate::strided::{
    params::{Loop, MAX_OUTER, NO_AXIS},
    strided_copy::{Axis, StridedCopy},
    strided_launch::LINE_BYTES,
};

/// The memory that the address translation of a large device covers without waiting, in bytes.
const TRANSLATED_BYTES: u64 = 224 << 20;
/// The number of runs on different pages that it also covers.
const RUNS_TRANSLATED: u32 = 1024;
/// Bytes of a page of address translation.
const PAGE_BYTES: u64 = 2 << 20;
/// Bytes that stay in the cache of a large device for a while.
pub(super) const CACHED_BYTES: u64 = 8 << 20;
/// Rows of at most this length that are more than half a line apart use only a part of their lines.
const LONE_ROW_BYTES: u32 = LINE_BYTES;

/// Sets the loops around tiles, if a launch has room for them.
pub(super) fn set(tile: &mut Tile<'_>) -> Option<()> {
    let (shape, axes) = (tile.shape, order(tile));
    tile.p.outer_axes = u32::try_from(axes.len()).ok().filter(|_| axes.len() <= MAX_OUTER)?;
    tile.p.outer = [Loop::new(1, 0, 0); MAX_OUTER];
    tile.p.tiles = 1;
    for (k, &axis) in axes.iter().enumerate() {
        let (of, steps, pieces) = (shape.axis(axis), i64::from(shape.steps[axis]), pieces(tile, axis));
        tile.p.outer[k] = Loop::new(pieces, of.src * steps, of.dst * steps);
        tile.p.tiles = tile.p.tiles.checked_mul(pieces).filter(|&tiles| tiles < 1 << 31)?;
    }
    let number = |of| (0..).zip(&axes).find(|&(_, &axis)| Some(axis) == of).map_or(NO_AXIS, |(k, _)| k);
    tile.p.a_outer = number(tile.row_split);
    tile.p.b_outer = number(tile.run_split);
    tile.p.c_outer = number(shape.batch);
    tile.p.ahead = ahead(tile);
    Some(())
}

/// The bytes to prefetch with each chunk: none if the gaps between rows, which nobody reads, are a
/// large part of their lines.
fn ahead(tile: &Tile<'_>) -> u32 {
    let (shape, span) = (tile.shape, tile.p.span);
    let others = (0..shape.copy.axes.len()).filter(|&axis| !shape.in_row(axis));
    let next = others.map(|axis| shape.axis(axis).src.unsigned_abs()).filter(|&stride| stride > 0).min();
    let apart = next.is_some_and(|next| next >= u64::from(span + LINE_BYTES / 2));
    let lone = tile.row_split.is_none() && span <= LONE_ROW_BYTES && apart;
    if lone { 0 } else { LINE_BYTES }
}

/// The number of tiles along an axis.
fn pieces(tile: &Tile<'_>, axis: usize) -> u32 {
    // Tiles of whole sectors leave the end of a run to one more tile.
    let more = tile.run_split == Some(axis) && !tile.shape.reaches_back;
    let overlap = if more { tile.p.overlap } else { 0 };
    (tile.shape.axis(axis).extent + overlap).div_ceil(tile.shape.steps[axis])
}

/// The loops, fastest first. Usually the next tile continues the destination's runs, so that
/// neighbouring blocks write neighbouring memory. It continues the rows instead in two cases: with
/// a fused axis; or if otherwise the source would return to a row, or to the lines of a row, after
/// they have left the cache, while the destination would not, unless too many pages would be in
/// use.
fn order(tile: &Tile<'_>) -> Axes<usize> {
    let (run, fused) = (tile.run_split, tile.shape.fused.is_some());
    let row = if fused { tile.row_split } else { along_row(tile) };
    let by_run = by_destination(tile, [run, None]);
    if let (Some(a), Some(b)) = (run, row) {
        let by_row = by_destination(tile, [row, run]);
        let late = |order: &[usize], axis| bytes_between(tile, order, axis) > CACHED_BYTES;
        if fused || (late(&by_run, b) && !late(&by_row, a) && !exceeds_translation(tile, b, a)) {
            return by_row;
        }
    }
    by_run
}

/// The axis along which the next tile's rows continue this tile's rows, or share lines with them.
fn along_row(tile: &Tile<'_>) -> Option<usize> {
    let shape = tile.shape;
    let step = |axis: usize| shape.axis(axis).src.unsigned_abs().saturating_mul(shape.steps[axis].into());
    let near = |&axis: &usize| (1..u64::from(tile.p.span + LINE_BYTES)).contains(&step(axis));
    let cut = (0..shape.copy.axes.len()).filter(|&axis| shape.is_cut(axis));
    cut.filter(|&axis| tile.run_split != Some(axis)).filter(near).min_by_key(|&axis| step(axis))
}

/// Whether tiles that follow each other along rows would use more pages than address translation
/// covers. That costs less than accessing the shared lines of rows too late, so it counts only for
/// rows that begin with lines.
fn exceeds_translation(tile: &Tile<'_>, row: usize, run: usize) -> bool {
    let shape = tile.shape;
    let far = shape.axis(run).src.unsigned_abs().saturating_mul(tile.p.rows.into()) > PAGE_BYTES;
    tile.begins_lines()
        && reach(tile.copy) > TRANSLATED_BYTES
        && (far || shape.axis(row).extent > RUNS_TRANSLATED)
}

/// The loops in the order of the destination, with `first` in front.
fn by_destination(tile: &Tile<'_>, first: [Option<usize>; 2]) -> Axes<usize> {
    let shape = tile.shape;
    let mut order: Axes<usize> = (0..shape.copy.axes.len()).filter(|&axis| shape.is_cut(axis)).collect();
    order.sort_by_key(|&axis| {
        let rank = first.iter().position(|&this| this == Some(axis)).unwrap_or(first.len());
        (rank, shape.axis(axis).dst.unsigned_abs())
    });
    order
}

/// Bytes from the first to the last element, on the side where that is more.
fn reach(copy: &StridedCopy) -> u64 {
    let along = |axis: &Axis| u64::from(axis.extent - 1).saturating_mul(axis.dst.unsigned_abs());
    let dst: u64 = copy.axes.iter().map(along).sum();
    dst.max(copy.at.src_end - copy.at.src_begin)
}

/// The bytes that are read, and equally written, between a tile and the next one along an axis.
fn bytes_between(tile: &Tile<'_>, order: &[usize], axis: usize) -> u64 {
    let bytes = u64::from(tile.p.rows) * u64::from(tile.p.span);
    let before = order.iter().take_while(|&&other| other != axis);
    before.map(|&other| u64::from(pieces(tile, other))).product::<u64>().saturating_mul(bytes)
}
