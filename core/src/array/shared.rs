//! An array that nobody can write any more.

use std::fmt;

use super::{
    Array, ArrayView, AsArrayView, Element, ErasedArray, Parts, Reshaped, ViewRef,
    shape_methods::shape_methods,
    transforms::{answer_as_layout, array_transforms, view_broadcasts, view_splits, view_transforms},
};
use crate::{
    HostArray, Result,
    backend::Device,
    layout::{AxisList, Extents, IndexItem, Integer, Layout, NdLayout, Order, Slice},
    stream::StreamHandle,
};

/// A read-only handle on an array, cheap to clone and `'static`: for threads, tasks and exports
/// that cannot borrow.
///
/// [`Array::into_shared`] takes the array itself, so nobody can write it any more. The memory is
/// freed, in stream order, when the last clone is gone.
pub struct SharedArray<T: Element, D: Device>(Array<T, D>);

impl<T: Element, D: Device> Array<T, D> {
    /// Gives up writing, in exchange for a handle that can be cloned. Does not copy.
    #[must_use]
    pub fn into_shared(self) -> SharedArray<T, D> {
        self.as_erased().allocation().share();
        SharedArray(self)
    }
}

impl<T: Element, D: Device> SharedArray<T, D> {
    pub(crate) fn as_array(&self) -> &Array<T, D> {
        &self.0
    }

    /// Borrows the whole array, to read.
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        self.0.view()
    }

    /// The layout of the elements.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.0.layout()
    }

    shape_methods!();
    array_transforms!(ArrayView<'_, T, D>, Array<T, D>);

    fn with_layout(&self, layout: Layout) -> ArrayView<'_, T, D> {
        self.0.with_layout(layout)
    }

    /// Copies the elements to the host, in C order. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::to_vec`].
    #[track_caller]
    pub fn to_vec(&self, stream: &StreamHandle<D>) -> Result<Vec<T>> {
        self.view().to_vec(stream)
    }

    /// Copies the elements to the host, with their shape. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::to_vec`].
    #[track_caller]
    pub fn to_host(&self, stream: &StreamHandle<D>) -> Result<HostArray<T>> {
        self.view().to_host(stream)
    }
}

impl<T: Element, D: Device> Clone for SharedArray<T, D> {
    fn clone(&self) -> Self {
        Self(Array::of_erased(ErasedArray::share(self.0.as_erased())))
    }
}

impl<T: Element, D: Device> AsArrayView<T, D> for SharedArray<T, D> {
    #[inline]
    fn as_array_view(&self) -> ViewRef<'_, '_, T, D> {
        self.view().into()
    }
}

answer_as_layout!([T: Element, D: Device] SharedArray<T, D>);

impl<T: Element, D: Device> fmt::Debug for SharedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::typed::<T, D>(f, "SharedArray", &self.view().elements())
    }
}
