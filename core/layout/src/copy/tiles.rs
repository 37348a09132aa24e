//! A transpose in a cache-friendly order.

use super::{Axis, loops::Loops};
use crate::nest::Loop;

/// Steps along each side of a tile. 16 is the fastest of 8, 16, 32 and 64 for most widths on x86-64.
/// With 32 rows whose distance is a power of two, the lines no longer fit the sets of a first-level
/// cache.
const TILE: usize = 16;

/// The runs of `loops` in another order: square tiles over two of its axes. A cache line that one
/// side reaches at its long stride is used completely before it is evicted.
///
/// There are up to four loop nests, because an axis consists of whole tiles and a rest. Each run is
/// in one of them, once.
pub(super) fn tiled(loops: &Loops, dst_axis: usize, src_axis: usize) -> impl Iterator<Item = Loops> {
    let (rows, columns) = (loops.axes[src_axis], loops.axes[dst_axis]);
    let corners = sections(rows).flat_map(move |rows| sections(columns).map(move |columns| [rows, columns]));
    corners.map(move |corner| {
        let mut part = loops.clone();
        part.axes.remove(dst_axis.max(src_axis));
        part.axes.remove(dst_axis.min(src_axis));
        part.axes.extend(corner.map(|section| section.tiles));
        part.axes.extend(corner.map(|section| section.within));
        for Section { dst_start_bytes, src_start_bytes, .. } in corner {
            part.dst_offset_bytes = part.dst_offset_bytes.wrapping_add_signed(dst_start_bytes);
            part.src_offset_bytes = part.src_offset_bytes.wrapping_add_signed(src_start_bytes);
        }
        part
    })
}

/// Part of an axis as tiles of one size.
#[derive(Debug, Clone, Copy)]
struct Section {
    dst_start_bytes: isize,
    src_start_bytes: isize,
    /// Steps from tile to tile.
    tiles: Axis,
    /// Steps inside a tile.
    within: Axis,
}

/// The whole tiles of an axis, and the rest. Either may be missing.
fn sections(axis: Axis) -> impl Iterator<Item = Section> {
    let whole = axis.extent - axis.extent % TILE;
    let section = move |start: usize, tiles: usize, steps: usize| {
        let far = axis.every(start);
        Section {
            dst_start_bytes: far.dst_stride_bytes,
            src_start_bytes: far.src_stride_bytes,
            tiles: Axis { extent: tiles, ..axis.every(steps) },
            within: Axis { extent: steps, ..axis },
        }
    };
    let parts = [section(0, whole / TILE, TILE), section(whole, 1, axis.extent - whole)];
    parts.into_iter().filter(|part| part.tiles.extent > 0 && part.within.extent > 0)
}
