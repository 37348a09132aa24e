//! Reductions to one element that comes to the host.

use super::{Array, ArrayView, Call};
use crate::{
    Result,
    backend::{Compute, Device},
    function::{Computable, Function, Reduction},
    stream::StreamHandle,
};

impl<T: Computable, D: Device> ArrayView<'_, T, D> {
    /// Reduces the elements to one and copies it to the host. Blocks until it is there.
    ///
    /// Gives what [`reduce`](Self::reduce) and then [`item`](Self::item) give. It is sooner there
    /// where the reduction itself can write the element to the host.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{ReduceOperation, Reduction}};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
    /// let largest: f32 = x.reduce_item(&stream, &Reduction::new(ReduceOperation::Maximum))?;
    /// assert_eq!(largest, 3.0);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LengthMismatch`](crate::LayoutError::LengthMismatch): there is not exactly one element.
    /// - The errors of [`reduce`](Self::reduce).
    #[track_caller]
    pub fn reduce_item<R: Computable>(&self, stream: &StreamHandle<D>, reduction: &Reduction) -> Result<R>
    where
        D: Compute,
    {
        Call::of(self).item(Function::of_elements(T::TYPE), stream, reduction)
    }
}

impl<T: Computable, D: Device> Array<T, D> {
    /// Reduces the elements to one and copies it to the host. Blocks until it is there.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::reduce_item`].
    #[track_caller]
    pub fn reduce_item<R: Computable>(&self, stream: &StreamHandle<D>, reduction: &Reduction) -> Result<R>
    where
        D: Compute,
    {
        self.view().reduce_item(stream, reduction)
    }
}
