//! Sorting, quantiles and medians.

use super::{calls, first, into, typed};
use crate::{
    Result,
    array::{Array, ArrayView, AsArrayViewMut},
    backend::{Compute, Device},
    function::{Computable, Float},
    layout::{Integer, position},
    order::Call,
    stream::StreamHandle,
};

calls! {
    /// Sorts the elements along an axis, ascending, into a new array in C order. Does not
    /// synchronize.
    ///
    /// Numbers are ordered by value, false before true, NaNs last. Equal elements keep their order;
    /// −0 and +0 are equal, and so are NaNs, whose bits stay. An axis without elements has nothing
    /// to order.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 3], &[3, 1, 2, 9, 8, 7])?;
    /// assert_eq!(x.sort(&stream, -1)?.to_vec(&stream)?, [1, 2, 3, 7, 8, 9]);
    /// assert_eq!(x.argsort(&stream, 1)?.to_vec(&stream)?, [1, 2, 0, 2, 1, 0]);
    /// assert_eq!(x.sort_descending(&stream, 0)?.to_vec(&stream)?, [9, 8, 7, 3, 1, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    sort sort_into Computable (axis: impl Integer) -> T: Call::Sort { axis: position(axis), descending: false };
    /// Like [`sort`](Self::sort), from the greatest down, NaNs first. Does not synchronize. Equal
    /// elements keep their order here too.
    sort_descending sort_descending_into Computable (axis: impl Integer) -> T:
        Call::Sort { axis: position(axis), descending: true };
    /// Finds the positions along an axis that put the elements in ascending order, into a new array
    /// in C order. Does not synchronize. [`take_along_axis`](Self::take_along_axis) with them is
    /// [`sort`](Self::sort), to the bit.
    argsort argsort_into Computable (axis: impl Integer) -> i64:
        Call::ArgSort { axis: position(axis), descending: false };
    /// Like [`argsort`](Self::argsort), from the greatest down. Does not synchronize. Equal elements
    /// keep their order here too.
    argsort_descending argsort_descending_into Computable (axis: impl Integer) -> i64:
        Call::ArgSort { axis: position(axis), descending: true };
    /// Finds the value at position `q (n − 1)` of the order of the `n` elements of an axis, between
    /// two neighbours in proportion. The result does not have the axis. Does not synchronize.
    ///
    /// Elements are floats: cast integers first. The result is NaN if an element is NaN. Every device gives
    /// one value, which [the manual](crate::manual::_d_order) states. A `q` outside 0 … 1, or an axis without
    /// elements, is an error.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 3], &[4.0, 1.0, 2.0, 0.0, 8.0, 1.0])?;
    /// assert_eq!(x.median(&stream, -1)?.to_vec(&stream)?, [2.0, 1.0]);
    /// assert_eq!(x.quantile(&stream, 0.25, 1)?.to_vec(&stream)?, [1.5, 0.5]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "percentile")]
    quantile quantile_into Float (q: f64, axis: impl Integer) -> T: Call::Quantile { q, axis: position(axis) };
    /// The middle of the order of an axis: [`quantile`](Self::quantile) at ½, of floats. Does not synchronize.
    median median_into Float (axis: impl Integer) -> T: Call::Quantile { q: 0.5, axis: position(axis) };
}
