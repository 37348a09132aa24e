//! Addresses of elements, for other code.

use crate::{
    ArrayView, ArrayViewMut,
    array::{Element, ErasedView, ErasedViewMut},
    backend::Device,
    operations::Elements,
};

impl<D: Device> Elements<'_, D> {
    fn address(&self) -> u64 {
        if self.layout.is_empty() {
            return 0;
        }
        // The element lies inside the allocation, so the product does not overflow.
        self.allocation.address() + (self.layout.offset() * self.item_bytes) as u64
    }
}

/// The methods that all views have.
macro_rules! addresses {
    () => {
        /// The device address of element `[0, …, 0]`; 0 if there are no elements. Not a host
        /// pointer.
        ///
        /// With negative strides it is not the lowest address. Work of other code there must be
        /// declared by [`foreign_work`](crate::StreamHandle::foreign_work).
        #[must_use]
        #[doc(alias = "gpudata")]
        #[doc(alias = "data_ptr")]
        pub fn address(&self) -> u64 {
            self.elements().address()
        }
    };
}

impl<D: Device> ErasedView<'_, D> {
    addresses!();

    /// The backend's buffer that holds the elements. It is `None` if the buffer has no bytes, and
    /// in a [recording](crate::recorded).
    #[must_use]
    pub fn buffer(&self) -> Option<&D::Buffer> {
        self.elements().allocation.any_buffer()
    }
}

impl<D: Device> ErasedViewMut<'_, D> {
    addresses!();
}

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    addresses!();

    /// The backend's buffer that holds the elements. It is `None` if the buffer has no bytes, and
    /// in a [recording](crate::recorded). Positions of the layout count from its start.
    #[must_use]
    pub fn buffer(&self) -> Option<&D::Buffer> {
        self.as_erased().buffer()
    }
}

impl<T: Element, D: Device> ArrayViewMut<'_, T, D> {
    addresses!();
}
