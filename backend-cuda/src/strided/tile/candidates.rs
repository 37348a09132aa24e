//! Boxes of other proportions, for copies whose runs start anywhere.
//!
//! Instructions hold up such copies more than memory does, and the best proportions of a box depend
//! on the extents. So tiles are laid out for some targets more, and the cheapest is taken
//! (`cost.rs`).

use super::{
    Scale, boxes, cost, fused, lay_out,
    scale::{KIB, Size},
};
use crate::strided::{axes::Problem, launch::Launch};

/// Cheaper launches, per byte, wait for memory alone: about 0.8 of a contiguous copy's speed on an
/// H100.
const CHEAP: f64 = 0.5;
/// The cost is not exact: only a launch of less than this part of the usual one's is taken.
const CLEARLY: f64 = 0.92;

/// Target sizes of the other boxes. On random shapes, these six bring more than 80 % of the savings
/// that 588 sizes would.
const TARGETS: [Size; 6] = [
    Size { row_bytes: 48, run_bytes: 192, tile_bytes: 22 * KIB },
    Size { row_bytes: 48, run_bytes: 1024, tile_bytes: 16 * KIB },
    Size { row_bytes: 64, run_bytes: 1024, tile_bytes: 28 * KIB },
    Size { row_bytes: 64, run_bytes: 1024, tile_bytes: 8 * KIB },
    Size { row_bytes: 128, run_bytes: 384, tile_bytes: 22 * KIB },
    Size { row_bytes: 320, run_bytes: 64, tile_bytes: 12 * KIB },
];

/// The cheapest launch: the usual one, unless another is clearly cheaper.
pub(super) fn cheapest(problem: &Problem, scale: Scale, usual: Launch) -> Launch {
    let shifted = usual.kernel.entry.tile().is_some_and(|kernel| kernel.shifted);
    // Small results stay in the cache, which merges sectors.
    if !shifted || matches!(scale, Scale::Small | Scale::Middle) {
        return usual;
    }
    let Some(of_usual) =
        cost::of(&usual).filter(|&cost| cost >= CHEAP * f64::from(problem.elements() * problem.width))
    else {
        return usual;
    };
    let (mut best, mut least) = (usual, CLEARLY * of_usual);
    for size in TARGETS {
        let Some(shape) = boxes::aimed(problem, size) else { continue };
        let fused = fused::of_size(problem, &shape, size);
        for launch in fused.iter().chain([&shape]).filter_map(|shape| lay_out(shape, scale, 0)) {
            match cost::of(&launch) {
                Some(cost) if cost < least => (best, least) = (launch, cost),
                _ => {}
            }
        }
    }
    best
}
