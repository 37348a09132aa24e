//! Matrices whose elements depend on the distance from the diagonal.

use crate::{
    Array, Result,
    array::{ArrayView, AsArrayView},
    backend::Compute,
    function::{Computable, Expression, Number, Operands},
    layout::axis_index,
    stream::StreamHandle,
};

/// The distance of an element to the right of the diagonal of a matrix in the last two axes.
fn right_of_diagonal(rank: usize) -> Expression<i64> {
    Expression::position(rank - 1) - Expression::position(rank - 2)
}

/// A new matrix with 1 on the diagonal that is `k` to the right of the main one, and 0 elsewhere. It
/// takes one pass.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let matrix = math::eye::<f32, _>(&stream, 2, 3, 1)?;
/// assert_eq!(matrix.to_vec(&stream)?, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// The errors of [`Array::uninit`] and [`Operands::map`].
#[doc(alias = "identity")]
#[track_caller]
pub fn eye<T: Number, D: Compute>(
    stream: &StreamHandle<D>,
    rows: usize,
    columns: usize,
    k: i64,
) -> Result<Array<T, D>> {
    let mut result = Array::uninit(stream, &[rows, columns])?;
    (k,).map_into(stream, &mut result.view_mut(), |(k,)| right_of_diagonal(2).equal(k).cast())?;
    Ok(result)
}

/// The elements on and below the diagonal that is `k` to the right of the main one, in the matrices of
/// the last two axes; 0 elsewhere. It makes a new array, in one pass.
///
/// Does not synchronize.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
/// assert_eq!(math::tril(&stream, &x, 0)?.to_vec(&stream)?, [1, 0, 0, 4, 5, 0]);
/// assert_eq!(math::triu(&stream, &x, 1)?.to_vec(&stream)?, [0, 2, 3, 0, 0, 6]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// [`LayoutError::AxisOutOfRange`](crate::LayoutError::AxisOutOfRange): there are fewer than two axes;
/// and the errors of [`Operands::map`].
#[track_caller]
pub fn tril<T: Computable, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    k: i64,
) -> Result<Array<T, D>> {
    let x = x.as_array_view();
    let rank = matrices(&x)?;
    let zero = T::zeroed();
    (&*x, k, zero).map(stream, |(x, k, zero)| right_of_diagonal(rank).less_equal(k).select(x, zero))
}

/// The elements on and above the diagonal that is `k` to the right of the main one. The rest is as
/// in [`tril`].
///
/// Does not synchronize.
///
/// # Errors
///
/// The errors of [`tril`].
#[track_caller]
pub fn triu<T: Computable, D: Compute>(
    stream: &StreamHandle<D>,
    x: &impl AsArrayView<T, D>,
    k: i64,
) -> Result<Array<T, D>> {
    let x = x.as_array_view();
    let rank = matrices(&x)?;
    let zero = T::zeroed();
    (&*x, k, zero).map(stream, |(x, k, zero)| right_of_diagonal(rank).greater_equal(k).select(x, zero))
}

/// The rank, which must be at least two.
#[track_caller]
fn matrices<T: Computable, D: Compute>(x: &ArrayView<'_, T, D>) -> Result<usize> {
    axis_index(-2, x.rank())?;
    Ok(x.rank())
}
