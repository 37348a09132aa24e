//! The axes of operands, from the point of view of a kernel's threads.

use devarray::layout::nest::{Strided, Strides};

use super::operands::{MapOperands, axis};

/// Two axes, taken out of all axes: the inner axis, along which threads are neighbours, and another
/// one, which is either a short axis along which every thread goes, or the other axis of a tile.
pub(super) struct Axes {
    /// The operands over the remaining axes.
    pub(super) outer: MapOperands,
    pub(super) extent: u64,
    /// Distances in bytes along the inner axis, for each operand.
    pub(super) inner: Strides,
    /// 1 if there is no other axis.
    pub(super) other_extent: u64,
    pub(super) other: Strides,
}

impl Axes {
    /// Takes out only the innermost axis.
    pub(super) fn innermost(operands: &MapOperands) -> Self {
        let mut outer = operands.clone();
        let other = vec![0; outer.count()].into();
        let Strided { extent, strides: inner } = match outer.rank() {
            0 => axis(1, outer.kinds.iter().map(|kind| kind.len_bytes())),
            rank => outer.axes.remove(rank - 1),
        };
        Self { outer, extent: extent as u64, inner, other_extent: 1, other }
    }

    /// Takes out two axes, given by their numbers.
    pub(super) fn both(operands: &MapOperands, inner: usize, other: usize) -> Self {
        let mut outer = operands.clone();
        let of_other = outer.axes.remove(other);
        let of_inner = outer.axes.remove(if other < inner { inner - 1 } else { inner });
        let (extent, other_extent) = (of_inner.extent as u64, of_other.extent as u64);
        Self { outer, extent, inner: of_inner.strides, other_extent, other: of_other.strides }
    }

    /// Whether a distance does not fit 32 bits.
    pub(super) fn are_wide(&self) -> bool {
        let outer = self.outer.axes.iter().flat_map(|axis| &axis.strides);
        outer.chain(&self.inner).chain(&self.other).any(|&stride| i32::try_from(stride).is_err())
    }
}
