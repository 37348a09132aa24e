//! Combines elements by index: counts, sums and extremes of all elements that go to one place, and
//! of segments.

use super::{ReadIndices, first, into, typed};
use crate::{
    Result,
    array::{Array, ArrayView, ArrayViewMut, AsArrayView, AsArrayViewMut, Summable, device_call::submit},
    backend::{Compute, Device},
    function::{Computable, Number, WholeNumber},
    gather::Index,
    layout::{Integer, axis_index, position},
    order::{Call, Combining},
    stream::StreamHandle,
};

impl<T: WholeNumber, D: Device> ArrayView<'_, T, D> {
    /// Counts how many elements are 0, 1 … `n − 1`. Does not synchronize.
    ///
    /// Other elements are not counted, and a later wait reports the first, as
    /// [`Error::Index`](crate::Error::Index).
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[4], &[0_u8, 2, 2, 3])?;
    /// assert_eq!(x.bincount(&stream, 4)?.to_vec(&stream)?, [1, 0, 2, 1]);
    /// let weights = Array::from_slice(&stream, &[4], &[0.5_f32, 1.0, 0.25, 2.0])?;
    /// assert_eq!(x.bincount_weighted(&stream, &weights, 4)?.to_vec(&stream)?, [0.5, 0.0, 1.25, 2.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`](crate::LayoutError::Overflow): more than 2^48 elements, which only
    /// broadcast views have; [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another
    /// context's stream or array, and any other device error.
    #[track_caller]
    pub fn bincount(&self, stream: &StreamHandle<D>, n: usize) -> Result<Array<i64, D>>
    where
        D: Compute,
    {
        first(Call::BinCount { n }, stream, &[typed(self)])
    }

    /// Like [`bincount`](Self::bincount), into `n` existing elements. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`bincount`](Self::bincount); also, `counts` is not 1-D, or two of its elements share memory.
    #[track_caller]
    pub fn bincount_into(
        &self,
        stream: &StreamHandle<D>,
        counts: &mut impl AsArrayViewMut<i64, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let n = counts.as_array_view_mut().layout().len();
        into(Call::BinCount { n }, stream, &[typed(self)], counts)
    }

    /// Sums the weights of the elements that are 0, 1 … `n − 1`. Does not synchronize.
    ///
    /// A sum of floats has one value: the weights for one place, in row-major order, are added as
    /// [`sum`](Self::sum) adds them. The rest is as in [`bincount`](Self::bincount).
    ///
    /// # Errors
    ///
    /// - [`Error::Order`](crate::Error::Order): the weights have another shape.
    /// - The errors of [`bincount`](Self::bincount).
    #[doc(alias = "bincount")]
    #[track_caller]
    pub fn bincount_weighted<W: Summable>(
        &self,
        stream: &StreamHandle<D>,
        weights: &impl AsArrayView<W, D>,
        n: usize,
    ) -> Result<Array<W::Total, D>>
    where
        D: Compute,
    {
        first(Call::BinCount { n }, stream, &[typed(self), typed(&weights.as_array_view())])
    }
}

impl<T: WholeNumber, D: Device> Array<T, D> {
    /// [`ArrayView::bincount`] of the whole array.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn bincount(&self, stream: &StreamHandle<D>, n: usize) -> Result<Array<i64, D>>
    where
        D: Compute,
    {
        self.view().bincount(stream, n)
    }

    /// [`ArrayView::bincount_weighted`] of the whole array.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "bincount")]
    #[track_caller]
    pub fn bincount_weighted<W: Summable>(
        &self,
        stream: &StreamHandle<D>,
        weights: &impl AsArrayView<W, D>,
        n: usize,
    ) -> Result<Array<W::Total, D>>
    where
        D: Compute,
    {
        self.view().bincount_weighted(stream, weights, n)
    }
}

/// Emits the methods of views to write, which combine elements into places.
macro_rules! puts {
    ($($(#[$doc:meta])* $name:ident $operation:ident;)*) => {
        impl<T: Number, D: Device> ArrayViewMut<'_, T, D> {$(
            $(#[$doc])*
            ///
            /// The values are broadcast to this view's shape, with the axis as long as the indices; each
            /// repeat counts. Negative indices count from the end. An index out of range puts nothing,
            /// and a later wait reports the first, as [`Error::Index`](crate::Error::Index).
            ///
            /// # Errors
            ///
            /// - [`LayoutError::AxisOutOfRange`](crate::LayoutError::AxisOutOfRange).
            /// - [`Error::Order`](crate::Error::Order): the indices are not 1-D, or the values do not fit.
            /// - [`LayoutError::AliasedDestination`](crate::LayoutError::AliasedDestination): two elements
            ///   of the view share memory.
            /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow): more than 2^48 elements, which
            ///   only broadcast views have.
            /// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's stream
            ///   or array, and any other device error.
            #[track_caller]
            pub fn $name<I: Index>(
                &mut self,
                stream: &StreamHandle<D>,
                axis: impl Integer,
                indices: &impl AsArrayView<I, D>,
                values: &impl AsArrayView<T, D>,
            ) -> Result<()>
            where
                D: Compute,
            {
                let call = Call::Put { operation: Combining::$operation, axis: position(axis) };
                axis_index(position(axis), self.layout().rank())?;
                let (indices, values) = (indices.as_array_view(), values.as_array_view());
                let indices = ReadIndices::new(stream, &indices)?;
                let inputs = [typed(&self.as_view()), indices.typed(), typed(&values)];
                submit(call, stream, &inputs, &[Some(self.elements())], None)
            }
        )*}
    };
}

