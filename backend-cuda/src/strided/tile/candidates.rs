//! Boxes of other proportions, shorter runs, and other numbers of threads along a run, for copies
//! that wait for instructions more than for memory.
//!
//! The best choice depends on the extents. So tiles are also laid out in some other ways, and the
//! cheapest launch is taken (`cost.rs`).

use std::iter;

use super::{
    boxes, cost, fused,
    laid_out::{launch, placed},
    scale::{KIB, Scale, Size},
    shape::Shape,
};
use crate::strided::{
    kernel::{Find, TileKernel},
    strided_copy::StridedCopy,
    strided_launch::StridedLaunch,
};

/// The time for each byte that is the same for every box, in the unit of the cost.
const ALWAYS: f64 = 0.91;
/// A launch that costs less than this for each byte waits for memory alone.
const CHEAP: f64 = 0.2;
/// The cost is not exact: another launch is taken only if its time is below this part of the usual
/// one's.
const CLEARLY: f64 = 0.97;
/// Replaces `CLEARLY` for runs that end before their last axis: their vectors end there, too.
const FAR_CHEAPER: f64 = 0.92;

/// Target sizes of the other boxes.
const TARGETS: [Size; 5] = [
    Size { row_bytes: 48, run_bytes: 384, tile_bytes: 22 * KIB },
    Size { row_bytes: 64, run_bytes: 2048, tile_bytes: 28 * KIB },
    Size { row_bytes: 192, run_bytes: 384, tile_bytes: 36 * KIB },
    Size { row_bytes: 320, run_bytes: 64, tile_bytes: 8 * KIB },
    Size { row_bytes: 16 * KIB, run_bytes: 512, tile_bytes: 16 * KIB },
];
/// The number of neighbouring threads along a run, as logarithms.
const LANES_LOG2: [u32; 3] = [2, 3, 4];

/// The cheapest launch: the usual one, unless another is clearly cheaper.
pub(super) fn cheapest(copy: &StridedCopy, scale: Scale, usual: StridedLaunch) -> StridedLaunch {
    let hard = |kernel: TileKernel| kernel.shifted || kernel.find == Find::Table;
    let hard = usual.kernel.entry.tile().is_some_and(hard);
    let len_bytes = f64::from(copy.elements() * copy.width);
    // Choosing takes longer than a small copy.
    let of_usual = if hard && scale != Scale::Small { cost::below(f64::MAX, &usual) } else { None };
    let Some(of_usual) = of_usual.filter(|&cost| cost >= CHEAP * len_bytes) else { return usual };
    let always = ALWAYS * len_bytes;
    let (mut best, mut least) = (usual, CLEARLY * (always + of_usual) - always);
    let boxes: Vec<(Size, Shape)> =
        TARGETS.iter().filter_map(|&size| Some((size, boxes::choose(copy, size, 0)?))).collect();
    let others = boxes.iter().flat_map(|(size, shape)| {
        let fused = fused::of_size(copy, shape, *size);
        [shape.reaching_back(), fused, Some(shape.clone())].into_iter().flatten()
    });
    let shorter = boxes
        .iter()
        .flat_map(|(_, shape)| iter::successors(shape.with_shorter_runs(), Shape::with_shorter_runs));
    take_cheaper(others, scale, &mut best, &mut least);
    least = FAR_CHEAPER * (always + least) - always;
    take_cheaper(shorter, scale, &mut best, &mut least);
    best
}

/// Takes the cheapest launch of these boxes, if it costs less than `least`.
fn take_cheaper(
    shapes: impl Iterator<Item = Shape>,
    scale: Scale,
    best: &mut StridedLaunch,
    least: &mut f64,
) {
    for shape in shapes {
        let Some(tile) = placed(&shape, scale, 0) else { continue };
        for lanes_log2 in LANES_LOG2 {
            let Some(launch) = launch(tile.clone(), Some(lanes_log2)) else { continue };
            if let Some(cost) = cost::below(*least, &launch) {
                (*best, *least) = (launch, cost);
            }
        }
    }
}
