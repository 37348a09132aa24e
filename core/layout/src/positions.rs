//! Walks the positions of one axis, one by one or in chunks.

use std::iter::FusedIterator;

use super::{Layout, LayoutError, Split, axis::axis_index, integer::Integer};

impl Layout {
    /// Iterates over the layouts at the positions of an axis, each without that axis.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`].
    pub fn axis_iter(&self, axis: impl Integer) -> Result<AxisIter, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        let per_position = self.per_position(axis);
        Ok(AxisIter { whole: self.clone(), axis, per_position, next: 0, end: self.shape[axis] })
    }

    /// Cuts an axis into parts of `len` positions; the last may be shorter. It is
    /// [`split`](Self::split) along any axis. An axis of extent 0 gives no part.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::BadSection`]: `len` is 0.
    pub fn axis_chunks(&self, axis: impl Integer, len: usize) -> Result<Split, LayoutError> {
        Split::every(self, axis_index(axis, self.rank())?, len)
    }

    /// Like [`axis_chunks`](Self::axis_chunks), but drops the last part if it is shorter, so that
    /// all parts have one shape.
    ///
    /// # Errors
    ///
    /// The errors of [`axis_chunks`](Self::axis_chunks).
    pub fn axis_chunks_exact(&self, axis: impl Integer, len: usize) -> Result<Split, LayoutError> {
        let at = axis_index(axis, self.rank())?;
        let extent = self.shape()[at];
        let rest = extent.checked_rem(len).ok_or(LayoutError::BadSection { section: 0 })?;
        Split::every(&self.slice_axis(axis, ..extent - rest)?, at, len)
    }
}

/// The layout at each position of an axis. [`Layout::axis_iter`] makes it.
///
/// If the whole is injective, no two of these layouts share an element, and mutable views of all
/// may exist at once.
#[derive(Debug, Clone)]
pub struct AxisIter {
    whole: Layout,
    axis: usize,
    /// The number of elements at each position of the axis.
    per_position: usize,
    next: usize,
    end: usize,
}

impl AxisIter {
    fn at(&self, position: usize) -> Layout {
        let mut part = self.whole.select(self.axis, position, 1, 1, self.per_position);
        part.shape.remove(self.axis);
        part.strides.remove(self.axis);
        part.agreed()
    }
}

impl Iterator for AxisIter {
    type Item = Layout;

    fn next(&mut self) -> Option<Layout> {
        let position = (self.next < self.end).then_some(self.next)?;
        self.next += 1;
        Some(self.at(position))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl DoubleEndedIterator for AxisIter {
    fn next_back(&mut self) -> Option<Layout> {
        self.end = (self.next < self.end).then(|| self.end - 1)?;
        Some(self.at(self.end))
    }
}

impl ExactSizeIterator for AxisIter {}

impl FusedIterator for AxisIter {}
