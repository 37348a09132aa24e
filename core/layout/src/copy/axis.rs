//! One loop of a copy.

/// One loop of a copy: how often, and how far each side moves a step, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// Number of steps, at least 2.
    pub extent: usize,
    /// Bytes from one step to the next in the destination; positive in a plan.
    pub dst_stride_bytes: isize,
    /// Bytes from one step to the next in the source; may be negative; 0 repeats it.
    pub src_stride_bytes: isize,
}

impl Axis {
    /// Bytes from the first step to the last, (destination, source). Both are distances of
    /// positions, so they fit.
    pub(super) fn reach_bytes(&self) -> (isize, isize) {
        let last = (self.extent - 1).cast_signed();
        (last.saturating_mul(self.dst_stride_bytes), last.saturating_mul(self.src_stride_bytes))
    }

    /// The axis that takes `steps` steps at once; its strides may leave `isize` if that is all of
    /// them.
    pub(super) fn every(&self, steps: usize) -> Self {
        let steps = steps.cast_signed();
        Self {
            extent: self.extent,
            dst_stride_bytes: self.dst_stride_bytes.wrapping_mul(steps),
            src_stride_bytes: self.src_stride_bytes.wrapping_mul(steps),
        }
    }

    /// Extends this axis over the next inner one if it continues that on both sides.
    pub(super) fn merge(&mut self, inner: &Self) -> bool {
        let extent = inner.extent.cast_signed();
        let continues = inner.dst_stride_bytes.checked_mul(extent) == Some(self.dst_stride_bytes)
            && inner.src_stride_bytes.checked_mul(extent) == Some(self.src_stride_bytes);
        if continues {
            *self = Self { extent: self.extent * inner.extent, ..*inner };
        }
        continues
    }
}
