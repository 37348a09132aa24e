//! Lays out a tile: from its shape to its launch, step by step.

use super::{
    load_and_store::Tile, order, row_placement, scale::Scale, shape::Shape, sizes::WITHOUT_GAPS, threads,
};
use crate::strided::{
    kernel::{Find, Kernel, TileKernel},
    strided_launch::{Params, StridedLaunch},
};

/// The shared memory that a block may use without permission from the driver, minus the memory that
/// kernels declare themselves.
const SHARED_BYTES: u32 = (48 << 10) - 128;
/// With at least this many runs, a table is read entry by entry: few threads then share a run and
/// its part of the table.
const MANY_RUNS: u32 = 4;

/// The launch for tiles of a shape, if their rows and tables fit.
pub(super) fn lay_out(shape: &Shape, scale: Scale, shrink: u32) -> Option<StridedLaunch> {
    launch(placed(shape, scale, shrink)?, None)
}

/// Tiles of a shape, with a place for each row in shared memory.
pub(super) fn placed(shape: &Shape, scale: Scale, shrink: u32) -> Option<Tile<'_>> {
    let mut tile = Tile::of(shape, scale)?;
    order::set(&mut tile)?;
    row_placement::place(&mut tile)?;
    // A table as long as the box costs too much; a smaller box that repeats has a shorter table.
    let elements: u32 = shape.steps.iter().product();
    let tabulated = tile.kernel.find == Find::Table;
    let long = shrink >= WITHOUT_GAPS && tabulated && 4 * tile.p.period.divisor > elements;
    (!long).then_some(tile)
}

/// The launch for tiles, if they fit. `lanes_log2`: the number of neighbouring threads along a run,
/// if not the usual number (a logarithm).
pub(super) fn launch(mut tile: Tile<'_>, lanes_log2: Option<u32>) -> Option<StridedLaunch> {
    threads::along_runs(&mut tile, lanes_log2);
    let threads = threads::of_block(&mut tile);
    let shared_bytes = divide_memory(&mut tile)?;
    // Lines that two tiles share are excluded.
    let evict_last = tile.scale == Scale::Stream && tile.p.row_step > 0 && tile.whole_lines();
    let Tile { mut kernel, mut p, copy, .. } = tile;
    p.element_at = [0, 1, 2, 3, 4, 5, 6, 7].map(|times| p.element_x.wrapping_mul(times));
    let plain = [Find::Linear, Find::Packed].map(TileKernel::plain);
    kernel.evict_last = evict_last && plain.contains(&kernel);
    // The table of permuted rows is short, and all threads share it.
    let permuted = p.classes_log2 > 0 && p.run_in_classes == 0;
    let bytes = kernel.find == Find::Table && kernel.shifted && copy.width == 1;
    kernel.wide = bytes && (p.stores < MANY_RUNS || permuted);
    let entry = kernel.entry();
    debug_assert!(entry.is_some(), "a kernel for {kernel:?}");
    let kernel = Kernel::new(entry?, copy.width);
    Some(StridedLaunch { kernel, grid: p.tiles, threads, shared_bytes, params: Params::Tile(p) })
}

/// Divides shared memory: tables first, data last. Returns the total in bytes, if a block may use
/// that much.
fn divide_memory(tile: &mut Tile<'_>) -> Option<u32> {
    const ENTRY_BYTES: u32 = 16;
    let p = &mut tile.p;
    let rows = if p.row_axes > 1 { p.rows } else { 0 };
    let stores = if p.store_axes > 1 { p.stores } else { 0 };
    let tabulated = tile.kernel.find == Find::Table;
    let elements = if tabulated { p.period.divisor + 2 * tile.copy.vector() } else { 0 };
    p.store_table = rows * ENTRY_BYTES;
    p.run_table = p.store_table + stores.checked_mul(ENTRY_BYTES)?;
    p.data = (p.run_table + elements * 2 + tile.before).next_multiple_of(128);
    let bytes = p.data + tile.bytes;
    (bytes <= SHARED_BYTES).then_some(bytes)
}
