//! Functions that take several launches, in as few passes as possible.

use crate::{
    Array, ArrayView, ArrayViewMut, Result,
    array::{AsArrayView, AsArrayViewMut, Normalization},
    backend::Compute,
    function::{
        Computable, ElementType, Expression, Float, Number, Operand, Operands, ReduceOperation, Reduction,
        Summable,
    },
    layout::{Integer, position},
    stream::StreamHandle,
};

/// `exp(x - max)` divided by its sum along an axis. If the device can keep the elements along the
/// axis, each element is read once and written once; otherwise it is read three times.
///
/// `f16` and `bf16` are computed in `f32`, including the sum, and rounded once at the end.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 2], &[0.0_f32, 0.0, 1000.0, 1000.0])?;
/// assert_eq!(math::softmax(&stream, &x, -1)?.to_vec(&stream)?, [0.5; 4]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The axis is out of range or has no elements; and the errors of [`Operands::map`].
#[track_caller]
pub fn softmax<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axis: impl Integer,
) -> Result<Array<T, D>> {
    normalized(Normalization::Softmax, stream, &x.as_array_view(), position(axis))
}

/// Like [`softmax`], into existing elements of any strides.
///
/// Does not synchronize.
///
/// # Errors
///
/// The errors of [`softmax`]; also [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch), if
/// `result` has another shape.
#[track_caller]
pub fn softmax_into<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axis: impl Integer,
    result: &mut impl AsArrayViewMut<T, D>,
) -> Result<()> {
    normalized_into(
        Normalization::Softmax,
        stream,
        &x.as_array_view(),
        position(axis),
        &mut result.as_array_view_mut(),
    )
}

/// The logarithm of [`softmax`], without the rounding between: `x - max - log(sum(exp(x - max)))`.
///
/// `f16` and `bf16` are computed in `f32` and rounded once at the end.
///
/// Does not synchronize.
///
/// # Errors
///
/// The errors of [`softmax`].
#[track_caller]
pub fn log_softmax<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axis: impl Integer,
) -> Result<Array<T, D>> {
    normalized(Normalization::LogSoftmax, stream, &x.as_array_view(), position(axis))
}

/// Like [`log_softmax`], into existing elements of any strides.
///
/// Does not synchronize.
///
/// # Errors
///
/// The errors of [`softmax_into`].
#[track_caller]
pub fn log_softmax_into<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axis: impl Integer,
    result: &mut impl AsArrayViewMut<T, D>,
) -> Result<()> {
    normalized_into(
        Normalization::LogSoftmax,
        stream,
        &x.as_array_view(),
        position(axis),
        &mut result.as_array_view_mut(),
    )
}

#[track_caller]
fn normalized<T: Float, D: Compute>(
    which: Normalization,
    stream: &StreamHandle<D>,
    x: &ArrayView<'_, T, D>,
    axis: isize,
) -> Result<Array<T, D>> {
    let mut result = Array::uninit(stream, x.shape())?;
    normalized_into(which, stream, x, axis, &mut result.view_mut())?;
    Ok(result)
}

#[track_caller]
fn normalized_into<T: Float, D: Compute>(
    which: Normalization,
    stream: &StreamHandle<D>,
    x: &ArrayView<'_, T, D>,
    axis: isize,
    result: &mut ArrayViewMut<'_, T, D>,
) -> Result<()> {
    let x = x.clone().into_erased();
    which.compute(stream, (&x, T::TYPE), axis, &mut result.reborrow().into_erased())
}

