//! Tiles: the sides are fastest along different axes, so the data is transposed in shared memory.
//!
//! A tile is laid out in steps, and each step sets some fields; `kernels/DESIGN.md` lists them.

mod boxes;
mod candidates;
pub(super) mod cost;
mod fused;
mod laid_out;
mod load_and_store;
mod order;
mod periodic;
mod pitch;
mod rotate;
mod row_ends;
mod row_placement;
mod scale;
mod shape;
pub(super) mod sizes;
pub(super) mod threads;

pub(super) use self::scale::Scale;
use self::{fused::over_ends, laid_out::lay_out, shape::Shape};
use super::{strided_copy::StridedCopy, strided_launch::StridedLaunch};

/// The number of times that the box is halved if shared memory is too small or the table too long. After that,
/// single elements are copied.
const ATTEMPTS: u32 = 6;
/// The launch that copies tile by tile, if tiles fit the copy.
pub(super) fn select(copy: &StridedCopy, scale: Scale) -> Option<StridedLaunch> {
    Some(candidates::cheapest(copy, scale, usual(copy, scale)?))
}

/// The launch with boxes of about the scale's target sizes.
pub(super) fn usual(copy: &StridedCopy, scale: Scale) -> Option<StridedLaunch> {
    if is_isolated(copy) {
        return None;
    }
    (0..ATTEMPTS).find_map(|shrink| {
        let shape = boxes::choose(copy, scale.size(copy.width), shrink)?;
        let better = if shrink == 0 { better(copy, &shape, scale) } else { None };
        better.or_else(|| lay_out(&shape, scale, shrink))
    })
}

/// A launch with tiles of all rows, or with a fused axis, if it splits fewer runs or sectors than
/// tiles of the shape `without`.
fn better(copy: &StridedCopy, without: &Shape, scale: Scale) -> Option<StridedLaunch> {
    // Small results stay in the cache, which merges sectors.
    if scale == Scale::Small {
        return None;
    }
    let of_all_rows = periodic::boxes(copy, without, scale);
    let fused = over_ends(copy, without, scale);
    of_all_rows.chain(fused).find_map(|shape| lay_out(&shape, scale, 0))
}

/// Whether single elements, or short pieces of a few elements, are isolated in the source: each in
/// a memory sector of its own, so that rows of a tile would be mostly gaps.
fn is_isolated(copy: &StridedCopy) -> bool {
    let [inner, outer] = copy.axes[..] else { return false };
    let piece = inner.extent.saturating_mul(copy.width);
    let distance = outer.src.unsigned_abs();
    inner.src == copy.step() && inner.dst == inner.src && distance >= 64 && distance > 2 * u64::from(piece)
}
