//! Runs over two axes as if they were one.
//!
//! If an axis of the destination ends within a memory sector, runs along that axis alone end there
//! as well, and another tile writes the rest of the sector: it is read from memory, merged and
//! written twice. If another axis continues the destination without a gap, runs go on along it (a
//! fused axis). The source jumps there, at most once in a tile, and the rows after the jump have
//! another place in their sectors.

use devarray::Axes;

use super::{
    boxes,
    scale::{Scale, Size},
    shape::{Fused, Shape},
    sizes::SECTOR_BYTES,
};
use crate::strided::strided_copy::StridedCopy;

/// Rows shorter than this consist mostly of sectors that two tiles read. Rows become shorter if the
/// fused axis was part of them.
const LEAST_ROW_BYTES: u64 = 96;

/// The size of tiles of two-byte elements that are not packed. A fifth of a tile with fewer rows
/// would be read only for the overlap with the next tile.
const LONGER: Size = Size { row_bytes: 192, run_bytes: 256, tile_bytes: 24 << 10 };

/// Boxes of the same copy with a fused axis along the runs, the best first. `without` is the box
/// without a fused axis.
pub(super) fn over_ends(copy: &StridedCopy, without: &Shape, scale: Scale) -> Axes<Shape> {
    // The cache merges the sectors of small results.
    if scale == Scale::Small {
        return Axes::new();
    }
    let usual = of_size(copy, without, scale.size(copy.width));
    let packed = usual.as_ref().is_some_and(Shape::in_words);
    let longer = copy.width == 2 && scale != Scale::Middle && !packed;
    let longer = if longer { of_size(copy, without, LONGER) } else { None };
    longer.into_iter().chain(usual).collect()
}

/// The box of about this size with a fused axis, if runs of the box `without` end within sectors.
pub(super) fn of_size(copy: &StridedCopy, without: &Shape, size: Size) -> Option<Shape> {
    if without.run[..] != [0] || without.runs_keep(SECTOR_BYTES.into()) {
        return None;
    }
    let (fused_copy, fused, next) = as_one(copy)?;
    let mut shape = boxes::choose(&fused_copy, size, 0)?;
    shape.fused = Some(fused);
    // A tile crosses the end of the first axis at most once.
    let once = shape.steps[0] + SECTOR_BYTES / copy.width <= fused.extent;
    let long = !without.in_row(next) || shape.span_bytes() >= LEAST_ROW_BYTES;
    (once && long && shape.can_overlap()).then_some(shape)
}

/// The copy with the run's axis fused with the axis that continues it, and the number of the
/// latter.
fn as_one(copy: &StridedCopy) -> Option<(StridedCopy, Fused, usize)> {
    let first = copy.axes[0];
    if copy.is_scattered() || first.src <= 0 {
        return None;
    }
    let length = first.dst.checked_mul(first.extent.into())?;
    let next = (1..copy.axes.len()).find(|&axis| copy.axes[axis].dst == length)?;
    let of = copy.axes[next];
    let src = of.src.checked_sub(first.src.checked_mul(first.extent.into())?)?;
    let mut copy = copy.clone();
    copy.axes[0].extent = first.extent.checked_mul(of.extent)?;
    copy.axes.remove(next);
    Some((copy, Fused { extent: first.extent, src }, next))
}