/// The square root of the sum of the squares of all elements. It overflows, or is 0 though an
/// element is not, only if the result itself does not fit its type.
///
/// `f16`, `bf16` and `f32` take one pass: squares, their sum and its root are `f64`, and the root is
/// rounded once. `f64` takes two passes. The first finds the greatest element, which determines the
/// power of two by which the others are scaled before they are squared; between 2^-400 and 2^400
/// nothing is scaled. The result is NaN if an element is NaN; else infinite if an element is
/// infinite; and 0 if there are no elements.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2], &[3.0, -4.0])?;
/// assert_eq!(math::norm(&stream, &x)?.item(&stream)?, 5.0);
/// let x = x.map(&stream, |x| x * 2.0_f64.powi(1000))?;
/// assert_eq!(math::norm(&stream, &x)?.item(&stream)?, 5.0 * 2.0_f64.powi(1000));
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`Operands::map`].
#[doc(alias = "vector_norm")]
#[track_caller]
pub fn norm<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
) -> Result<Array<T, D>> {
    let (x, sum) = (&*x.as_array_view(), Reduction::new(ReduceOperation::Sum));
    if T::TYPE != ElementType::F64 {
        // No square of these types exceeds the range of `f64`.
        return (x,).reduce(stream, &sum.outcome(T::TYPE, true), |(x,)| x.cast::<f64>().square());
    }
    let greatest = Reduction::new(ReduceOperation::Maximum).initial(0.0_f64);
    let greatest: Array<f64, D> = (x,).reduce(stream, &greatest, |(x,)| x.cast::<f64>().abs())?;
    // Powers of two, so that scaling does not round.
    let scale = |greatest: Expression<f64>| {
        let (high, low) = (greatest.greater(2.0_f64.powi(400)), greatest.less(2.0_f64.powi(-400)));
        high.select(2.0_f64.powi(-600), low.select(2.0_f64.powi(600), 1.0))
    };
    let squares: Array<f64, D> =
        (x, &greatest).reduce(stream, &sum, |(x, greatest)| (x.cast::<f64>() * scale(greatest)).square())?;
    (&squares, &greatest).map(stream, |(squares, greatest)| (squares.sqrt() / scale(greatest)).cast())
}

/// The sum of the products of the elements of two arrays, broadcast together. It takes one pass.
///
/// Products have the type in which they are added. For `f16` and `bf16` this is `f32`, and the sum is
/// rounded once at the end. For integers it is the 64-bit type of the sum, which wraps. For `f32` and
/// `f64` each product is rounded to the type, then added.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[5], &[200_u8; 5])?;
/// assert_eq!(math::dot(&stream, &x, &x)?.item(&stream)?, 200_000_u64);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`Operands::map`].
#[doc(alias = "vdot", alias = "inner")]
#[track_caller]
pub fn dot<'a, T: Number + Summable, D: Compute>(
    stream: &StreamHandle<D>,
    x: impl Operand<'a, D, Item = T>,
    y: impl Operand<'a, D, Item = T>,
) -> Result<Array<T::Total, D>> {
    let sum = Reduction::new(ReduceOperation::Sum).outcome(<T::Total as Computable>::TYPE, false);
    (x, y).reduce(stream, &sum, |(x, y)| x.cast::<T::Accumulator>() * y.cast())
}

/// `count` numbers at equal distances, from `first` to `last`; a single number is `first`. It takes
/// one pass.
///
/// Numbers are computed in `f64` and rounded once, as in NumPy. To leave the last one out, make one
/// number more and cut it off.
///
/// Between finite ends every number is finite and lies between the ends, even if their distance is
/// not finite; equal ends give that number. If one end is infinite, the numbers between are
/// infinite too. Between two different infinities, or beside NaN, they are NaN.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Context, math};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// assert_eq!(math::linspace(&stream, 0.0_f32, 1.0, 5)?.to_vec(&stream)?, [0.0, 0.25, 0.5, 0.75, 1.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`Array::uninit`] and [`Operands::map`].
#[track_caller]
pub fn linspace<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    first: T,
    last: T,
    count: usize,
) -> Result<Array<T, D>> {
    let mut result = Array::uninit(stream, &[count])?;
    let steps = count.saturating_sub(1) as f64;
    (first, last, steps).map_into(stream, &mut result.view_mut(), |(first, last, steps)| {
        let (start, end) = (first.cast::<f64>(), last.cast::<f64>());
        let at = Expression::position(0).cast::<f64>();
        let distance = end - start;
        let step = distance / steps;
        // A subnormal step is rounded by too much. Then the position is divided by the number of steps first.
        let is_small = step.abs().less(f64::MIN_POSITIVE);
        let above = is_small.select(at / steps * distance, at * step);
        // If the distance is too large, both ends are halved first.
        let half_step = (end * 0.5 - start * 0.5) / steps;
        let doubled = (start * 0.5 + at * half_step) * 2.0;
        let apart = (start.is_finite() & end.is_finite()).select(doubled, start + end);
        let between = distance.is_finite().select(above + start, apart);
        // The minimum or maximum keeps the sign of zeros.
        let between = start.equal(end).select(start.maximum(end), between).cast::<T>();
        at.equal(0.0).select(first, at.equal(steps).select(last, between))
    })?;
    Ok(result)
}
