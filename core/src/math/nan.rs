//! Reductions that ignore NaN, and the logarithm of a sum of exponentials.

use crate::{
    Array, Bool, Result,
    array::{ArrayView, AsArrayView},
    backend::Compute,
    function::{
        ElementType, Expression, Float, IntoExpression, Operands, ReduceOperation, ReducedAxes, Reduction,
    },
    stream::StreamHandle,
};

/// Makes another reduction over the same axes.
fn along(operation: ReduceOperation, axes: &Reduction) -> Reduction {
    Reduction { axes: axes.axes.clone(), ..Reduction::new(operation) }
}

/// A number that every float type has, such as infinity or NaN.
fn constant<T: Float>(value: f64) -> Expression<T> {
    IntoExpression::<f64>::into_expression(value).cast()
}

/// The sum of the elements that are not NaN, over axes, `..` for all. It takes one pass.
///
/// NaN counts as 0, so the sum keeps its order; it is 0 if all are NaN. Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[4], &[1.0, f64::NAN, 2.0, 6.0])?;
/// assert_eq!(math::nan_sum(&stream, &x, ..)?.item(&stream)?, 9.0);
/// assert_eq!(math::nan_mean(&stream, &x, ..)?.item(&stream)?, 3.0);
/// assert_eq!(math::nan_min(&stream, &x, ..)?.item(&stream)?, 1.0);
/// assert_eq!(math::nan_max(&stream, &x, 0)?.item(&stream)?, 6.0);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`ArrayView::reduce_where`].
#[doc(alias = "nansum")]
#[track_caller]
pub fn nan_sum<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axes: impl ReducedAxes,
) -> Result<Array<T, D>> {
    numbers(ReduceOperation::Sum, stream, &x.as_array_view(), axes)
}

/// The mean of the elements that are not NaN, over axes, `..` for all; NaN if all are NaN.
///
/// It takes two passes, one to count, and a quotient. Does not synchronize.
///
/// # Errors
///
/// The errors of [`ArrayView::reduce_where`].
#[doc(alias = "nanmean")]
#[track_caller]
pub fn nan_mean<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axes: impl ReducedAxes,
) -> Result<Array<T, D>> {
    numbers(ReduceOperation::Mean, stream, &x.as_array_view(), axes)
}

#[track_caller]
fn numbers<T: Float, D: Compute>(
    operation: ReduceOperation,
    stream: &StreamHandle<D>,
    x: &ArrayView<'_, T, D>,
    axes: impl ReducedAxes,
) -> Result<Array<T, D>> {
    (x,).reduce_where(stream, &axes.apply_to(Reduction::new(operation)), |(x,)| (!x.is_nan(), x))
}

/// The least of the elements that are not NaN, over axes, `..` for all; NaN if all are NaN.
///
/// It takes two passes, one to look for numbers, and a selection. Does not synchronize.
///
/// # Errors
///
/// The errors of [`ArrayView::min`]: also where there is no element.
#[doc(alias = "nanmin")]
#[track_caller]
pub fn nan_min<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axes: impl ReducedAxes,
) -> Result<Array<T, D>> {
    extreme(ReduceOperation::Minimum, f64::INFINITY, stream, &x.as_array_view(), axes)
}

/// The greatest of the elements that are not NaN, over axes, `..` for all; NaN if all are NaN.
///
/// The rest is as in [`nan_min`]. Does not synchronize.
///
/// # Errors
///
/// The errors of [`nan_min`].
#[doc(alias = "nanmax")]
#[track_caller]
pub fn nan_max<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axes: impl ReducedAxes,
) -> Result<Array<T, D>> {
    extreme(ReduceOperation::Maximum, f64::NEG_INFINITY, stream, &x.as_array_view(), axes)
}

#[track_caller]
fn extreme<T: Float, D: Compute>(
    operation: ReduceOperation,
    beyond: f64,
    stream: &StreamHandle<D>,
    x: &ArrayView<'_, T, D>,
    axes: impl ReducedAxes,
) -> Result<Array<T, D>> {
    let reduction = axes.apply_to(Reduction::new(operation));
    let found: Array<T, D> =
        (x,).reduce(stream, &reduction, |(x,)| x.is_nan().select(constant::<T>(beyond), x))?;
    let none: Array<Bool, D> =
        (x,).reduce(stream, &along(ReduceOperation::All, &reduction), |(x,)| x.is_nan())?;
    (&found, &none).map(stream, |(found, none)| none.select(constant::<T>(f64::NAN), found))
}

/// The logarithm of the sum of `exp(x)` over axes, `..` for all, without overflow on the way.
///
/// The result is +∞ if an element is +∞; −∞ if all are −∞, or if there are none; NaN if an element is
/// NaN. `f16` and `bf16` are computed in `f32` and rounded once at the end. It takes two passes: one
/// for the greatest, one for the sum of `exp(x - greatest)`.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2], &[1000.0_f64, 1000.0])?;
/// assert_eq!(math::log_sum_exp(&stream, &x, ..)?.item(&stream)?, 1000.0 + 2.0_f64.ln());
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`ArrayView::sum`].
#[doc(alias = "logsumexp")]
#[track_caller]
pub fn log_sum_exp<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axes: impl ReducedAxes,
) -> Result<Array<T, D>> {
    let (x, axes) = (x.as_array_view(), axes.apply_to(Reduction::new(ReduceOperation::Sum)));
    match T::TYPE {
        ElementType::F64 => log_sum_exp_in(stream, &x, &axes, f64::NEG_INFINITY),
        _ => log_sum_exp_in(stream, &x, &axes, f32::NEG_INFINITY),
    }
}

#[track_caller]
fn log_sum_exp_in<A: Float, T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &ArrayView<'_, T, D>,
    axes: &Reduction,
    beyond: A,
) -> Result<Array<T, D>> {
    let greatest = along(ReduceOperation::Maximum, axes).initial(beyond).keep_axes();
    let greatest: Array<A, D> = (x,).reduce(stream, &greatest, |(x,)| x.cast::<A>())?;
    // An infinite maximum is not subtracted: its difference to itself would be NaN.
    let shift = |greatest: Expression<A>| greatest.is_finite().select(greatest, constant::<A>(0.0));
    let sums = along(ReduceOperation::Sum, axes).keep_axes();
    let sums: Array<A, D> =
        (x, &greatest).reduce(stream, &sums, |(x, greatest)| (x.cast::<A>() - shift(greatest)).exp())?;
    let gone: Vec<isize> =
        axes.axes.clone().unwrap_or_else(|| (0..x.rank()).map(usize::cast_signed).collect());
    let (sums, greatest) = (sums.view().squeeze_axes(&gone[..])?, greatest.view().squeeze_axes(&gone[..])?);
    (&sums, &greatest).map(stream, |(sums, greatest)| (sums.ln() + shift(greatest)).cast())
}
