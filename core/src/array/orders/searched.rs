//! Searching in ascending elements.

use super::{calls, first, into, typed};
use crate::{
    Result,
    array::{Array, ArrayView, AsArrayView, AsArrayViewMut},
    backend::{Compute, Device},
    function::{Computable, Number},
    order::{Call, Side},
    stream::StreamHandle,
};

calls! {
    /// For each element of `v`, counts how many of these elements, which ascend along their one
    /// axis, are below it; with [`Side::Right`], how many are not above it. The result is a new
    /// array in `v`'s shape. Does not synchronize.
    ///
    /// If the elements do not ascend, the result is some position, and no other memory is touched.
    ///
    /// ```
    /// use devarray::{Array, Context, order::Side};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let bins = Array::from_slice(&stream, &[3], &[10, 20, 20])?;
    /// let v = Array::from_slice(&stream, &[4], &[5, 10, 20, 30])?;
    /// assert_eq!(bins.search_sorted(&stream, &v, Side::Left)?.to_vec(&stream)?, [0, 0, 1, 3]);
    /// assert_eq!(bins.search_sorted(&stream, &v, Side::Right)?.to_vec(&stream)?, [0, 1, 3, 3]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "searchsorted", alias = "bucketize", alias = "digitize")]
    search_sorted search_sorted_into Computable [v] (side: Side) -> i64:
        Call::SearchSorted { right: side == Side::Right };
    /// Counts how many elements are in each interval between neighbours of `edges`, which ascend
    /// along their one axis. There is one count less than there are edges. Does not synchronize.
    ///
    /// An interval includes its lower edge and excludes its upper one; the last interval includes
    /// both. NaN and elements outside are not counted. Where edges are equal, elements go to the
    /// last interval that they begin.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 2], &[0.1, 0.5, 1.0, 7.0])?;
    /// let edges = Array::from_slice(&stream, &[3], &[0.0, 0.5, 1.0])?;
    /// assert_eq!(x.histogram(&stream, &edges)?.to_vec(&stream)?, [1, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "histc")]
    histogram histogram_into Number [edges] () -> i64: Call::Histogram;
}
