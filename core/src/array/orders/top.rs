//! The first elements of the order, with their positions.

use super::{all, typed};
use crate::{
    Result,
    array::{Array, ArrayView, AsArrayViewMut, device_call::submit},
    backend::{Compute, Device},
    function::Computable,
    layout::{Integer, position},
    order::Call,
    stream::StreamHandle,
};

/// Emits the calls of one direction.
macro_rules! tops {
    ($($(#[$doc:meta])* $name:ident $into:ident $largest:literal;)*) => {$(
        impl<T: Computable, D: Device> ArrayView<'_, T, D> {
            $(#[$doc])*
            ///
            /// # Errors
            ///
            /// - [`Error::Order`](crate::Error::Order): `k` is beyond the extent of the axis.
            /// - The errors of [`sort`](Self::sort).
            #[track_caller]
            pub fn $name(
                &self,
                stream: &StreamHandle<D>,
                k: usize,
                axis: impl Integer,
            ) -> Result<(Array<T, D>, Array<i64, D>)>
            where
                D: Compute,
            {
                let call = Call::TopK { k, axis: position(axis), largest: $largest };
                let mut next = all(call, stream, typed(self))?;
                Ok((Array::of_erased(next()), Array::of_erased(next())))
            }

            #[doc = concat!("Like [`", stringify!($name), "`](Self::", stringify!($name), "), into existing elements of any strides.")]
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($name), "`](Self::", stringify!($name), "); also, a result has another shape, or two of its elements share memory.")]
            #[track_caller]
            pub fn $into(
                &self,
                stream: &StreamHandle<D>,
                k: usize,
                axis: impl Integer,
                elements: &mut impl AsArrayViewMut<T, D>,
                positions: &mut impl AsArrayViewMut<i64, D>,
            ) -> Result<()>
            where
                D: Compute,
            {
                let call = Call::TopK { k, axis: position(axis), largest: $largest };
                let (elements, positions) = (elements.as_array_view_mut(), positions.as_array_view_mut());
                let results = [Some(elements.elements()), Some(positions.elements())];
                submit(call, stream, &[typed(self)], &results, None)
            }
        }

        impl<T: Computable, D: Device> Array<T, D> {
            #[doc = concat!("[`ArrayView::", stringify!($name), "`] of the whole array.")]
            ///
            /// # Errors
            ///
            /// See there.
            #[track_caller]
            pub fn $name(
                &self,
                stream: &StreamHandle<D>,
                k: usize,
                axis: impl Integer,
            ) -> Result<(Self, Array<i64, D>)>
            where
                D: Compute,
            {
                self.view().$name(stream, k, axis)
            }
        }
    )*};
}

tops! {
    /// Finds the `k` greatest elements along an axis, from the greatest down, and their positions:
    /// new arrays in C order. Does not synchronize.
    ///
    /// They are the first `k` of [`sort_descending`](Self::sort_descending), found without sorting the
    /// others: NaNs come first, and equal elements keep their order.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[5], &[2, 9, 4, 9, 1])?;
    /// let (greatest, positions) = x.topk(&stream, 3, 0)?;
    /// assert_eq!(greatest.to_vec(&stream)?, [9, 9, 4]);
    /// assert_eq!(positions.to_vec(&stream)?, [1, 3, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "partition", alias = "argpartition")]
    topk topk_into true;
    /// Finds the `k` least elements along an axis, from the least up, and their positions: the first
    /// `k` of [`sort`](Self::sort). See [`topk`](Self::topk). Does not synchronize.
    #[doc(alias = "partition", alias = "argpartition")]
    bottomk bottomk_into false;
}
