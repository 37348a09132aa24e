//! The positions of a block's elements, in runs of even steps.

use std::ops::Range;

use devarray_layout::{
    Axes, Layout,
    nest::{Nest, Strided, Strides},
};

/// The axes of a result, joined where all operands allow it, and the strides of every operand.
pub(super) struct Walk {
    axes: Nest<Strided>,
    offsets: Strides,
}

impl Walk {
    /// Makes a walk of layouts with one shape.
    pub(super) fn new(layouts: &[&Layout]) -> Self {
        let shape = layouts.first().map_or(&[][..], |layout| layout.shape());
        let strides = |axis: usize| layouts.iter().map(move |layout| layout.strides()[axis]).collect();
        let axes = shape.iter().enumerate();
        let mut axes: Nest<_> =
            axes.map(|(axis, &extent)| Strided { extent, strides: strides(axis) }).collect();
        axes.drop_units();
        axes.merge();
        if axes.is_empty() {
            axes.push(Strided { extent: 1, strides: layouts.iter().map(|_| 0).collect() });
        }
        Self { axes, offsets: layouts.iter().map(|layout| layout.offset().cast_signed()).collect() }
    }

    /// The elements of an operand at positions of the result in row-major order, as runs: the
    /// position of the first in elements, the stride, and which part of the range the run covers.
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
        let last = self.axes.len() - 1;
        let axis = |axis: usize| (self.axes[axis].extent, self.axes[axis].strides[operand]);
        let (inner, stride) = axis(last);
        // Only existing positions are asked for, so they do not overflow.
        let scaled = |at: usize, stride: isize| at.cast_signed().wrapping_mul(stride);
        let (mut row, mut within, mut done) = (range.start / inner, range.start % inner, 0);
        let mut indices: Axes<usize> = Axes::from_elem(0, last);
        let mut start = self.offsets[operand];
        for at in (0..last).rev() {
            let (extent, stride) = axis(at);
            indices[at] = row % extent;
            start = start.wrapping_add(scaled(indices[at], stride));
            row /= extent;
        }
        loop {
            let count = (inner - within).min(range.len() - done);
            run(start.wrapping_add(scaled(within, stride)), stride, done..done + count);
            done += count;
            if done >= range.len() {
                return;
            }
            within = 0;
            for outer in (0..last).rev() {
                let (extent, stride) = axis(outer);
                indices[outer] += 1;
                start = start.wrapping_add(stride);
                if indices[outer] < extent {
                    break;
                }
                start = start.wrapping_sub(scaled(extent, stride));
                indices[outer] = 0;
            }
        }
    }
}

/// The positions along an axis, for a range of positions in row-major order of a shape.
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
