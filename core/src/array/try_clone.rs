//! A second array with the same elements.

use super::{Array, Element, ErasedArray};
use crate::{Result, backend::Device, layout::Order, stream::StreamHandle};

impl<T: Element, D: Device> Array<T, D> {
    /// Allocates a dense array and copies the elements to it. Its axes have the same order in
    /// memory ([`Order::K`]). Does not synchronize.
    ///
    /// It is not [`Clone`]: it needs memory on the device, which may run out, and a stream to copy
    /// on.
    ///
    /// ```
    /// use devarray::{Array, Context, Order};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?.view().to_contiguous(&stream, Order::F)?;
    /// let b = a.try_clone(&stream)?;
    /// assert_eq!(b.layout(), a.layout());
    /// assert_eq!(b.to_vec(&stream)?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Out of memory, another context's stream, and any other device error.
    #[doc(alias = "copy")]
    #[doc(alias = "clone")]
    #[track_caller]
    pub fn try_clone(&self, stream: &StreamHandle<D>) -> Result<Self> {
        self.view().to_contiguous(stream, Order::K)
    }
}

impl<D: Device> ErasedArray<D> {
    /// Like [`Array::try_clone`].
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn try_clone(&self, stream: &StreamHandle<D>) -> Result<Self> {
        self.view().to_contiguous(stream, Order::K)
    }
}
