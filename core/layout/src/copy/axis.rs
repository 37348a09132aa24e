//! One loop of a copy.

use crate::nest::Loop;

/// One loop of a copy: its number of steps, and how far each side moves per step, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// Number of steps, at least 2.
    pub extent: usize,
    /// Bytes from one step to the next in the destination; positive in a plan.
    pub dst_stride_bytes: isize,
    /// Bytes from one step to the next in the source. It may be negative; 0 repeats the source.
    pub src_stride_bytes: isize,
}

/// Operand 0 is the destination, operand 1 the source.
impl Loop for Axis {
    #[inline]
    fn extent(&self) -> usize {
        self.extent
    }

    #[inline]
    fn strides(&self) -> impl AsRef<[isize]> {
        [self.dst_stride_bytes, self.src_stride_bytes]
    }

    #[inline]
    fn changed(&self, extent: usize, mut stride: impl FnMut(isize) -> isize) -> Self {
        Self {
            extent,
            dst_stride_bytes: stride(self.dst_stride_bytes),
            src_stride_bytes: stride(self.src_stride_bytes),
        }
    }
}
