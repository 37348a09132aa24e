//! Runs over two axes as if they were one.
//!
//! Where an axis of the destination ends within a memory sector, runs along it alone end there as
//! well, and another tile writes the rest of the sector: it is read from memory, merged, and
//! written twice. If the destination goes on without a gap along another axis, runs may go on too.
//! In the source that is a jump, once in a tile at most, from which rows lie elsewhere in their
//! sectors.

use devarray::Axes;

use super::{SECTOR_BYTES, Scale, boxes, can_overlap, place, scale::Size, shape::Shape};
use crate::strided::axes::Problem;

/// Rows that go on along the axis that is taken away, but are shorter without it, are mostly
/// sectors that two tiles read.
const LEAST_ROW_BYTES: u64 = 96;

/// The end of the first of two axes: after so many steps, the source goes on so many bytes further
/// than a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fused {
    pub(super) extent: u32,
    pub(super) src: i64,
}

impl Fused {
    /// How many bytes further than a step the rows after that lie in shared memory: as they do in
    /// their sectors.
    pub(super) fn x(self) -> u32 {
        u32::try_from(self.src.rem_euclid(SECTOR_BYTES.into())).unwrap_or(0)
    }
}

/// Tiles of two-byte elements that are no words. One of few rows would read a fifth of them for the
/// next tile only, with which it overlaps.
const LONGER: Size = Size { row_bytes: 192, run_bytes: 256, tile_bytes: 24 << 10 };

/// The same copy with the axis of its runs and the one that the destination goes on along taken as
/// one, and boxes for it, the best first; `without` is the box of the copy as it is.
pub(super) fn over_ends(problem: &Problem, without: &Shape, scale: Scale) -> Option<(Problem, Axes<Shape>)> {
    // Small results stay in the cache, which puts sectors together.
    if scale == Scale::Small || without.run[..] != [0] || without.runs_keep(SECTOR_BYTES.into()) {
        return None;
    }
    let width = problem.width;
    let (problem, fused, next) = as_one(problem)?;
    let of_size = |size| {
        let mut shape = boxes::choose(&problem, size, 0)?;
        shape.fused = Some(fused);
        // A tile goes over the end of the first axis once at most.
        let once = shape.steps[0] + SECTOR_BYTES / width <= fused.extent;
        let along = shape.run[..] == [0] && shape.is_cut(0) && !shape.in_row(0);
        let short = without.in_row(next) && shape.span_bytes(width) < LEAST_ROW_BYTES;
        let words = place::in_words(&problem, &shape);
        let fits = along && once && !short && (words || can_overlap(&problem, &shape));
        fits.then_some((words, shape))
    };
    let usual = of_size(scale.size(width));
    let elements = width == 2 && scale != Scale::Middle && usual.as_ref().is_none_or(|(words, _)| !words);
    let longer = elements.then(|| of_size(LONGER)).flatten();
    let shapes = longer.into_iter().chain(usual).map(|(_, shape)| shape).collect();
    Some((problem, shapes))
}

/// The axis of a run and the one that the destination goes on along as one axis, and which that
/// was.
fn as_one(problem: &Problem) -> Option<(Problem, Fused, usize)> {
    let first = problem.axes[0];
    if first.dst != problem.step() || first.src <= 0 {
        return None;
    }
    let length = first.dst.checked_mul(first.extent.into())?;
    let next = (1..problem.axes.len()).find(|&axis| problem.axes[axis].dst == length)?;
    let of = problem.axes[next];
    let mut axes = problem.axes.clone();
    axes[0].extent = first.extent.checked_mul(of.extent)?;
    axes.remove(next);
    let src = of.src.checked_sub(first.src.checked_mul(first.extent.into())?)?;
    let fused = Fused { extent: first.extent, src };
    Some((Problem { axes, ..problem.clone() }, fused, next))
}
