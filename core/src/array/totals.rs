//! Reductions and running forms as calls on arrays and views.

use super::{Array, ArrayView, Operands};
use crate::{
    Bool, Result,
    backend::Compute,
    function::{
        Computable, Expression, Float, FunctionError, FunctionErrorKind, Number, ReduceOperation, Reduction,
        Scan, ScanOperation,
    },
    stream::StreamHandle,
};

/// Elements that can be summed.
pub trait Summable: Computable {
    /// The type of a sum: `i64` for signed integers and `Bool`, `u64` for unsigned integers, the
    /// type itself for floats.
    type Total: Computable;
}

macro_rules! summable {
    ($($type:ty: $total:ty;)*) => {$(
        impl Summable for $type {
            type Total = $total;
        }
    )*};
}

summable! {
    Bool: i64; i8: i64; i16: i64; i32: i64; i64: i64;
    u8: u64; u16: u64; u32: u64; u64: u64;
    f32: f32; f64: f64;
}

#[cfg(feature = "half")]
summable! {
    half::f16: half::f16;
    half::bf16: half::bf16;
}

/// The axes of a reduction: `..` for all, one, or a list. Negative numbers count from the end.
pub trait ReducedAxes {
    /// The reduction over these axes.
    fn apply_to(self, reduction: Reduction) -> Reduction;
}

impl ReducedAxes for std::ops::RangeFull {
    fn apply_to(self, reduction: Reduction) -> Reduction {
        reduction
    }
}

impl ReducedAxes for isize {
    fn apply_to(self, reduction: Reduction) -> Reduction {
        reduction.axes(&[self])
    }
}

impl ReducedAxes for &[isize] {
    fn apply_to(self, reduction: Reduction) -> Reduction {
        reduction.axes(self)
    }
}

impl<const N: usize> ReducedAxes for &[isize; N] {
    fn apply_to(self, reduction: Reduction) -> Reduction {
        reduction.axes(self)
    }
}

/// Reductions of a type, as methods of arrays and views.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $bound:ident -> $result:ty: $operation:ident;)*) => {$(
        impl<T: $bound, D: Compute> ArrayView<'_, T, D> {
            $(#[$doc])*
            ///
            /// Does not synchronize. [`reduce`](Self::reduce) offers more: kept axes, another type,
            /// a function.
            ///
            /// # Errors
            ///
            /// As [`reduce`](Self::reduce).
            #[track_caller]
            pub fn $name(&self, stream: &StreamHandle<D>, axes: impl ReducedAxes) -> Result<Array<$result, D>> {
                self.reduce(stream, &axes.apply_to(Reduction::new(ReduceOperation::$operation)))
            }
        }

        impl<T: $bound, D: Compute> Array<T, D> {
            $(#[$doc])*
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            /// As [`reduce`](Self::reduce).
            #[track_caller]
            pub fn $name(&self, stream: &StreamHandle<D>, axes: impl ReducedAxes) -> Result<Array<$result, D>> {
                self.view().$name(stream, axes)
            }
        }
    )*};
}

reductions! {
    /// The sum over axes, `..` for all. A sum of floats has one value, whatever the layout and the
    /// device.
    sum Summable -> T::Total: Sum;
    /// The product over axes, `..` for all.
    product Summable -> T::Total: Product;
    /// The least element over axes, `..` for all; NaN if any is NaN.
    min Computable -> T: Minimum;
    /// The greatest element over axes, `..` for all; NaN if any is NaN.
    max Computable -> T: Maximum;
    /// The position of the first NaN, else of the first least element, in row-major order of the
    /// reduced axes.
    argmin Number -> i64: ArgMinimum;
    /// The position of the first NaN, else of the first greatest element, in row-major order of the
    /// reduced axes.
    argmax Number -> i64: ArgMaximum;
    /// Whether an element is not 0, over axes, `..` for all. NaN is not 0.
    any Computable -> Bool: Any;
    /// Whether no element is 0, over axes, `..` for all.
    all Computable -> Bool: All;
    /// How many elements are not 0, over axes, `..` for all.
    count_nonzero Computable -> i64: CountNonzero;
    /// The mean over axes, `..` for all: the sum divided by the count.
    mean Float -> T: Mean;
    /// The mean squared deviation from the mean, in two passes, over axes, `..` for all.
    var Float -> T: Variance;
    /// The square root of the variance, over axes, `..` for all.
    std Float -> T: StandardDeviation;
}

