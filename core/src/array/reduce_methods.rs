//! Reductions and scans as calls on arrays and views.

use super::{Array, ArrayView, AsArrayViewMut, Call, reduce::Combined};
use crate::{
    Bool, Result,
    backend::{Compute, Device},
    function::{Computable, Float, Function, Number, ReduceOperation, Reduction, Scan, ScanOperation},
    layout::{AxisList, Integer, position},
    stream::StreamHandle,
};

/// Elements that can be summed.
pub trait Summable: Computable {
    /// The type of a sum: `i64` for signed integers and `Bool`, `u64` for unsigned integers, the
    /// type itself for floats.
    type Total: Computable;

    /// The type in which elements are added: `f32` for `f16` and `bf16`, for others the type of a sum.
    type Accumulator: Number;
}

macro_rules! summable {
    ($($type:ty: $total:ty, $accumulator:ty;)*) => {$(
        impl Summable for $type {
            type Total = $total;
            type Accumulator = $accumulator;
        }
    )*};
}

summable! {
    Bool: i64, i64; i8: i64, i64; i16: i64, i64; i32: i64, i64; i64: i64, i64;
    u8: u64, u64; u16: u64, u64; u32: u64, u64; u64: u64, u64;
    f32: f32, f32; f64: f64, f64;
}

#[cfg(feature = "half")]
summable! {
    half::f16: half::f16, f32;
    half::bf16: half::bf16, f32;
}

/// The axes of a reduction: `..` for all, one [`Integer`], or an [`AxisList`]. Negative numbers
/// count from the end.
///
/// ```
/// use devarray::{Array, Context};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
/// assert_eq!(x.max(&stream, ..)?.to_vec(&stream)?, [6]);
/// assert_eq!(x.max(&stream, 1)?.to_vec(&stream)?, [3, 6]);
/// assert_eq!(x.max(&stream, &[0, -1])?.to_vec(&stream)?, [6]);
/// assert_eq!(x.max(&stream, [x.rank() - 1])?.to_vec(&stream)?, [3, 6]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name the axes of a reduction",
    label = "not `..`, an axis or a list of axes",
    note = "write `..` for all axes, `-1` for one, `&[0, 1]` for several"
)]
pub trait ReducedAxes {
    /// The reduction over these axes.
    fn apply_to(self, reduction: Reduction) -> Reduction;

    /// Does nothing; see [`AxisList`].
    #[doc(hidden)]
    fn by_reference_too(&mut self) {}
}

impl ReducedAxes for std::ops::RangeFull {
    fn apply_to(self, reduction: Reduction) -> Reduction {
        reduction
    }
}

/// Implements `ReducedAxes` for single axes.
macro_rules! axis {
    ($($type:ty),*) => {$(
        impl ReducedAxes for $type {
            fn apply_to(self, reduction: Reduction) -> Reduction {
                reduction.axes([position(self)])
            }
        }
    )*};
}

axis!(isize, i32, usize);

impl<A: AxisList + ?Sized> ReducedAxes for &A {
    fn apply_to(self, reduction: Reduction) -> Reduction {
        reduction.axes(self)
    }
}

impl<T, const N: usize> ReducedAxes for [T; N]
where
    Self: AxisList,
{
    fn apply_to(self, reduction: Reduction) -> Reduction {
        reduction.axes(self)
    }
}

