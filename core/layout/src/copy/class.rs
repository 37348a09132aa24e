//! The kinds of copies.

use super::{Axis, Limits, loops::Loops};

/// The kind of copy that a plan is, from the cheapest to the most general.
///
/// All numbers are in bytes and agree with the plan's axes. A class promises a form, not a speed: a
/// pitched copy of rows of one element is still [`Pitched`](Self::Pitched), and a backend whose
/// driver copies such rows slowly checks the width. An element here is one word of
/// [`width_bytes`](super::Plan::width_bytes), the widest that may be moved at once, whatever item
/// size the caller has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// There is nothing to move.
    Empty,
    /// One run: both sides contiguous.
    Linear,
    /// Rows at one pitch on each side; pitches are positive, at least the width, and inside the
    /// device's limits.
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
    /// Slices of rows; the distance between slices is a whole number of rows, at least the height,
    /// on each side.
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
    /// Single elements whose sides have different fastest axes: worth a tile in shared memory.
    ///
    /// The fastest axis of a side is the axis with the smallest absolute stride, which may be longer
    /// than one element.
    Transpose {
        /// Index into `axes` of the axis along which the destination is fastest: the last.
        dst_axis: usize,
        /// Index into `axes` of the axis along which the source is fastest.
        src_axis: usize,
    },
    /// Some axis repeats the source.
    Broadcast,
    /// Anything else: single elements under loops.
    Gather,
}

impl Class {
    /// The first class of the list above that holds for reduced loops.
    pub(super) fn of(loops: &Loops, limits: &Limits) -> Self {
        let run_bytes = loops.run_bytes;
        if run_bytes == 0 {
            return Self::Empty;
        }
        if loops.axes.is_empty() {
            return Self::Linear;
        }
        if loops.axes.iter().any(|axis| axis.src_stride_bytes == 0) {
            return Self::Broadcast;
        }
        if let Some(pitched) = pitched(loops, limits) {
            return pitched;
        }
        if run_bytes > loops.width_bytes() {
            return Self::Batched;
        }
        let dst_axis = loops.axes.len() - 1;
        let src_stride = |&at: &usize| loops.axes[at].src_stride_bytes.unsigned_abs();
        match (0..=dst_axis).rev().min_by_key(src_stride) {
            Some(src_axis) if src_axis != dst_axis => Self::Transpose { dst_axis, src_axis },
            _ => Self::Gather,
        }
    }
}

/// The loops as rows, or slices of rows, if they have that form and the device's limits allow it.
fn pitched(loops: &Loops, limits: &Limits) -> Option<Class> {
    let (slices, rows) = match *loops.axes.as_slice() {
        [rows] => (None, rows),
        [slices, rows] => (Some(slices), rows),
        _ => return None,
    };
    let width_bytes = loops.run_bytes;
    let height = rows.extent;
    let (dst_pitch_bytes, src_pitch_bytes) = positive_strides(&rows)?;
    let smaller = dst_pitch_bytes.min(src_pitch_bytes);
    let larger = dst_pitch_bytes.max(src_pitch_bytes);
    let fits = width_bytes <= limits.max_width_bytes
        && height <= limits.max_height
        && larger <= limits.max_pitch_bytes
        && width_bytes <= smaller;
    if !fits {
        return None;
    }
    let Some(slices) = slices else {
        return Some(Class::Pitched { width_bytes, height, dst_pitch_bytes, src_pitch_bytes });
    };
    let (dst_slice_bytes, src_slice_bytes) = positive_strides(&slices)?;
    let dst_slice_rows = whole_rows(dst_slice_bytes, dst_pitch_bytes, height)?;
    let src_slice_rows = whole_rows(src_slice_bytes, src_pitch_bytes, height)?;
    Some(Class::Pitched3 {
        width_bytes,
        height,
        depth: slices.extent,
        dst_pitch_bytes,
        src_pitch_bytes,
        dst_slice_rows,
        src_slice_rows,
    })
}

/// (destination, source) strides of an axis that runs forward on both sides.
fn positive_strides(axis: &Axis) -> Option<(usize, usize)> {
    let dst = usize::try_from(axis.dst_stride_bytes).ok()?;
    let src = usize::try_from(axis.src_stride_bytes).ok()?;
    Some((dst, src))
}

/// Rows from slice to slice, if that is a whole number and the slices do not interleave: no driver
/// takes interleaved slices.
fn whole_rows(slice_bytes: usize, pitch_bytes: usize, height: usize) -> Option<usize> {
    let rows = slice_bytes / pitch_bytes;
    (slice_bytes.is_multiple_of(pitch_bytes) && rows >= height).then_some(rows)
}
