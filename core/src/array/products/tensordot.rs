//! Products over axes that are named by number.

use smallvec::SmallVec;

use crate::{
    Result,
    array::{Array, ArrayView, AsArrayView, Element, Reshaped},
    backend::{Compute, Device},
    function::Number,
    layout::{Axes, LayoutError, Order, axis_index},
    product::wrong_shape,
    stream::StreamHandle,
};

impl<T: Number, D: Device> ArrayView<'_, T, D> {
    /// Sums products over pairs of axes, `axes[i]` of this view with `other_axes[i]` of the other:
    /// NumPy's `tensordot`. The result has the axes that are left, this view's first: a new array
    /// in C order. Does not synchronize.
    ///
    /// It is a [matrix product](Self::matmul). Its chain goes over the pairs in the given order, the
    /// last pair fastest. An operand whose axes cannot be seen as the axes of a matrix is copied first.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
    /// let b = Array::from_slice(&stream, &[2, 2], &[1, 0, 0, 10])?;
    /// let sums = a.tensordot(&stream, &b, &[0], &[1])?; // for each column of a and row of b
    /// assert_eq!((sums.shape(), sums.to_vec(&stream)?), (&[3, 2][..], vec![1, 40, 2, 50, 3, 60]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    /// - [`Error::Product`](crate::Error::Product): the two lists have different lengths, or the
    ///   extents of a pair differ.
    /// - The errors of [`matmul`](Self::matmul).
    #[track_caller]
    pub fn tensordot(
        &self,
        stream: &StreamHandle<D>,
        other: &impl AsArrayView<T, D>,
        axes: &[isize],
        other_axes: &[isize],
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let other = other.as_array_view();
        let (summed, kept) = parts(axes, self.rank())?;
        let (other_summed, other_kept) = parts(other_axes, other.rank())?;
        let extents = |view: &ArrayView<'_, T, D>, axes: &[usize]| -> Axes<usize> {
            axes.iter().map(|&axis| view.shape()[axis]).collect()
        };
        let (depths, other_depths) = (extents(self, &summed), extents(&other, &other_summed));
        if depths != other_depths {
            let message =
                format!("axes of {depths:?} elements cannot be summed with axes of {other_depths:?}");
            return Err(wrong_shape(message).into());
        }
        let (rows, columns) = (extents(self, &kept), extents(&other, &other_kept));
        let left = self.permute(&signed(kept.iter().chain(&summed))[..])?;
        let right = other.permute(&signed(other_summed.iter().chain(&other_kept))[..])?;
        let [m, k, n] = [&rows, &depths, &columns].map(|extents| extents.iter().product());
        let left = as_shape(stream, &left, &[m, k])?;
        let right = as_shape(stream, &right, &[k, n])?;
        let product = view_of(&left).matmul(stream, &view_of(&right))?;
        let shape: Axes<usize> = rows.iter().chain(&columns).copied().collect();
        let layout = product.layout().reshape(&shape[..], Order::C)?;
        Ok(product.into_layout(layout))
    }
}

/// The named axes, then the others in their order.
#[track_caller]
fn parts(axes: &[isize], rank: usize) -> Result<(Axes<usize>, Axes<usize>)> {
    let mut named: Axes<usize> = Axes::new();
    for &axis in axes {
        let axis = axis_index(axis, rank)?;
        if named.contains(&axis) {
            return Err(LayoutError::RepeatedAxis { axis }.into());
        }
        named.push(axis);
    }
    let others = (0..rank).filter(|axis| !named.contains(axis)).collect();
    Ok((named, others))
}

pub(super) fn signed<'a>(axes: impl Iterator<Item = &'a usize>) -> SmallVec<[isize; 8]> {
    axes.map(|axis| axis.cast_signed()).collect()
}

/// The elements in another shape: a view, or a copy where no view exists.
#[track_caller]
pub(super) fn as_shape<'a, T: Element, D: Device>(
    stream: &StreamHandle<D>,
    view: &ArrayView<'a, T, D>,
    shape: &[usize],
) -> Result<Reshaped<ArrayView<'a, T, D>, Array<T, D>>> {
    view.reshape_or_copy(stream, shape, Order::C)
}

pub(super) fn view_of<'r, T: Element, D: Device>(
    reshaped: &'r Reshaped<ArrayView<'_, T, D>, Array<T, D>>,
) -> ArrayView<'r, T, D> {
    match reshaped {
        Reshaped::View(view) => view.clone(),
        Reshaped::Copied(array) => array.view(),
    }
}
