//! A copy, reduced to what a device needs to know.

use crate::{
    backend::Capabilities,
    layout::{Axes, Layout, LayoutError},
};

/// One loop of a copy: how often, and how far each side moves a step, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// Number of steps, at least 2.
    pub extent: usize,
    /// Bytes from one step to the next in the destination; may be negative, never 0.
    pub dst_stride_bytes: isize,
    /// Bytes from one step to the next in the source; may be negative; 0 repeats it.
    pub src_stride_bytes: isize,
}

/// A checked copy in canonical form: loops, outermost first, around contiguous runs.
///
/// Run number `(i0, i1, …)` copies [`run_bytes`](Self::run_bytes) bytes from
/// `src_offset_bytes + i0 * axes[0].src_stride_bytes + …` to the same sum of the destination. The bytes are those of
/// the layouts it was made from, no others. Axes are sorted by descending absolute destination stride.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    axes: Axes<Axis>,
    run_bytes: usize,
    width_bytes: usize,
    dst_offset_bytes: usize,
    src_offset_bytes: usize,
    len_bytes: usize,
    class: Class,
}

/// What kind of copy a plan is, from the cheapest to the most general.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// Nothing to move.
    Empty,
    /// One run: both sides contiguous.
    Linear,
    /// Rows at one pitch on each side; pitches are positive, at least the width, and inside the device's limits.
    Pitched {
        /// Bytes of one row.
        width_bytes: usize,
        /// Number of rows.
        height: usize,
        /// Bytes from row to row in the destination.
        dst_pitch_bytes: usize,
        /// Bytes from row to row in the source.
        src_pitch_bytes: usize,
    },
    /// Slices of rows; the distance between slices is a whole number of rows on each side.
    Pitched3 {
        /// Bytes of one row.
        width_bytes: usize,
        /// Number of rows of a slice.
        height: usize,
        /// Number of slices.
        depth: usize,
        /// Bytes from row to row in the destination.
        dst_pitch_bytes: usize,
        /// Bytes from row to row in the source.
        src_pitch_bytes: usize,
        /// Rows from slice to slice in the destination.
        dst_slice_rows: usize,
        /// Rows from slice to slice in the source.
        src_slice_rows: usize,
    },
    /// Runs of many elements under loops that no pitched copy expresses.
    Batched,
    /// Single elements whose fastest axis differs between the sides: worth a tile in shared memory.
    Transpose {
        /// Index into `axes` of the axis along which the destination is fastest.
        dst_axis: usize,
        /// Index into `axes` of the axis along which the source is fastest.
        src_axis: usize,
    },
    /// Some axis repeats the source.
    Broadcast,
    /// Anything else.
    Gather,
}

impl Plan {
    /// Plans the copy of every element of `src` to the same index of `dst`.
    ///
    /// # Errors
    ///
    /// To be written.
    pub fn new(
        _dst: &Layout,
        _src: &Layout,
        _item_bytes: usize,
        _capabilities: &Capabilities,
    ) -> Result<Self, LayoutError> {
        Err(LayoutError::Overflow)
    }

    /// Loops around the runs, outermost first; none for a linear or empty plan.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Bytes that are contiguous on both sides: one element, or a whole number of them.
    #[must_use]
    pub fn run_bytes(&self) -> usize {
        self.run_bytes
    }

    /// The widest of 1, 2, 4, 8 and 16 bytes that divides the run, both offsets and all strides.
    #[must_use]
    pub fn width_bytes(&self) -> usize {
        self.width_bytes
    }

    /// Where the first run starts in the destination, in bytes.
    #[must_use]
    pub fn dst_offset_bytes(&self) -> usize {
        self.dst_offset_bytes
    }

    /// Where the first run starts in the source, in bytes.
    #[must_use]
    pub fn src_offset_bytes(&self) -> usize {
        self.src_offset_bytes
    }

    /// Bytes copied in all.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// What kind of copy this is.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Every copy as contiguous pieces: (source offset, destination offset, length), in bytes.
    pub fn runs(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        std::iter::empty()
    }
}