/// Emits a method and its twin into existing elements, for arrays and for views of them.
macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident $into:ident $bound:ident [$argument:ident: $type:ty] -> $result:ty:
        $by:ident $more:literal, $work:expr;)*) => {$(
        impl<T: $bound, D: Device> ArrayView<'_, T, D> {
            $(#[$doc])*
            ///
            #[doc = concat!("Does not synchronize. ", $more)]
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($by), "`](Self::", stringify!($by), ").")]
            #[track_caller]
            pub fn $name(&self, stream: &StreamHandle<D>, $argument: $type) -> Result<Array<$result, D>>
            where
                D: Compute,
            {
                Call::of(self).combined(Function::of_elements(T::TYPE), stream, $work)
            }

            #[doc = concat!("Like [`", stringify!($name), "`](Self::", stringify!($name), "), into existing elements of any strides.")]
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($name), "`](Self::", stringify!($name), "); also, `result` has another shape.")]
            #[track_caller]
            pub fn $into(
                &self,
                stream: &StreamHandle<D>,
                $argument: $type,
                result: &mut impl AsArrayViewMut<$result, D>,
            ) -> Result<()>
            where
                D: Compute,
            {
                Call::of(self).combined_into(Function::of_elements(T::TYPE), stream, $work, result)
            }
        }

        impl<T: $bound, D: Device> Array<T, D> {
            $(#[$doc])*
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($by), "`](Self::", stringify!($by), ").")]
            #[track_caller]
            pub fn $name(&self, stream: &StreamHandle<D>, $argument: $type) -> Result<Array<$result, D>>
            where
                D: Compute,
            {
                self.view().$name(stream, $argument)
            }

            #[doc = concat!("Like [`", stringify!($name), "`](Self::", stringify!($name), "), into existing elements of any strides.")]
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            #[doc = concat!("The errors of [`", stringify!($name), "`](Self::", stringify!($name), "); also, `result` has another shape.")]
            #[track_caller]
            pub fn $into(
                &self,
                stream: &StreamHandle<D>,
                $argument: $type,
                result: &mut impl AsArrayViewMut<$result, D>,
            ) -> Result<()>
            where
                D: Compute,
            {
                self.view().$into(stream, $argument, result)
            }
        }
    )*};
}

/// Emits the reductions of a type.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $into:ident $bound:ident -> $result:ty: $operation:ident;)*) => {
        methods! {$(
            $(#[$doc])*
            $name $into $bound [axes: impl ReducedAxes] -> $result: reduce
            "[`reduce`](Self::reduce) offers more: kept axes, another type, a function.",
            Combined::Reduction(&axes.apply_to(Reduction::new(ReduceOperation::$operation)));
        )*}
    };
}

reductions! {
    /// The sum over axes, `..` for all. A sum of floats has one value, whatever the layout and the
    /// device.
    sum sum_into Summable -> T::Total: Sum;
    /// The product over axes, `..` for all.
    #[doc(alias = "prod")]
    product product_into Summable -> T::Total: Product;
    /// The least element over axes, `..` for all; NaN if any is NaN.
    #[doc(alias = "amin")]
    min min_into Computable -> T: Minimum;
    /// The greatest element over axes, `..` for all; NaN if any is NaN.
    #[doc(alias = "amax")]
    max max_into Computable -> T: Maximum;
    /// The position of the first NaN, else of the first least element, in row-major order of the
    /// reduced axes.
    argmin argmin_into Number -> i64: ArgMinimum;
    /// The position of the first NaN, else of the first greatest element, in row-major order of the
    /// reduced axes.
    argmax argmax_into Number -> i64: ArgMaximum;
    /// Whether any element is not 0, over axes, `..` for all. NaN is not 0.
    any any_into Computable -> Bool: Any;
    /// Whether no element is 0, over axes, `..` for all.
    all all_into Computable -> Bool: All;
    /// The number of elements that are not 0, over axes, `..` for all.
    count_nonzero count_nonzero_into Computable -> i64: CountNonzero;
    /// The mean over axes, `..` for all: the sum divided by the count. Infinite where the sum is.
    mean mean_into Float -> T: Mean;
    /// The mean squared deviation from the mean, in two passes, over axes, `..` for all. Infinite
    /// where a square is.
    var var_into Float -> T: Variance;
    /// The square root of the variance, over axes, `..` for all.
    std std_into Float -> T: StandardDeviation;
}

/// Emits the scans of a type.
macro_rules! scans {
    ($($(#[$doc:meta])* $name:ident $into:ident $bound:ident -> $result:ty: $operation:ident;)*) => {
        methods! {$(
            $(#[$doc])*
            $name $into $bound [axis: impl Integer] -> $result: scan
            "[`scan`](Self::scan) has the exclusive forms.",
            Combined::Scan(Scan::new(ScanOperation::$operation, axis));
        )*}
    };
}

scans! {
    /// Running sums along an axis.
    cumsum cumsum_into Summable -> T::Total: Sum;
    /// Running products along an axis.
    cumprod cumprod_into Summable -> T::Total: Product;
    /// The least element so far along an axis; NaN from the first NaN on.
    cummin cummin_into Computable -> T: Minimum;
    /// The greatest element so far along an axis; NaN from the first NaN on.
    cummax cummax_into Computable -> T: Maximum;
}
