//! Boxes of other proportions, and other numbers of threads along a run, for copies that wait for
//! instructions more than for memory.
//!
//! What is best for these depends on the extents. So tiles are laid out in some ways more, and the
//! cheapest is taken (`cost.rs`).

use super::{
    Scale, boxes, cost, fused, launch, placed,
    scale::{KIB, Size},
};
use crate::strided::{
    axes::Problem,
    kernel::{Find, TileKernel},
    launch::Launch,
};

/// Time of a byte that no box changes, in the unit of the cost.
const ALWAYS: f64 = 0.91;
/// Cheaper launches, per byte, wait for memory alone.
const CHEAP: f64 = 0.2;
/// The cost is not exact: only a launch of less than this part of the usual one's time is taken.
const CLEARLY: f64 = 0.97;

/// Target sizes of the other boxes.
const TARGETS: [Size; 5] = [
    Size { row_bytes: 48, run_bytes: 384, tile_bytes: 22 * KIB },
    Size { row_bytes: 64, run_bytes: 2048, tile_bytes: 28 * KIB },
    Size { row_bytes: 192, run_bytes: 384, tile_bytes: 36 * KIB },
    Size { row_bytes: 320, run_bytes: 64, tile_bytes: 8 * KIB },
    Size { row_bytes: 16 * KIB, run_bytes: 512, tile_bytes: 16 * KIB },
];
/// Neighbouring threads along a run, as logarithms.
const LANES_LOG2: [u32; 3] = [2, 3, 4];

/// The cheapest launch: the usual one, unless another is clearly cheaper.
pub(super) fn cheapest(problem: &Problem, scale: Scale, usual: Launch) -> Launch {
    let hard = |kernel: TileKernel| kernel.shifted || kernel.find == Find::Table;
    let hard = usual.kernel.entry.tile().is_some_and(hard);
    // Small results stay in the cache, which merges sectors.
    if !hard || matches!(scale, Scale::Small | Scale::Middle) {
        return usual;
    }
    let len_bytes = f64::from(problem.elements() * problem.width);
    let Some(of_usual) = cost::below(f64::MAX, &usual).filter(|&cost| cost >= CHEAP * len_bytes) else {
        return usual;
    };
    let always = ALWAYS * len_bytes;
    let (mut best, mut least) = (usual, CLEARLY * (always + of_usual) - always);
    for size in TARGETS {
        let Some(shape) = boxes::choose(problem, size, 0) else { continue };
        let fused = fused::of_size(problem, &shape, size);
        let reaching = shape.reaching_back();
        for tile in reaching.iter().chain(&fused).chain([&shape]).filter_map(|shape| placed(shape, scale, 0))
        {
            let launches =
                LANES_LOG2.into_iter().filter_map(|lanes_log2| launch(tile.clone(), Some(lanes_log2)));
            for launch in launches {
                if let Some(cost) = cost::below(least, &launch) {
                    (best, least) = (launch, cost);
                }
            }
        }
    }
    best
}
