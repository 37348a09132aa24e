//! The axes of a problem, seen from the threads of a kernel.

use super::problem::Problem;

/// The inner axis, along which threads are neighbours, and another one, taken out of a problem: a
/// short axis that every thread goes along, or the other one of a tile.
pub(super) struct Axes {
    /// What is left of the problem.
    pub(super) outer: Problem,
    pub(super) extent: u64,
    /// Distances in bytes along the inner axis, for each operand.
    pub(super) inner: Vec<i64>,
    /// 1 if there is no other axis.
    pub(super) other_extent: u64,
    pub(super) other: Vec<i64>,
}

impl Axes {
    /// The innermost axis alone.
    pub(super) fn innermost(problem: &Problem) -> Self {
        let mut outer = problem.clone();
        let other = vec![0; outer.operands()];
        let (extent, inner) = match outer.rank() {
            0 => (1, outer.kinds.iter().map(|kind| kind.len_bytes()).collect()),
            rank => outer.remove(rank - 1),
        };
        Self { outer, extent, inner, other_extent: 1, other }
    }

    /// Two axes, by their numbers.
    pub(super) fn both(problem: &Problem, inner: usize, other: usize) -> Self {
        let mut outer = problem.clone();
        let (other_extent, other_strides) = outer.remove(other);
        let (extent, inner) = outer.remove(if other < inner { inner - 1 } else { inner });
        Self { outer, extent, inner, other_extent, other: other_strides }
    }

    /// Whether a distance does not fit 32 bits.
    pub(super) fn are_wide(&self) -> bool {
        let strides = self.outer.strides.iter().chain(&self.inner).chain(&self.other);
        strides.into_iter().any(|&stride| i32::try_from(stride).is_err())
    }
}
