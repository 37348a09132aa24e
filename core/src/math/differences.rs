//! Differences of neighbours.

use crate::{
    Array, Order, Result,
    array::{ArrayView, AsArrayView},
    backend::Compute,
    function::{Number, Operands},
    layout::{Integer, axis_index},
    stream::StreamHandle,
};

/// The differences of neighbours along an axis, `x[k + 1] - x[k]`, `order` times. Integers wrap.
///
/// Each time takes one pass, over an array that is shorter by one. With too few elements the result
/// has none. The result is a new array.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[4], &[1, 4, 9, 16])?;
/// assert_eq!(math::diff(&stream, &x, 0, 1)?.to_vec(&stream)?, [3, 5, 7]);
/// assert_eq!(math::diff(&stream, &x, -1, 2)?.to_vec(&stream)?, [2, 2]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The axis is out of range; and the errors of [`Operands::map`].
#[track_caller]
pub fn diff<T: Number, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    axis: impl Integer,
    order: usize,
) -> Result<Array<T, D>> {
    let x = x.as_array_view();
    let axis = axis_index(axis, x.rank())?;
    let once = |x: &ArrayView<'_, T, D>| {
        let last = x.shape()[axis].saturating_sub(1);
        (&x.slice_axis(axis, 1..)?, &x.slice_axis(axis, ..last)?).map(stream, |(next, x)| next - x)
    };
    if order == 0 {
        return x.to_contiguous(stream, Order::C);
    }
    let mut result = once(&x)?;
    for _ in 1..order.min(x.shape()[axis].max(1)) {
        result = once(&result.view())?;
    }
    Ok(result)
}
