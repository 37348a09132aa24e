//! In which order tiles are worked on.

use devarray::Axes;

use super::{
    Layout,
    params::{MAX_OUTER, NO_AXIS},
};
use crate::strided::axes::Axis;

/// Rows at least this long use their memory pages and sectors well by themselves.
const LONG_ROW_BYTES: u32 = 1024;

/// Fills in the loops around tiles: in the order of the destination, so that what neighbouring blocks write is close
/// together, but short source rows first go on along the source, so that sectors two tiles share are still cached.
pub(super) fn lower(layout: &mut Layout<'_>) -> Option<()> {
    let shape = layout.shape;
    let next = continuing(layout);
    let mut order: Axes<usize> = (0..shape.axes.len()).filter(|&axis| shape.is_cut(axis)).collect();
    order.sort_by_key(|&axis| {
        let rank = match Some(axis) {
            this if this == layout.run_split => 0,
            this if this == next => 1,
            _ => 2,
        };
        (rank, shape.axes[axis].dst.unsigned_abs())
    });
    if order.len() > MAX_OUTER {
        return None;
    }
    let p = &mut layout.params;
    let mut tiles = 1_u32;
    for (at, &axis) in order.iter().enumerate() {
        let (of, steps) = (shape.axes[axis], shape.steps[axis]);
        let skew = if layout.run_split == Some(axis) { layout.skew } else { 0 };
        let pieces = (of.extent + skew).div_ceil(steps);
        p.outer[at] = Axis::new(pieces, of.src * i64::from(steps), of.dst * i64::from(steps)).lowered();
        tiles = tiles.checked_mul(pieces)?;
        let number = u32::try_from(at).ok()?;
        if layout.row_split == Some(axis) {
            p.a_outer = number;
        }
        if layout.run_split == Some(axis) {
            p.b_outer = number;
        }
        if shape.batch == Some(axis) {
            p.c_outer = number;
        }
    }
    p.outer_axes = u32::try_from(order.len()).ok()?;
    p.tiles = tiles;
    debug_assert!(p.a_extent == 0 || p.a_outer != NO_AXIS, "a cut axis has a loop");
    (tiles < 1 << 31).then_some(())
}

/// The loop whose next tile continues the rows of this one, if rows are short enough for that to matter.
fn continuing(layout: &Layout<'_>) -> Option<usize> {
    let shape = layout.shape;
    let span = layout.params.span;
    if span >= LONG_ROW_BYTES {
        return None;
    }
    let ragged = !span.is_multiple_of(64);
    let odd = (0..shape.axes.len()).any(|axis| !shape.in_row(axis) && shape.axes[axis].src % 32 != 0);
    if layout.row_split.is_some() {
        return layout.row_split.filter(|_| ragged || odd);
    }
    let follows = |&axis: &usize| {
        let distance = shape.axes[axis].src.unsigned_abs();
        shape.steps[axis] == 1 && distance >= u64::from(span) && distance <= u64::from(span) * 5 / 4
    };
    (0..shape.axes.len()).filter(|_| ragged).find(follows)
}
