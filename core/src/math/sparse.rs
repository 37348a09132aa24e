//! Products of sparse matrices.

use crate::{
    Array, LayoutError, Result,
    array::{AsArrayView, ReadIndices, first, typed},
    backend::Compute,
    function::{Number, Summable},
    gather::Index,
    order::Call,
    stream::StreamHandle,
};

/// Multiplies a matrix in compressed sparse rows with a vector, or with the columns of a matrix.
///
/// Row `r` has the elements `values[k]` in the columns `columns[k]`, for `k` from `offsets[r]` up to
/// `offsets[r + 1]`; columns may come in any order and repeat. `x` has one element, or one row, for each
/// column. The result has one element, or one row, for each row. The first offset need not be 0, nor the
/// last the number of values: values before the first offset and after the last are in no row, and are
/// left out.
///
/// Each element equals [`dot`](super::dot) of its products, in the order of `k`: one value, on every
/// device. Products are rounded to the type that sums are computed in, which is `f32` for `f16` and `bf16`,
/// and sums of these are rounded at the end. So products of `f16` do not overflow at 65,504, as they do in
/// `dot`. The call takes one pass and stores nothing between. Each index type that devices do not read takes
/// one more pass ([`Index`]).
///
/// Does not synchronize. Negative columns count from the end. A column out of range counts as zeros. A
/// row whose offsets fall or are out of range is 0. A later wait reports the first such index, as
/// [`Error::Index`](crate::Error::Index): offsets come before columns, and columns of values in no row
/// count too. If `x` has no elements per column, no index is looked at.
///
/// ```
/// use devarray::{Array, Context, math};
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// // [[2, 0, 1], [0, 0, 0], [0, 3, 0]]
/// let values = Array::from_slice(&stream, &[3], &[2.0_f32, 1.0, 3.0])?;
/// let columns = Array::from_slice(&stream, &[3], &[0, 2, 1])?;
/// let offsets = Array::from_slice(&stream, &[4], &[0, 2, 2, 3])?;
/// let x = Array::from_slice(&stream, &[3], &[1.0, 10.0, 100.0])?;
/// let y = math::csr_dot(&stream, &values, &columns, &offsets, &x)?;
/// assert_eq!(y.to_vec(&stream)?, [102.0, 0.0, 30.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// # Errors
///
/// - [`LayoutError::ShapeMismatch`]: there are not as many values as columns, or they have more
///   than one axis.
/// - [`Error::Order`](crate::Error::Order): `x` has no axis, the offsets are not 1-D, or there is none.
/// - [`LayoutError::Overflow`]: more than 2^48 elements, which only broadcast views have.
/// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's stream or array,
///   and any other device error.
#[doc(alias = "spmv", alias = "csr_matrix")]
#[track_caller]
pub fn csr_dot<T, I: Index, J: Index, D: Compute>(
    stream: &StreamHandle<D>,
    values: &impl AsArrayView<T, D>,
    columns: &impl AsArrayView<I, D>,
    offsets: &impl AsArrayView<J, D>,
    x: &impl AsArrayView<T, D>,
) -> Result<Array<T::Total, D>>
where
    T: Number + Summable,
{
    let (values, columns, x) = (values.as_array_view(), columns.as_array_view(), x.as_array_view());
    if columns.rank() != 1 || values.shape() != columns.shape() {
        let (expected, found) = (columns.shape().into(), values.shape().into());
        return Err(LayoutError::ShapeMismatch { expected, found }.into());
    }
    let columns = ReadIndices::new(stream, &columns)?;
    let offsets = offsets.as_array_view();
    let offsets = ReadIndices::new(stream, &offsets)?;
    first(Call::CsrDot, stream, &[typed(&values), columns.typed(), offsets.typed(), typed(&x)])
}
