//! Tiles: the sides are fastest along different axes, so the data is transposed in shared memory.
//!
//! A tile is laid out in steps, and each step sets some fields; `kernels/DESIGN.md` lists them.

mod boxes;
mod candidates;
pub(super) mod cost;
mod ends;
mod fused;
mod order;
mod periodic;
mod pitch;
mod place;
mod rotate;
mod scale;
mod shape;
mod sides;
pub(super) mod threads;

pub(super) use self::scale::Scale;
use self::{fused::over_ends, shape::Shape, sides::Tile};
use super::{
    axes::Problem,
    kernel::{Find, Kernel, TileKernel},
    launch::{Launch, Params},
};

/// Shared memory that a block may use without permission from the driver, less what kernels declare
/// themselves.
const SHARED_BYTES: u32 = (48 << 10) - 128;
/// Bytes of a memory sector. Where tiles may overlap, runs start on a boundary of one.
pub(super) const SECTOR_BYTES: u32 = 32;

/// How often the box is halved if shared memory is too small or the table too long. After that,
/// single elements are copied.
const ATTEMPTS: u32 = 6;
/// From this attempt on, rows have no gaps, so that tables are short enough to repeat.
const WITHOUT_GAPS: u32 = 3;
/// With this many runs or more, a table is read entry by entry: few threads then share a run and
/// its part of the table.
const MANY_RUNS: u32 = 4;

/// The launch that copies tile by tile, if tiles fit the problem.
pub(super) fn select(problem: &Problem, scale: Scale) -> Option<Launch> {
    Some(candidates::cheapest(problem, scale, usual(problem, scale)?))
}

/// The one with boxes of about the scale's target sizes.
pub(super) fn usual(problem: &Problem, scale: Scale) -> Option<Launch> {
    if is_isolated(problem) {
        return None;
    }
    (0..ATTEMPTS).find_map(|shrink| {
        let shape = boxes::choose(problem, scale.size(problem.width), shrink)?;
        let better = if shrink == 0 { better(problem, &shape, scale) } else { None };
        better.or_else(|| lay_out(&shape, scale, shrink))
    })
}

/// A launch with tiles of all rows, or with a fused axis, if these split fewer runs or sectors than
/// the tiles `without`.
fn better(problem: &Problem, without: &Shape, scale: Scale) -> Option<Launch> {
    // Small results stay in the cache, which merges sectors.
    if scale == Scale::Small {
        return None;
    }
    let of_all_rows = periodic::boxes(problem, without, scale);
    let fused = over_ends(problem, without, scale);
    of_all_rows.chain(fused).find_map(|shape| lay_out(&shape, scale, 0))
}

/// Whether elements, or short pieces of a few of them, are isolated in the source: each in a memory
/// sector of its own, so that rows of a tile would be mostly gaps.
fn is_isolated(problem: &Problem) -> bool {
    let [inner, outer] = problem.axes[..] else { return false };
    let piece = inner.extent.saturating_mul(problem.width);
    let distance = outer.src.unsigned_abs();
    inner.src == problem.step() && inner.dst == inner.src && distance >= 64 && distance > 2 * u64::from(piece)
}

/// The launch for tiles of a shape, if its rows and tables fit.
fn lay_out(shape: &Shape, scale: Scale, shrink: u32) -> Option<Launch> {
    launch(placed(shape, scale, shrink)?, None)
}

/// Tiles of a shape whose rows have their place in shared memory.
fn placed(shape: &Shape, scale: Scale, shrink: u32) -> Option<Tile<'_>> {
    let mut tile = Tile::of(shape, scale)?;
    order::set(&mut tile)?;
    place::place(&mut tile)?;
    // A table as long as the box costs too much; a smaller box that repeats has a shorter one.
    let elements: u32 = shape.steps.iter().product();
    let tabulated = tile.kernel.find == Find::Table;
    let long = shrink >= WITHOUT_GAPS && tabulated && 4 * tile.p.period.divisor > elements;
    (!long).then_some(tile)
}

/// The launch for tiles, if they fit. `lanes_log2`: neighbouring threads along a run, if not the
/// usual number (a logarithm).
fn launch(mut tile: Tile<'_>, lanes_log2: Option<u32>) -> Option<Launch> {
    threads::along_runs(&mut tile, lanes_log2);
    let threads = threads::of_block(&mut tile);
    let shared_bytes = divide_memory(&mut tile)?;
    // Not for lines that two tiles share.
    let evict_last = tile.scale == Scale::Stream && tile.p.row_step > 0 && tile.whole_lines();
    let Tile { mut kernel, mut p, problem, .. } = tile;
    p.element_at = [0, 1, 2, 3, 4, 5, 6, 7].map(|times| p.element_x.wrapping_mul(times));
    let plain = [Find::Linear, Find::Packed].map(TileKernel::plain);
    kernel.evict_last = evict_last && plain.contains(&kernel);
    // The table of permuted rows is short, and all threads share it.
    let permuted = p.classes_log2 > 0 && p.run_in_classes == 0;
    let bytes = kernel.find == Find::Table && kernel.shifted && problem.width == 1;
    kernel.wide = bytes && (p.stores < MANY_RUNS || permuted);
    let entry = kernel.entry();
    debug_assert!(entry.is_some(), "a kernel for {kernel:?}");
    let kernel = Kernel::new(entry?, problem.width);
    Some(Launch { kernel, grid: p.tiles, threads, shared_bytes, params: Params::Tile(p) })
}

/// Divides shared memory: tables first, data last. Returns the bytes of all of it, if a block may
/// use as many.
fn divide_memory(tile: &mut Tile<'_>) -> Option<u32> {
    const ENTRY_BYTES: u32 = 16;
    let p = &mut tile.p;
    let rows = if p.row_axes > 1 { p.rows } else { 0 };
    let stores = if p.store_axes > 1 { p.stores } else { 0 };
    let tabulated = tile.kernel.find == Find::Table;
    let elements = if tabulated { p.period.divisor + 2 * tile.problem.vector() } else { 0 };
    p.store_table = rows * ENTRY_BYTES;
    p.run_table = p.store_table + stores.checked_mul(ENTRY_BYTES)?;
    p.data = (p.run_table + elements * 2 + tile.before).next_multiple_of(128);
    let bytes = p.data + tile.bytes;
    (bytes <= SHARED_BYTES).then_some(bytes)
}
