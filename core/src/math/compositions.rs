//! Functions of several launches, in as few passes as possible.

use crate::{
    Array, ArrayView, ArrayViewMut, Result,
    array::{AsArrayView, AsArrayViewMut, Normalization, Summable, dot as dot_of},
    backend::Compute,
    function::{Expression, Float, Number, Operand, Operands, ReduceOperation, Reduction},
    layout::{Integer, position},
    stream::StreamHandle,
};

/// `exp(x - max)` divided by its sum along an axis. If the device can keep the elements along the
/// axis, each element is read once and written once; otherwise it is read three times.
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
/// The axis is out of range or has no elements, and as [`Operands::map`].
#[track_caller]
pub fn softmax<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axis: impl Integer,
) -> Result<Array<T, D>> {
    normalized(Normalization::Softmax, stream, &x.as_array_view(), position(axis))
}

/// As [`softmax`], into elements that exist, of any strides.
///
/// Does not synchronize.
///
/// # Errors
///
/// As [`softmax`]; also [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch), if
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

/// The logarithm of [`softmax`], without its rounding: `x - max - log(sum(exp(x - max)))`.
///
/// Does not synchronize.
///
/// # Errors
///
/// As [`softmax`].
#[track_caller]
pub fn log_softmax<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axis: impl Integer,
) -> Result<Array<T, D>> {
    normalized(Normalization::LogSoftmax, stream, &x.as_array_view(), position(axis))
}

/// As [`log_softmax`], into elements that exist, of any strides.
///
/// Does not synchronize.
///
/// # Errors
///
/// As [`softmax_into`].
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

/// The square root of the sum of squares, of all elements. One pass.
///
/// Does not synchronize.
///
/// # Errors
///
/// As [`Operands::map`].
#[track_caller]
pub fn norm<T: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
) -> Result<Array<T, D>> {
    let x = &*x.as_array_view();
    let squares: Array<T, D> = (x,).reduce(stream, &Reduction::new(ReduceOperation::Sum), |(x,)| x * x)?;
    squares.map(stream, Expression::sqrt)
}

/// The sum of the products of the elements of two arrays, broadcast together. One pass.
///
/// Does not synchronize.
///
/// # Errors
///
/// As [`Operands::map`].
#[track_caller]
pub fn dot<'a, T: Number + Summable, D: Compute>(
    stream: &StreamHandle<D>,
    x: impl Operand<'a, D, Item = T>,
    y: impl Operand<'a, D, Item = T>,
) -> Result<Array<T::Total, D>> {
    dot_of(stream, (x, y))
}

/// `count` numbers at equal distances, from `first` to `last`; a single number is `first`. One
/// pass.
///
/// Computed in `f64` and rounded once, as NumPy's. Without the last: [`linspace`] of one number
/// more, cut.
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
/// As [`Array::uninit`] and [`Operands::map`].
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
        let (start, at) = (first.cast::<f64>(), Expression::position(0).cast::<f64>());
        let distance = last.cast::<f64>() - start;
        let step = distance / steps;
        // If the step rounds to 0, the position is divided by the number of steps first.
        let above = step.equal(0.0).select(at / steps * distance, at * step);
        let between = (above + start).cast::<T>();
        at.equal(0.0).select(first, at.equal(steps).select(last, between))
    })?;
    Ok(result)
}
