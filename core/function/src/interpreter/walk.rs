//! Where the elements of a block lie, in runs of even steps.

use std::ops::Range;

use devarray_layout::{Axes, Layout};

/// The axes of a result, joined where all operands allow it, with the strides of every operand.
pub(super) struct Walk {
    extents: Vec<usize>,
    operands: Vec<Operand>,
}

struct Operand {
    offset: isize,
    strides: Vec<isize>,
}

impl Walk {
    /// Of layouts of one shape.
    pub(super) fn new(layouts: &[&Layout]) -> Self {
        let shape = layouts.first().map_or(&[][..], |layout| layout.shape());
        let mut extents: Vec<usize> = Vec::new();
        let mut operands: Vec<Operand> = layouts
            .iter()
            .map(|layout| Operand { offset: layout.offset().cast_signed(), strides: Vec::new() })
            .collect();
        for (axis, &extent) in shape.iter().enumerate().filter(|&(_, &extent)| extent != 1) {
            let stride = |at: usize| layouts[at].strides()[axis];
            let steps = |at: usize| stride(at).checked_mul(extent.cast_signed());
            let joins = !extents.is_empty()
                && (0..layouts.len()).all(|at| operands[at].strides.last().copied() == steps(at));
            if joins {
                extents.last_mut().into_iter().for_each(|last| *last *= extent);
            } else {
                extents.push(extent);
            }
            for (at, operand) in operands.iter_mut().enumerate() {
                if joins {
                    operand.strides.pop();
                }
                operand.strides.push(stride(at));
            }
        }
        if extents.is_empty() {
            extents.push(1);
            operands.iter_mut().for_each(|operand| operand.strides.push(0));
        }
        Self { extents, operands }
    }

    /// The elements of an operand at positions of the result in row-major order: in runs of (the
    /// position of the first in elements, the stride, and which of the range they are).
    #[inline(always)]
    pub(super) fn runs(
        &self,
        operand: usize,
        range: Range<usize>,
        mut run: impl FnMut(isize, isize, Range<usize>),
    ) {
        if range.is_empty() {
            return;
        }
        let Operand { offset, ref strides } = self.operands[operand];
        let last = self.extents.len() - 1;
        let (inner, stride) = (self.extents[last], strides[last]);
        // Only existing positions are asked for, and they do not overflow.
        let scaled = |at: usize, stride: isize| at.cast_signed().wrapping_mul(stride);
        let (mut row, mut within, mut at) = (range.start / inner, range.start % inner, range.start);
        let mut indices: Axes<usize> = Axes::from_elem(0, last);
        let mut start = offset;
        for axis in (0..last).rev() {
            indices[axis] = row % self.extents[axis];
            start = start.wrapping_add(scaled(indices[axis], strides[axis]));
            row /= self.extents[axis];
        }
        loop {
            let count = (inner - within).min(range.end - at);
            let part = at - range.start..at - range.start + count;
            run(start.wrapping_add(scaled(within, stride)), stride, part);
            at += count;
            if at >= range.end {
                return;
            }
            within = 0;
            for axis in (0..last).rev() {
                indices[axis] += 1;
                start = start.wrapping_add(strides[axis]);
                if indices[axis] < self.extents[axis] {
                    break;
                }
                start = start.wrapping_sub(scaled(self.extents[axis], strides[axis]));
                indices[axis] = 0;
            }
        }
    }
}

/// The positions along an axis of a shape, for a range of positions in row-major order.
pub(super) fn positions(shape: &[usize], axis: usize, range: Range<usize>, out: &mut [u64]) {
    let inner: usize = shape[axis + 1..].iter().product();
    let (inner, extent) = (inner.max(1), shape[axis].max(1));
    let (mut position, mut left) = (range.start / inner % extent, inner - range.start % inner);
    for out in out {
        if left == 0 {
            (position, left) = (if position + 1 == extent { 0 } else { position + 1 }, inner);
        }
        *out = position as u64;
        left -= 1;
    }
}