/// Running forms of a type, as methods of arrays and views.
macro_rules! running {
    ($($(#[$doc:meta])* $name:ident $bound:ident -> $result:ty: $operation:ident;)*) => {$(
        impl<T: $bound, D: Compute> ArrayView<'_, T, D> {
            $(#[$doc])*
            ///
            /// Does not synchronize. [`scan`](Self::scan) has the exclusive forms.
            ///
            /// # Errors
            ///
            /// As [`scan`](Self::scan).
            #[track_caller]
            pub fn $name(&self, stream: &StreamHandle<D>, axis: isize) -> Result<Array<$result, D>> {
                self.scan(stream, Scan::new(ScanOperation::$operation, axis))
            }
        }

        impl<T: $bound, D: Compute> Array<T, D> {
            $(#[$doc])*
            ///
            /// Does not synchronize.
            ///
            /// # Errors
            ///
            /// As [`scan`](Self::scan).
            #[track_caller]
            pub fn $name(&self, stream: &StreamHandle<D>, axis: isize) -> Result<Array<$result, D>> {
                self.view().$name(stream, axis)
            }
        }
    )*};
}

running! {
    /// Running sums along an axis.
    cumsum Summable -> T::Total: Sum;
    /// Running products along an axis.
    cumprod Summable -> T::Total: Product;
    /// The least element so far along an axis; NaN from the first NaN on.
    cummin Computable -> T: Minimum;
    /// The greatest element so far along an axis; NaN from the first NaN on.
    cummax Computable -> T: Maximum;
}

impl<T: Computable, D: Compute> ArrayView<'_, T, D> {
    /// Reduces the elements. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context, NdLayout, function::{ReduceOperation, Reduction}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(x.sum(&stream, ..)?.to_vec(&stream)?, [21.0]);
    /// assert_eq!(x.max(&stream, &[0])?.to_vec(&stream)?, [4.0, 5.0, 6.0]);
    ///
    /// let mean = Reduction::new(ReduceOperation::Mean).axes(&[-1]).keep_axes();
    /// let means = x.view().reduce::<f32>(&stream, &mean)?;
    /// assert_eq!((means.shape(), means.to_vec(&stream)?), (&[2, 1][..], vec![2.0, 5.0]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Function`](crate::Error::Function): the operation does not take the type; its
    ///   result is no `R`; or an element of the result has nothing to reduce, and the operation has
    ///   no value for that.
    /// - An axis out of range or repeated, out of memory, another context's stream, and any other
    ///   device error.
    #[track_caller]
    pub fn reduce<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
    ) -> Result<Array<R, D>> {
        (self,).reduce(stream, reduction, |(x,)| x)
    }

    /// Combines each element with those before it along an axis. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce).
    #[track_caller]
    pub fn scan<R: Computable>(&self, stream: &StreamHandle<D>, scan: Scan) -> Result<Array<R, D>> {
        (self,).scan(stream, scan, |(x,)| x)
    }
}

impl<T: Computable, D: Compute> Array<T, D> {
    /// Reduces the elements. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`ArrayView::reduce`].
    #[track_caller]
    pub fn reduce<R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        reduction: &Reduction,
    ) -> Result<Array<R, D>> {
        self.view().reduce(stream, reduction)
    }

    /// Combines each element with those before it along an axis. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`ArrayView::reduce`].
    #[track_caller]
    pub fn scan<R: Computable>(&self, stream: &StreamHandle<D>, scan: Scan) -> Result<Array<R, D>> {
        self.view().scan(stream, scan)
    }
}

/// Refuses a result of another type than was asked for.
#[track_caller]
pub(super) fn check_result<R: Computable>(found: crate::function::ElementType) -> Result<()> {
    if found == R::TYPE {
        return Ok(());
    }
    let message = format!("the result is {found}, not {}", R::TYPE);
    Err(FunctionError::new(FunctionErrorKind::Type, message).into())
}

/// The sum of products of the elements of two arrays, broadcast together, in one pass. Does not
/// synchronize.
///
/// # Errors
///
/// As [`Operands::reduce`].
#[track_caller]
pub(crate) fn dot<'a, T: Number + Summable, D: Compute, O>(
    stream: &StreamHandle<D>,
    operands: O,
) -> Result<Array<T::Total, D>>
where
    O: Operands<'a, D, Expressions = (Expression<T>, Expression<T>)>,
{
    operands.reduce(stream, &Reduction::new(ReduceOperation::Sum), |(x, y)| x * y)
}
