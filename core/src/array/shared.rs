//! An array that nobody can write any more.

use super::{Array, ArrayView, Element, ErasedArray, transforms::answer_as_layout};
use crate::{backend::Device, layout::NdLayout};

/// A read-only handle on an array, cheap to clone and `'static`: for threads, tasks and exports that cannot borrow.
///
/// It is made by giving the array up ([`Array::into_shared`]), so nobody can write behind its back. The memory is freed,
/// in stream order, when the last clone is gone.
#[derive(Debug)]
pub struct SharedArray<T: Element, D: Device>(Array<T, D>);

impl<T: Element, D: Device> Array<T, D> {
    /// Gives up writing, for a handle that can be cloned. Does not copy.
    #[must_use]
    pub fn into_shared(self) -> SharedArray<T, D> {
        SharedArray(self)
    }
}

impl<T: Element, D: Device> SharedArray<T, D> {
    /// Borrows the whole array, to read.
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        self.0.view()
    }

    fn layout(&self) -> &crate::Layout {
        self.0.layout()
    }
}

impl<T: Element, D: Device> Clone for SharedArray<T, D> {
    fn clone(&self) -> Self {
        Self(Array::of_erased(ErasedArray::share(self.0.as_erased())))
    }
}

answer_as_layout!([T: Element, D: Device] SharedArray<T, D>);
