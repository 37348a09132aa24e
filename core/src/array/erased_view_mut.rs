//! A borrowed view of erased elements, to write.

use std::{fmt, marker::PhantomData, sync::Arc};

use super::shape_methods::shape_methods;
use super::{
    ErasedView,
    checks::check_len,
    split::{Narrow, Parts},
    transforms::{answer_as_layout, view_splits, view_transforms},
};
use crate::{
    Result,
    allocation::Allocation,
    backend::Device,
    layout::{AxisList, Extents, IndexItem, Integer, Layout, LayoutError, NdLayout, Order, Slice},
    operations::Elements,
    stream::StreamHandle,
};

/// An exclusive view of elements in device memory, to write. Transforms consume it;
/// [`reborrow`](Self::reborrow) keeps it. It cannot be broadcast: no element is reached twice.
///
/// The lifetime carries the exclusivity, not a reference to the elements, so disjoint parts can
/// live together.
pub struct ErasedViewMut<'a, D: Device> {
    allocation: &'a Arc<Allocation<D>>,
    layout: Layout,
    item_bytes: usize,
    exclusive: PhantomData<&'a mut [u8]>,
}

impl<'a, D: Device> ErasedViewMut<'a, D> {
    #[inline]
    pub(crate) fn new(allocation: &'a Arc<Allocation<D>>, layout: Layout, item_bytes: usize) -> Self {
        Self { allocation, layout, item_bytes, exclusive: PhantomData }
    }

    /// The layout of the elements.
    #[inline]
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    shape_methods!();

    /// Bytes of one element.
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    /// Returns the same view, borrowed for less long.
    #[must_use]
    pub fn reborrow(&mut self) -> ErasedViewMut<'_, D> {
        self.narrow(self.layout().clone())
    }

    /// Returns the same elements, to read, for as long as this view is borrowed.
    #[must_use]
    pub fn as_view(&self) -> ErasedView<'_, D> {
        ErasedView::new(self.allocation, self.layout.clone(), self.item_bytes)
    }

    view_transforms!([self] self => Self);
    view_splits!([self] self => Self);

    /// Copies elements of the same shape and size here. Does not synchronize. Bytes between the
    /// elements of this view are not touched.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`], [`LayoutError::ElementSize`]: the two differ in shape or
    ///   element size.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): source, destination and stream
    ///   are not of one context.
    /// - Any device error; nothing was copied then.
    #[track_caller]
    pub fn copy_from(&mut self, stream: &StreamHandle<D>, src: &ErasedView<'_, D>) -> Result<()> {
        if src.item_bytes() != self.item_bytes {
            let reason = "source and destination differ in element size";
            return Err(LayoutError::ElementSize { item_bytes: src.item_bytes(), reason }.into());
        }
        stream.0.copy(&self.elements(), &src.elements())
    }

    /// Copies elements of another context here, of another device or even of another backend:
    /// `stream` writes, `src_stream` reads. The copy goes through host memory and blocks until the
    /// source was read.
    ///
    /// # Errors
    ///
    /// - The errors of [`copy_from`](Self::copy_from), each stream belonging to its side's context.
    /// - Any error of either device: the destination may then be partly written.
    #[track_caller]
    pub fn copy_across<S: Device>(
        &mut self,
        stream: &StreamHandle<D>,
        src_stream: &StreamHandle<S>,
        src: &ErasedView<'_, S>,
    ) -> Result<()> {
        stream.0.copy_across(&self.elements(), &src_stream.0, &src.elements())
    }

    /// Copies host elements, in C order, here. Does not synchronize: the slice is free on return
    /// (see [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: the slice does not hold the elements exactly.
    /// - The errors of [`copy_from_host`](Self::copy_from_host).
    #[track_caller]
    pub fn copy_from_bytes(&mut self, stream: &StreamHandle<D>, bytes: &[u8]) -> Result<()> {
        check_len(self.layout.len(), self.item_bytes, bytes.len())?;
        self.copy_from_host(stream, bytes, &Layout::contiguous(self.layout.shape(), Order::C)?)
    }

    /// Copies host elements here. `host` is their layout in the slice, and may repeat elements.
    /// Does not synchronize: the slice is free on return (see
    /// [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`], [`LayoutError::OutOfBounds`]: `host` has another shape or
    ///   reaches outside.
    /// - Another context's stream, out of pinned memory, and any other device error: the
    ///   destination may then be partly written.
    #[track_caller]
    pub fn copy_from_host(&mut self, stream: &StreamHandle<D>, bytes: &[u8], host: &Layout) -> Result<()> {
        stream.0.upload(&self.elements(), bytes, host)
    }

    /// Sets every element to one value, given by its bytes. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`]: `item` is not as long as an element.
    /// - Another context's stream, and any device error.
    #[track_caller]
    pub fn fill_bytes(&mut self, stream: &StreamHandle<D>, item: &[u8]) -> Result<()> {
        if item.len() != self.item_bytes {
            let reason = "a fill needs one element";
            return Err(LayoutError::ElementSize { item_bytes: item.len(), reason }.into());
        }
        stream.0.fill(&self.elements(), item)
    }

    #[inline]
    pub(crate) fn elements(&self) -> Elements<'_, D> {
        Elements { allocation: self.allocation, layout: &self.layout, item_bytes: self.item_bytes }
    }

    /// Narrows the view to a layout, which a transform made from this view's layout.
    #[inline]
    pub(super) fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// Makes a handle on part of the bytes, as elements of another size. No two handles that live
    /// together may share a byte.
    pub(super) fn part(&self, layout: Layout, item_bytes: usize) -> Self {
        Self { layout, item_bytes, ..*self }
    }
}

answer_as_layout!(['a, D: Device] ErasedViewMut<'a, D>);

impl<D: Device> Narrow for ErasedViewMut<'_, D> {
    #[inline]
    fn narrow(&self, layout: Layout) -> Self {
        Self { layout, ..*self }
    }
}

impl<D: Device> fmt::Debug for ErasedViewMut<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::erased(f, "ErasedViewMut", &self.elements())
    }
}
