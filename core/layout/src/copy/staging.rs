//! Splits a copy in two, with dense memory between the sides.

use std::{mem, ops::Range};

use super::{Axis, Blocks, Class, Limits, Plan, loops::Loops};
use crate::{Axes, clears};

/// Staging: between host and device, bytes pass through dense memory of a limited size.
impl Plan {
    /// Cuts this copy into copies of at most `max_bytes` bytes each, in the order of its runs.
    ///
    /// Each is a slab along the outermost axes, as large as fits, so that there are at most
    /// `1 + 3 * len_bytes / max_bytes` of them. A run longer than `max_bytes` is cut at multiples
    /// of [`width_bytes`](Self::width_bytes), which is also the smallest size: a smaller
    /// `max_bytes` counts as this width. Together they move the bytes of this plan. An empty plan
    /// has none.
    #[must_use]
    pub fn blocks(&self, max_bytes: usize) -> Blocks<'_> {
        Blocks::new(self, max_bytes)
    }

    /// The first half: from the source to dense memory at offset 0, in the order of this plan's
    /// runs.
    ///
    /// Followed by [`unpack`](Self::unpack), it has the effect of this plan. A repeated source is
    /// written repeatedly.
    #[must_use]
    pub fn pack(&self) -> Self {
        self.with_dense(|loops| loops.dst_offset_bytes = 0, |axis, stride| axis.dst_stride_bytes = stride)
    }

    /// Returns the same copy for a device with other limits.
    #[doc(hidden)]
    pub fn within(&self, limits: impl Into<Limits>) -> Self {
        Self::of(self.loops.clone(), limits.into())
    }

    /// The second half: from dense memory at offset 0, in the order of this plan's runs, to the
    /// destination.
    #[must_use]
    pub fn unpack(&self) -> Self {
        self.with_dense(|loops| loops.src_offset_bytes = 0, |axis, stride| axis.src_stride_bytes = stride)
    }

    /// This plan with one side dense. `start` sets where that side begins, and `stride` its stride
    /// along each axis.
    fn with_dense(&self, start: impl Fn(&mut Loops), stride: impl Fn(&mut Axis, isize)) -> Self {
        let mut loops = self.loops.clone();
        start(&mut loops);
        let mut step = loops.run_bytes;
        for axis in loops.axes.iter_mut().rev() {
            stride(axis, step.cast_signed());
            step *= axis.extent;
        }
        Self::of(loops, self.limits)
    }

    /// The copy in the other direction.
    ///
    /// `None` if the source may reach a byte twice, and so cannot be written. The answer depends
    /// only on the strides: a source with interleaved axes is refused even if it reaches no byte
    /// twice.
    #[doc(hidden)]
    #[must_use]
    pub fn reversed(&self) -> Option<Self> {
        let mut loops = self.loops.clone();
        mem::swap(&mut loops.src_offset_bytes, &mut loops.dst_offset_bytes);
        for axis in loops.axes.iter_mut() {
            mem::swap(&mut axis.src_stride_bytes, &mut axis.dst_stride_bytes);
        }
        let axes = loops.axes.iter().map(|axis| (axis.dst_stride_bytes.unsigned_abs(), axis.extent - 1));
        let mut steps: Axes<_> = axes.chain([(1, loops.run_bytes.saturating_sub(1))]).collect();
        steps.sort_unstable();
        clears(&steps).then(|| Self::of(loops, self.limits))
    }

    /// The bytes of the source, if they already are as [`pack`](Self::pack) would put them. Packing
    /// can then be skipped.
    ///
    /// `Some(0..0)` if the plan is empty.
    #[must_use]
    pub fn dense_src_range(&self) -> Option<Range<usize>> {
        matches!(self.pack().class(), Class::Linear | Class::Empty).then(|| self.src_span())
    }

    /// The bytes of the destination, if they are as [`unpack`](Self::unpack) expects them.
    /// Unpacking can then be skipped.
    ///
    /// `Some(0..0)` if the plan is empty.
    #[must_use]
    pub fn dense_dst_range(&self) -> Option<Range<usize>> {
        matches!(self.unpack().class(), Class::Linear | Class::Empty).then(|| self.dst_span())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    fn plan(dst: [isize; 3], src: [isize; 3]) -> Plan {
        let layout = |strides: [isize; 3]| Layout::new(&[4, 5, 6], &strides, 400).expect("few elements");
        Plan::new(&layout(dst), &layout(src), 2, Limits::default()).expect("a nested destination")
    }

    #[test]
    fn the_reverse_moves_the_same_bytes_back() {
        for src in [[30, 6, 1], [1, 4, 20], [-30, 6, 1], [1, 12, -61], [60, 12, 2]] {
            let there = plan([30, 6, 1], src);
            let back = there.reversed().expect("a nested source");
            let bytes = |plan: &Plan, swap: bool| {
                let each = |(src, dst, len)| {
                    (0..len).map(move |k| if swap { (dst + k, src + k) } else { (src + k, dst + k) })
                };
                let mut pairs: Vec<(usize, usize)> = plan.runs().flat_map(each).collect();
                pairs.sort_unstable();
                pairs
            };
            assert_eq!(bytes(&back, true), bytes(&there, false));
            assert_eq!(back.reversed(), Some(there));
        }
    }

    #[test]
    fn a_source_that_repeats_has_no_reverse() {
        for src in [[30, 6, 0], [0, 6, 1], [6, 6, 1], [1, 5, 2]] {
            assert_eq!(plan([30, 6, 1], src).reversed(), None, "{src:?}");
        }
    }
}
