//! Calls on an array that write all of its elements: they call the writing view's methods.

use super::{Array, ArrayView, AsArrayView, Element, ErasedArray, ErasedView, Operands};
use crate::{
    Crossing, HostArray, PinnedBuffer, Result, Transfer, TransferError,
    backend::{Compute, Device, PeerAccess},
    function::{Computable, Expression},
    gather::{Index, OutOfRange, Repeats},
    layout::{IndexItem, Integer, Layout},
    stream::StreamHandle,
};

/// Emits methods that are called on a view of all elements.
macro_rules! of_all {
    ($view:ident: $($(#[$doc:meta])* fn $name:ident [$($generics:tt)*] ($($argument:ident: $type:ty),*) -> $result:ty $(where [$($bound:tt)*])?;)*) => {$(
        #[doc = concat!("[`", stringify!($view), "::", stringify!($name), "`](super::", stringify!($view), "::", stringify!($name), ") of the whole array.")]
        ///
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// See there.
        #[track_caller]
        pub fn $name<$($generics)*>(&mut self, stream: &StreamHandle<D>, $($argument: $type),*) -> $result
        $(where $($bound)*)?
        {
            self.view_mut().$name(stream, $($argument),*)
        }
    )*};
}

impl<T: Element, D: Device> Array<T, D> {
    of_all! { ArrayViewMut:
        /// Does not synchronize.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
        /// let mut x = Array::uninit(&stream, &[2])?;
        /// x.fill(&stream, 7)?;
        /// assert_eq!(x.to_vec(&stream)?, [7, 7]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        #[doc(alias = "memset")]
        fn fill[](value: T) -> Result<()>;
        /// Does not synchronize.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
        /// let x = Array::from_slice(&stream, &[2], &[1, 2])?;
        /// let mut y = Array::uninit(&stream, &[2])?;
        /// y.copy_from(&stream, &x)?;
        /// assert_eq!(y.to_vec(&stream)?, [1, 2]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        #[doc(alias = "copy_to_device")]
        #[doc(alias = "assign")]
        fn copy_from[](src: &impl AsArrayView<T, D>) -> Result<()>;
        /// Blocks until the source was read.
        fn copy_across[S: Device](src_stream: &StreamHandle<S>, src: &impl AsArrayView<T, S>) -> Result<()>;
        /// Does not synchronize: the slice is free on return.
        #[doc(alias = "copy_to_device")]
        #[doc(alias = "set")]
        fn copy_from_slice[](data: &[T]) -> Result<()>;
        /// Does not synchronize: the slice is free on return.
        fn copy_from_host[](data: &[T], host: &Layout) -> Result<()>;
        /// Does not synchronize: the host array is free on return.
        #[doc(alias = "copy_to_device")]
        #[doc(alias = "set")]
        fn copy_from_host_array[](host: &HostArray<T>) -> Result<()>;
        /// Does not synchronize.
        fn upload[](src: PinnedBuffer<T, D>) -> Result<Transfer<T, D>, TransferError<T, D>>;
        /// Does not synchronize.
        #[doc(alias = "memmove")]
        fn copy_within[](dst: &[IndexItem], src: &[IndexItem]) -> Result<()>;
        /// Does not synchronize.
        fn concatenate_from[](parts: &[ArrayView<'_, T, D>], axis: impl Integer) -> Result<()>;
        /// Does not synchronize.
        fn stack_from[](parts: &[ArrayView<'_, T, D>], axis: impl Integer) -> Result<()>;
        /// Does not synchronize.
        ///
        /// ```
        /// use devarray::{Array, Context, gather::{OutOfRange, Repeats}};
        ///
        /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
        /// let mut x = Array::zeros(&stream, &[3])?;
        /// let at = Array::from_slice(&stream, &[2], &[2, 0])?;
        /// let values = Array::from_slice(&stream, &[2], &[7, 8])?;
        /// x.put(&stream, &at, &values, 0, OutOfRange::Error, Repeats::Last)?;
        /// assert_eq!(x.to_vec(&stream)?, [8, 0, 7]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        fn put[I: Index](
            indices: &impl AsArrayView<I, D>, values: &impl AsArrayView<T, D>, axis: impl Integer,
            out_of_range: OutOfRange, repeats: Repeats
        ) -> Result<()> where [D: Compute];
        /// Does not synchronize.
        fn put_flat[I: Index](
            indices: &impl AsArrayView<I, D>, values: &impl AsArrayView<T, D>,
            out_of_range: OutOfRange, repeats: Repeats
        ) -> Result<()> where [D: Compute];
        /// Does not synchronize.
        fn put_along_axis[I: Index](
            indices: &impl AsArrayView<I, D>, values: &impl AsArrayView<T, D>, axis: impl Integer,
            out_of_range: OutOfRange, repeats: Repeats
        ) -> Result<()> where [D: Compute];
        /// Does not synchronize.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
        /// let mut x = Array::from_slice(&stream, &[3], &[1, 2, 3])?;
        /// x.map_in_place(&stream, |x| x * 10)?;
        /// assert_eq!(x.to_vec(&stream)?, [10, 20, 30]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        fn map_in_place[](
            function: impl FnOnce(Expression<T>) -> Expression<T>
        ) -> Result<()> where [T: Computable, D: Compute];
        /// Does not synchronize.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
        /// let mut y = Array::from_slice(&stream, &[2], &[1.0_f32, 2.0])?;
        /// let x = Array::from_slice(&stream, &[2], &[10.0_f32, 20.0])?;
        /// y.update(&stream, &x, |y, x| y + x)?;
        /// y.update(&stream, (&x, 0.5), |y, (x, k)| y + x * k)?;
        /// assert_eq!(y.to_vec(&stream)?, [16.0, 32.0]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        fn update['b, O: Operands<'b, D>](
            others: O, function: impl FnOnce(Expression<T>, O::Expressions) -> Expression<T>
        ) -> Result<()> where [T: Computable, D: Compute];
        /// Does not synchronize.
        #[doc(alias = "memcpy_peer")]
        fn copy_from_peer[](
            src_stream: &StreamHandle<D>, src: &impl AsArrayView<T, D>
        ) -> Result<Crossing> where [D: PeerAccess];
    }
}

impl<D: Device> ErasedArray<D> {
    of_all! { ErasedViewMut:
        /// Does not synchronize.
        fn fill_bytes[](item: &[u8]) -> Result<()>;
        /// Does not synchronize.
        fn copy_from[](src: &ErasedView<'_, D>) -> Result<()>;
        /// Blocks until the source was read.
        fn copy_across[S: Device](src_stream: &StreamHandle<S>, src: &ErasedView<'_, S>) -> Result<()>;
        /// Does not synchronize: the slice is free on return.
        fn copy_from_bytes[](bytes: &[u8]) -> Result<()>;
        /// Does not synchronize: the slice is free on return.
        fn copy_from_host[](bytes: &[u8], host: &Layout) -> Result<()>;
        /// Does not synchronize.
        fn concatenate_from[](parts: &[ErasedView<'_, D>], axis: impl Integer) -> Result<()>;
        /// Does not synchronize.
        fn stack_from[](parts: &[ErasedView<'_, D>], axis: impl Integer) -> Result<()>;
        /// Does not synchronize.
        fn copy_from_peer[](
            src_stream: &StreamHandle<D>, src: &ErasedView<'_, D>
        ) -> Result<Crossing> where [D: PeerAccess];
    }
}
