//! Products of sparse matrices.

use crate::{
    Array, LayoutError, Result,
    array::AsArrayView,
    backend::Compute,
    function::{Computable, Number, Operands, Summable},
    gather::{Index, OutOfRange},
    stream::StreamHandle,
};

/// A matrix of compressed sparse rows times a vector, or times the columns of a matrix.
///
/// Row `r` has the elements `values[k]` in the columns `columns[k]`, for `k` from `offsets[r]` up to
/// `offsets[r + 1]`; columns may come in any order and repeat. `x` has one element, or one row, for each
/// column. The result has one for each row. The first offset need not be 0, nor the last the number of
/// values: elements in front of the first and behind the last are in no row, and are left out.
///
/// Each element is what [`dot`](super::dot) is of its products, in the order of `k`: one value, on every
/// device. Three passes: one takes `x` by column, one multiplies, one sums; two arrays of as many
/// elements as there are products are kept between. Rounding `f16` and `bf16` takes one pass more over
/// the result.
///
/// Does not synchronize. Columns and offsets that have no place are told by a later wait, as
/// [`Error::Index`](crate::Error::Index). Negative columns count from the end.
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
/// - [`LayoutError::ShapeMismatch`]: not as many values as columns,
///   or more axes than one.
/// - The errors of [`take`](crate::ArrayView::take), [`Operands::map`] and [`segment_sum`](crate::ArrayView::segment_sum).
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
    T::Accumulator: Summable,
{
    let (values, columns, x) = (values.as_array_view(), columns.as_array_view(), x.as_array_view());
    if columns.rank() != 1 || values.shape() != columns.shape() {
        let (expected, found) = (columns.shape().into(), values.shape().into());
        return Err(LayoutError::ShapeMismatch { expected, found }.into());
    }
    let taken = x.take(stream, &*columns, 0, OutOfRange::Error)?;
    let mut factors = values.clone();
    for axis in 1..taken.rank() {
        factors = factors.expand_dims(axis)?;
    }
    let products: Array<T::Accumulator, D> =
        (&taken, &factors).map(stream, |(x, value)| x.cast::<T::Accumulator>() * value.cast())?;
    let sums = products.segment_sum(stream, offsets)?;
    let (from, to) =
        (<<T::Accumulator as Summable>::Total as Computable>::TYPE, <T::Total as Computable>::TYPE);
    if from == to {
        return Ok(Array::of_erased(sums.into_erased()));
    }
    (&sums,).map(stream, |(sums,)| sums.cast())
}
