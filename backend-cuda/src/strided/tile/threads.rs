//! The loads and stores of each thread of a block.

use super::{load_and_store::Tile, shape::group};
use crate::strided::{
    kernel::{Find, TileKernel},
    params::FastDiv,
    strided_launch::THREADS,
};

/// The most threads of a block; the kernels are compiled for this limit.
pub(in crate::strided) const MOST_THREADS: u32 = 512;

/// Divides the runs: as many neighbouring threads along a run as it has vectors, unless
/// `lanes_log2` gives their number (a logarithm).
pub(super) fn along_runs(tile: &mut Tile<'_>, lanes_log2: Option<u32>) {
    let (shape, width, scattered) = (tile.shape, tile.copy.width, tile.copy.is_scattered());
    let TileKernel { shifted, store_bytes, .. } = tile.kernel;
    let p = &mut tile.p;
    let chunks = match tile.run_split {
        _ if scattered => p.run,
        _ if p.share > 0 => p.share,
        Some(axis) if p.overlap > 0 && shifted && !shape.reaches_back => shape.steps[axis] * width / 16,
        _ => {
            let over = if shifted { p.start_mask + 1 - width } else { 0 };
            let back = if shape.reaches_back { p.overlap * p.run_inner } else { 0 };
            ((p.run - back) * width + over).div_ceil(store_bytes)
        }
    };
    // About as many threads as vectors, at most eight, which read from different banks
    // (`pitch.rs`). Twice as many if a vector takes few accesses, so that longer stores matter
    // more.
    let usual = match chunks {
        _ if scattered => 5,
        16.. if width >= 4 || store_bytes < 16 => 4,
        5.. => 3,
        3.. => 2,
        2 => 1,
        _ => 0,
    };
    p.run_chunks = chunks;
    p.lanes_log2 = lanes_log2.unwrap_or(tile.most_lanes_log2.min(usual));
    p.passes = chunks.div_ceil(1 << p.lanes_log2);
    p.store_groups = FastDiv::new(match tile.kernel.find {
        Find::Packed => p.stores / group(width),
        Find::Split(runs) => p.stores / runs,
        _ => p.stores,
    });
    // A run's part of a tile then begins at a sector.
    if (p.overlap > 0 || shape.fused.is_some()) && !shifted {
        p.columns = FastDiv::new(chunks);
    }
}

/// Chooses the number of threads of a block, so that each has the vectors that the scale asks for
/// and all have about the same work. Sets how many rows they load at once, if that can be whole
/// rows.
pub(super) fn of_block(tile: &mut Tile<'_>) -> u32 {
    let (p, kernel) = (&mut tile.p, &tile.kernel);
    if kernel.find == Find::Scatter {
        return THREADS;
    }
    let rounds = tile.scale.vectors(kernel.find, tile.copy.width == 1, kernel.shifted);
    let chunks = p.chunks.divisor;
    let columns = if p.columns.divisor > 0 { p.columns.divisor } else { p.passes << p.lanes_log2 };
    let work = (p.rows * chunks).max(columns * p.store_groups.divisor);
    let threads = work.div_ceil(rounds.max(work.div_ceil(MOST_THREADS))).next_multiple_of(32);
    if tile.across_rows.len() > 1 || p.pad_chunks.divisor > 0 {
        return threads;
    }
    // Rounded so that the threads load whole rows, if whole warps then load whole classes of rows:
    // at most a fifth fewer threads with more work each, or a quarter more with less.
    let unit = (1 << p.classes_log2).max(32 >> chunks.trailing_zeros().min(5));
    let step = (threads.div_ceil(chunks)).next_multiple_of(unit);
    let step = if step * chunks > MOST_THREADS { step - unit } else { step };
    if step * chunks * 5 < threads * 4 || step * chunks > threads * 5 / 4 {
        return threads;
    }
    p.row_step = step;
    step * chunks
}
