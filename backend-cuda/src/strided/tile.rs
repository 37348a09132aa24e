//! Tiles: the sides are fastest along different axes, so the data is transposed in shared memory.
//!
//! A tile is laid out in steps, and each step sets some fields; `kernels/DESIGN.md` lists them.

mod boxes;
mod candidates;
pub(super) mod cost;
mod ends;
mod fused;
mod laid_out;
mod order;
mod periodic;
mod pitch;
mod place;
mod rotate;
mod scale;
mod shape;
mod sides;
pub(super) mod sizes;
pub(super) mod threads;

pub(super) use self::scale::Scale;
use self::{fused::over_ends, laid_out::lay_out, shape::Shape};
use super::{axes::Problem, launch::Launch};

/// How often the box is halved if shared memory is too small or the table too long. After that,
/// single elements are copied.
const ATTEMPTS: u32 = 6;
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
