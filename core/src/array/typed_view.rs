//! A borrowed view of typed elements, to read.

use std::{fmt, marker::PhantomData};

use super::shape_methods::shape_methods;
use super::{
    Element, ErasedView,
    checks::check_count,
    download::zeroed,
    split::{Narrow, Parts},
    transforms::{answer_as_layout, view_broadcasts, view_splits, view_transforms},
};
use crate::{
    HostArray, LayoutError, Result,
    backend::Device,
    layout::{AxisList, Extents, IndexItem, Integer, Layout, NdLayout, Order, Slice},
    operations::Elements,
    stream::StreamHandle,
};

/// A view of elements of type `T` in device memory, to read. Cheap to clone; transforms give other
/// views of the same memory.
pub struct ArrayView<'a, T: Element, D: Device> {
    erased: ErasedView<'a, D>,
    of: PhantomData<&'a [T]>,
}

impl<'a, T: Element, D: Device> ArrayView<'a, T, D> {
    #[inline]
    pub(crate) fn new(erased: ErasedView<'a, D>) -> Self {
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
    pub fn as_erased(&self) -> &ErasedView<'a, D> {
        &self.erased
    }

    /// The view without its element type, by value.
    #[must_use]
    pub fn into_erased(self) -> ErasedView<'a, D> {
        self.erased
    }

    view_transforms!([&self] self => Self);
    view_splits!([&self] self => Self);
    view_broadcasts!(Self);

    /// Copies the elements to the host, in C order. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// Out of memory on the host, another context's stream, and any device error.
    #[doc(alias = "copy_to_host")]
    #[doc(alias = "get")]
    #[doc(alias = "asnumpy")]
    #[track_caller]
    pub fn to_vec(&self, stream: &StreamHandle<D>) -> Result<Vec<T>> {
        let mut data = zeroed(stream, self.layout().len())?;
        self.copy_to_slice(stream, &mut data)?;
        Ok(data)
    }

    /// Copies the elements to a slice, in C order. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: the slice does not
    ///   hold as many elements.
    /// - The errors of [`to_vec`](Self::to_vec). The slice may then be partly written.
    #[track_caller]
    pub fn copy_to_slice(&self, stream: &StreamHandle<D>, data: &mut [T]) -> Result<()> {
        check_count(self.layout().len(), data)?;
        self.copy_to_host(stream, data, &Layout::contiguous(self.layout().shape(), Order::C)?)
    }

    /// Copies the only element to the host. Blocks until it is there.
    ///
    /// ```
    /// use devarray::{Array, Context, math};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
    /// assert_eq!(math::dot(&stream, &x, &x)?.item(&stream)?, 14.0);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: there is not exactly
    ///   one element.
    /// - The errors of [`to_vec`](Self::to_vec).
    #[track_caller]
    pub fn item(&self, stream: &StreamHandle<D>) -> Result<T> {
        let found = self.layout().len();
        if found != 1 {
            return Err(LayoutError::LengthMismatch { expected: 1, found }.into());
        }
        let mut item = T::zeroed();
        self.copy_to_slice(stream, std::slice::from_mut(&mut item))?;
        Ok(item)
    }

    /// Copies the elements to the places of a slice that `host` names, and touches no others.
    /// Blocks until they are there.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`],
    ///   [`LayoutError::OutOfBounds`],
    ///   [`LayoutError::AliasedDestination`]: `host` has
    ///   another shape, reaches outside the slice, or names a place twice.
    /// - The errors of [`to_vec`](Self::to_vec). The slice may then be partly written.
    #[track_caller]
    pub fn copy_to_host(&self, stream: &StreamHandle<D>, data: &mut [T], host: &Layout) -> Result<()> {
        self.erased.copy_to_host(stream, bytemuck::cast_slice_mut(data), host)
    }

    /// Copies the elements to the host, with their shape. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// The errors of [`to_vec`](Self::to_vec).
    #[doc(alias = "copy_to_host")]
    #[doc(alias = "get")]
    #[doc(alias = "asnumpy")]
    #[track_caller]
    pub fn to_host(&self, stream: &StreamHandle<D>) -> Result<HostArray<T>> {
        HostArray::new(self.layout().shape(), self.to_vec(stream)?)
    }

    #[inline]
    pub(crate) fn elements(&self) -> Elements<'_, D> {
        self.erased.elements()
    }

    #[inline]
    pub(super) fn with_layout(&self, layout: Layout) -> Self {
        Self::new(self.erased.with_layout(layout))
    }
}

impl<T: Element, D: Device> Clone for ArrayView<'_, T, D> {
    fn clone(&self) -> Self {
        Self::new(self.erased.clone())
    }
}

answer_as_layout!(['a, T: Element, D: Device] ArrayView<'a, T, D>);

impl<T: Element, D: Device> Narrow for ArrayView<'_, T, D> {
    #[inline]
    fn narrow(&self, layout: Layout) -> Self {
        Self::new(self.erased.narrow(layout))
    }
}

impl<T: Element, D: Device> fmt::Debug for ArrayView<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::typed::<T, D>(f, "ArrayView", &self.elements())
    }
}