puts! {
    /// Adds `values` to the slices at `indices` of an axis: NumPy's `add.at`. Does not synchronize.
    ///
    /// Floats have one value on every device: the values for one place, in the order of the indices,
    /// are added as a sum adds them, and their sum is added to the element that is there. Integers
    /// wrap.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let mut y = Array::zeros(&stream, &[3, 2])?;
    /// let rows = Array::from_slice(&stream, &[3], &[2, 0, 2])?;
    /// let values = Array::from_slice(&stream, &[3, 1], &[1, 10, 100])?;
    /// y.view_mut().put_add(&stream, 0, &rows, &values)?;
    /// assert_eq!(y.to_vec(&stream)?, [10, 10, 0, 0, 101, 101]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "scatter_add")]
    #[doc(alias = "index_add")]
    put_add Sum;
    /// Makes each element of the slices at `indices` of an axis the least of itself and of `values`;
    /// NaN where one is NaN, −0 below +0. Does not synchronize.
    #[doc(alias = "scatter_reduce", alias = "index_reduce")]
    put_minimum Minimum;
    /// Makes each element of the slices at `indices` of an axis the greatest of itself and of `values`;
    /// NaN where one is NaN, −0 below +0. Does not synchronize.
    #[doc(alias = "scatter_reduce", alias = "index_reduce")]
    put_maximum Maximum;
}

/// Emits the methods that combine segments.
macro_rules! segments {
    ($($(#[$doc:meta])* $name:ident $into:ident $bound:ident -> $result:ty: $operation:ident;)*) => {$(
        impl<T: $bound, D: Device> ArrayView<'_, T, D> {
            $(#[$doc])*
            ///
            /// If an offset is below the one before it, or outside 0 … n, a later wait reports it,
            /// as [`Error::Index`](crate::Error::Index), and the group is 0.
            ///
            /// # Errors
            ///
            /// - [`Error::Order`](crate::Error::Order): the view has no axis, the offsets are not 1-D, or
            ///   there is none.
            /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow): more than 2^48 elements, which
            ///   only broadcast views have.
            /// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's stream
            ///   or array, and any other device error.
            #[track_caller]
            pub fn $name<I: Index>(
                &self,
                stream: &StreamHandle<D>,
                offsets: &impl AsArrayView<I, D>,
            ) -> Result<Array<$result, D>>
            where
                D: Compute,
            {
                let call = Call::Segments { operation: Combining::$operation };
                let offsets = offsets.as_array_view();
                let offsets = ReadIndices::new(stream, &offsets)?;
                first(call, stream, &[typed(self), offsets.typed()])
            }

            #[doc = concat!("Like [`", stringify!($name), "`](Self::", stringify!($name), "), into existing elements of any strides.")]
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($name), "`](Self::", stringify!($name), "); also, `result` has another shape, or two of its elements share memory.")]
            #[track_caller]
            pub fn $into<I: Index>(
                &self,
                stream: &StreamHandle<D>,
                offsets: &impl AsArrayView<I, D>,
                result: &mut impl AsArrayViewMut<$result, D>,
            ) -> Result<()>
            where
                D: Compute,
            {
                let call = Call::Segments { operation: Combining::$operation };
                let offsets = offsets.as_array_view();
                let offsets = ReadIndices::new(stream, &offsets)?;
                into(call, stream, &[typed(self), offsets.typed()], result)
            }
        }

        impl<T: $bound, D: Device> Array<T, D> {
            #[doc = concat!("[`ArrayView::", stringify!($name), "`] of the whole array.")]
            ///
            /// # Errors
            ///
            /// See there.
            #[track_caller]
            pub fn $name<I: Index>(
                &self,
                stream: &StreamHandle<D>,
                offsets: &impl AsArrayView<I, D>,
            ) -> Result<Array<$result, D>>
            where
                D: Compute,
            {
                self.view().$name(stream, offsets)
            }
        }
    )*};
}

segments! {
    /// Sums the slices along axis 0 between neighbouring `offsets`, which ascend. There is one row
    /// less than there are offsets. A group of no slices is 0. Does not synchronize.
    ///
    /// A sum of floats has one value, whatever the device.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[4], &[1_i64, 2, 3, 4])?;
    /// let offsets = Array::from_slice(&stream, &[4], &[0, 2, 2, 4])?;
    /// assert_eq!(x.segment_sum(&stream, &offsets)?.to_vec(&stream)?, [3_i64, 0, 7]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "reduceat", alias = "segment_reduce")]
    segment_sum segment_sum_into Summable -> T::Total: Sum;
    /// Finds the least of the slices along axis 0 between neighbouring `offsets`, which ascend. A group
    /// of no slices has none, and a later wait reports it. Does not synchronize.
    segment_minimum segment_minimum_into Computable -> T: Minimum;
    /// Finds the greatest of the slices along axis 0 between neighbouring `offsets`, which ascend. A
    /// group of no slices has none, and a later wait reports it. Does not synchronize.
    segment_maximum segment_maximum_into Computable -> T: Maximum;
}
