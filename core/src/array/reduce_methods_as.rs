//! Sums and products in another type: NumPy's `dtype`.

use super::{Array, ArrayView, Operands, ReducedAxes, Summable};
use crate::{
    Result,
    backend::{Compute, Device},
    function::{Computable, ReduceOperation, Reduction, Scan, ScanOperation},
    layout::Integer,
    stream::StreamHandle,
};

/// Emits the methods of arrays and of views.
macro_rules! in_another_type {
    ($([$($generics:tt)*] $of:ty;)*) => {$(
        impl<$($generics)* T: Computable, D: Device> $of {
            /// The sum over axes, `..` for all, of the elements after a cast to `U`: `i64`, `u64`
            /// or a float, whose sums have the type itself.
            ///
            /// Does not synchronize.
            ///
            /// ```
            /// use devarray::{Array, Context};
            ///
            /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
            /// let x = Array::from_slice(&stream, &[3], &[1_u8, 2, 250])?;
            /// assert_eq!(x.sum_as::<f32>(&stream, ..)?.to_vec(&stream)?, [253.0]);
            /// # Ok::<(), devarray::Error>(())
            /// ```
            ///
            /// # Errors
            ///
            /// The errors of [`reduce`](Self::reduce).
            #[track_caller]
            pub fn sum_as<U: Summable<Total = U>>(
                &self,
                stream: &StreamHandle<D>,
                axes: impl ReducedAxes,
            ) -> Result<Array<U, D>>
            where
                D: Compute,
            {
                let sum = axes.apply_to(Reduction::new(ReduceOperation::Sum));
                Operands::reduce(self, stream, &sum, |x| x.cast::<U>())
            }

            /// The product over axes, `..` for all, of the elements after a cast to `U`. See
            /// [`sum_as`](Self::sum_as).
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            /// The errors of [`reduce`](Self::reduce).
            #[doc(alias = "prod")]
            #[track_caller]
            pub fn product_as<U: Summable<Total = U>>(
                &self,
                stream: &StreamHandle<D>,
                axes: impl ReducedAxes,
            ) -> Result<Array<U, D>>
            where
                D: Compute,
            {
                let product = axes.apply_to(Reduction::new(ReduceOperation::Product));
                Operands::reduce(self, stream, &product, |x| x.cast::<U>())
            }

            /// Running sums along an axis of the elements after a cast to `U`. See
            /// [`sum_as`](Self::sum_as). Running sums in `i64` can serve as indices, whatever type
            /// the elements have.
            ///
            /// Does not synchronize.
            ///
            /// ```
            /// use devarray::{Array, Context};
            ///
            /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
            /// let lengths = Array::from_slice(&stream, &[3], &[2_u32, 1, 3])?;
            /// let ends: Array<i64, _> = lengths.cumsum_as(&stream, 0)?;
            /// assert_eq!(ends.to_vec(&stream)?, [2, 3, 6]);
            /// # Ok::<(), devarray::Error>(())
            /// ```
            ///
            /// # Errors
            ///
            /// The errors of [`scan`](Self::scan).
            #[track_caller]
            pub fn cumsum_as<U: Summable<Total = U>>(
                &self,
                stream: &StreamHandle<D>,
                axis: impl Integer,
            ) -> Result<Array<U, D>>
            where
                D: Compute,
            {
                Operands::scan(self, stream, Scan::new(ScanOperation::Sum, axis), |x| x.cast::<U>())
            }

            /// Running products along an axis of the elements after a cast to `U`. See
            /// [`sum_as`](Self::sum_as).
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            /// The errors of [`scan`](Self::scan).
            #[track_caller]
            pub fn cumprod_as<U: Summable<Total = U>>(
                &self,
                stream: &StreamHandle<D>,
                axis: impl Integer,
            ) -> Result<Array<U, D>>
            where
                D: Compute,
            {
                Operands::scan(self, stream, Scan::new(ScanOperation::Product, axis), |x| x.cast::<U>())
            }
        }
    )*};
}

in_another_type! {
    [] Array<T, D>;
    ['a,] ArrayView<'a, T, D>;
}
