//! A borrowed view of typed elements, to write.

use std::{fmt, marker::PhantomData};

use super::shape_methods::shape_methods;
use super::{
    ArrayView, AsArrayView, Element, ErasedViewMut, ViewRef,
    checks::check_count,
    split::{Narrow, Parts},
    transforms::{answer_as_layout, view_splits, view_transforms},
};
use crate::{
    HostArray, Result,
    backend::Device,
    layout::{AxisList, Extents, IndexItem, Integer, Layout, NdLayout, Order, Slice},
    operations::Elements,
    stream::StreamHandle,
};

/// An exclusive view of elements of type `T` in device memory, to write. Transforms consume it;
/// [`reborrow`](Self::reborrow) keeps it. It cannot be broadcast: no element is reached twice.
///
/// ```
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let (left, right) = (context.stream()?, context.stream()?);
/// let mut a = Array::zeros(&left, &[2, 4])?;
/// for (stream, (part, value)) in [&left, &right].into_iter().zip(a.view_mut().array_split(1, 2)?.zip([1, 2])) {
///     let mut part = part; // halves on two streams: disjoint, so neither waits for the other
///     part.fill(stream, value)?;
/// }
/// assert_eq!(a.to_vec(&left)?, [1, 1, 2, 2, 1, 1, 2, 2]);
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct ArrayViewMut<'a, T: Element, D: Device> {
    erased: ErasedViewMut<'a, D>,
    of: PhantomData<&'a mut [T]>,
}

impl<'a, T: Element, D: Device> ArrayViewMut<'a, T, D> {
    #[inline]
    pub(crate) fn new(erased: ErasedViewMut<'a, D>) -> Self {
        Self { erased, of: PhantomData }
    }

    /// The layout of the elements.
    #[inline]
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.erased.layout()
    }

    shape_methods!();

    /// Borrows the view without its element type.
    #[must_use]
    pub fn into_erased(self) -> ErasedViewMut<'a, D> {
        self.erased
    }

    pub(super) fn as_erased(&self) -> &ErasedViewMut<'a, D> {
        &self.erased
    }

    /// Returns the same view, borrowed for less long.
    #[must_use]
    pub fn reborrow(&mut self) -> ArrayViewMut<'_, T, D> {
        self.narrow(self.layout().clone())
    }

    /// Returns the same elements, to read, for as long as this view is borrowed.
    #[must_use]
    pub fn as_view(&self) -> ArrayView<'_, T, D> {
        ArrayView::new(self.erased.as_view())
    }

    view_transforms!([self] self => Self);
    view_splits!([self] self => Self);

    /// Copies elements of the same shape here. Does not synchronize. Bytes between the elements of
    /// this view are not touched.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the two differ in
    ///   shape.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): source, destination and stream
    ///   are not of one context.
    /// - Any device error; nothing was copied then.
    #[doc(alias = "copyto")]
    #[doc(alias = "copy_to_device")]
    #[doc(alias = "assign")]
    #[track_caller]
    pub fn copy_from(&mut self, stream: &StreamHandle<D>, src: &impl AsArrayView<T, D>) -> Result<()> {
        self.erased.copy_from(stream, src.as_array_view().as_erased())
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
        src: &impl AsArrayView<T, S>,
    ) -> Result<()> {
        self.erased.copy_across(stream, src_stream, src.as_array_view().as_erased())
    }

    /// Copies a slice, elements in C order, here. Does not synchronize: the slice is free on return
    /// (see [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`](crate::LayoutError::LengthMismatch): the slice does not
    ///   hold as many elements.
    /// - The errors of [`copy_from_host`](Self::copy_from_host).
    #[doc(alias = "copy_to_device")]
    #[doc(alias = "set")]
    #[track_caller]
    pub fn copy_from_slice(&mut self, stream: &StreamHandle<D>, data: &[T]) -> Result<()> {
        check_count(self.layout().len(), data)?;
        self.copy_from_host(stream, data, &Layout::contiguous(self.layout().shape(), Order::C)?)
    }

    /// Copies host elements here. `host` is their layout in the slice, and may repeat elements.
    /// Does not synchronize: the slice is free on return (see
    /// [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch),
    ///   [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds): `host` has another shape or
    ///   reaches outside.
    /// - Another context's stream, out of pinned memory, and any other device error: the
    ///   destination may then be partly written.
    #[track_caller]
    pub fn copy_from_host(&mut self, stream: &StreamHandle<D>, data: &[T], host: &Layout) -> Result<()> {
        self.erased.copy_from_host(stream, bytemuck::cast_slice(data), host)
    }

    /// Copies a host array of the same shape here. Does not synchronize: the host array is free on
    /// return (see [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// The errors of [`copy_from_host`](Self::copy_from_host).
    #[doc(alias = "copy_to_device")]
    #[doc(alias = "set")]
    #[track_caller]
    pub fn copy_from_host_array(&mut self, stream: &StreamHandle<D>, host: &HostArray<T>) -> Result<()> {
        self.copy_from_host(stream, host.as_slice(), host.layout())
    }

    /// Sets every element to `value`. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Another context's stream, and any device error.
    #[doc(alias = "memset")]
    #[track_caller]
    pub fn fill(&mut self, stream: &StreamHandle<D>, value: T) -> Result<()> {
        self.erased.fill_bytes(stream, bytemuck::bytes_of(&value))
    }

    #[inline]
    pub(crate) fn elements(&self) -> Elements<'_, D> {
        self.erased.elements()
    }

    #[inline]
    fn with_layout(self, layout: Layout) -> Self {
        Self::new(self.erased.with_layout(layout))
    }
}

impl<T: Element, D: Device> AsArrayView<T, D> for ArrayViewMut<'_, T, D> {
    #[inline]
    fn as_array_view(&self) -> ViewRef<'_, '_, T, D> {
        self.as_view().into()
    }
}

answer_as_layout!(['a, T: Element, D: Device] ArrayViewMut<'a, T, D>);

impl<T: Element, D: Device> Narrow for ArrayViewMut<'_, T, D> {
    #[inline]
    fn narrow(&self, layout: Layout) -> Self {
        Self::new(self.erased.narrow(layout))
    }
}

impl<T: Element, D: Device> fmt::Debug for ArrayViewMut<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::typed::<T, D>(f, "ArrayViewMut", &self.elements())
    }
}
