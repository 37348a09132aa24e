//! A borrowed view of erased elements, to read.

use std::{fmt, sync::Arc};

use super::shape_methods::shape_methods;
use super::{
    checks::check_len,
    download::zeroed,
    split::{Narrow, Parts},
    transforms::{answer_as_layout, view_broadcasts, view_splits, view_transforms},
};
use crate::{
    Result,
    allocation::Allocation,
    backend::Device,
    layout::{AxisList, Extents, IndexItem, Integer, Layout, LayoutError, NdLayout, Order, Slice},
    operations::Elements,
    stream::StreamHandle,
};

/// A view of elements in device memory, to read. Cheap to clone; transforms give other views of the
/// same memory.
pub struct ErasedView<'a, D: Device> {
    allocation: &'a Arc<Allocation<D>>,
    layout: Layout,
    item_bytes: usize,
}

impl<'a, D: Device> ErasedView<'a, D> {
    #[inline]
    pub(crate) fn new(allocation: &'a Arc<Allocation<D>>, layout: Layout, item_bytes: usize) -> Self {
        Self { allocation, layout, item_bytes }
    }

    /// The layout of the elements.
    #[inline]
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    shape_methods!();

    /// Bytes of one element.
    #[doc(alias = "itemsize")]
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    view_transforms!([&self] self => Self);
    view_splits!([&self] self => Self);
    view_broadcasts!(Self);

    /// Copies the elements to the host, in C order. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// Out of memory on the host, another context's stream, and any device error.
    #[doc(alias = "tobytes")]
    #[track_caller]
    pub fn to_bytes(&self, stream: &StreamHandle<D>) -> Result<Vec<u8>> {
        let len_bytes = self.layout.len().checked_mul(self.item_bytes).ok_or(LayoutError::Overflow)?;
        let mut bytes = zeroed(stream, len_bytes)?;
        self.copy_to_bytes(stream, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies the elements to a slice, in C order. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: the slice does not hold the elements exactly.
    /// - The errors of [`to_bytes`](Self::to_bytes). The slice may then be partly written.
    #[track_caller]
    pub fn copy_to_bytes(&self, stream: &StreamHandle<D>, bytes: &mut [u8]) -> Result<()> {
        check_len(self.layout.len(), self.item_bytes, bytes.len())?;
        self.copy_to_host(stream, bytes, &Layout::contiguous(self.layout.shape(), Order::C)?)
    }

    /// Copies the elements to the places of a slice that `host` names, and touches no others.
    /// Blocks until they are there.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`], [`LayoutError::OutOfBounds`],
    ///   [`LayoutError::AliasedDestination`]: `host` has another shape, reaches outside `bytes`, or
    ///   names a place twice.
    /// - The errors of [`to_bytes`](Self::to_bytes). The slice may then be partly written.
    #[track_caller]
    pub fn copy_to_host(&self, stream: &StreamHandle<D>, bytes: &mut [u8], host: &Layout) -> Result<()> {
        stream.0.download(&self.elements(), bytes, host)
    }

    #[inline]
    pub(crate) fn elements(&self) -> Elements<'_, D> {
        Elements { allocation: self.allocation, layout: &self.layout, item_bytes: self.item_bytes }
    }

    #[inline]
    pub(super) fn with_layout(&self, layout: Layout) -> Self {
        Self { layout, ..*self }
    }

    /// Returns the same memory as elements of another size. The layout must reach only bytes that this
    /// view's layout reaches.
    pub(super) fn with_items(&self, layout: Layout, item_bytes: usize) -> Self {
        Self { layout, item_bytes, ..*self }
    }
}

impl<D: Device> Clone for ErasedView<'_, D> {
    fn clone(&self) -> Self {
        self.with_layout(self.layout.clone())
    }
}

answer_as_layout!(['a, D: Device] ErasedView<'a, D>);

impl<D: Device> Narrow for ErasedView<'_, D> {
    #[inline]
    fn narrow(&self, layout: Layout) -> Self {
        self.with_layout(layout)
    }
}

impl<D: Device> fmt::Debug for ErasedView<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::erased(f, "ErasedView", &self.elements())
    }
}
