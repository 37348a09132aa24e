//! Results whose number of rows only the device knows: distinct elements, and places that are not zero.

use super::{all, first, typed};
use crate::{
    Result,
    array::{Array, ArrayView, AsArrayViewMut, device_call::submit},
    backend::{Compute, Device},
    function::Computable,
    order::Call,
    stream::StreamHandle,
};

/// The distinct elements of an array, and where they are.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "complete by nature")]
pub struct Unique<T: Computable, D: Device> {
    /// The distinct elements, ascending. The first of equal elements represents them.
    pub elements: Array<T, D>,
    /// Where each distinct element occurs first, in row-major order.
    pub positions: Array<i64, D>,
    /// For each element of the array, the index of its distinct element, in the array's shape.
    pub inverse: Array<i64, D>,
    /// The number of times that each distinct element occurs.
    pub counts: Array<i64, D>,
}

impl<T: Computable, D: Device> ArrayView<'_, T, D> {
    /// The distinct elements in ascending order, in a new 1-D array. Blocks until they are counted:
    /// their number is its extent. [`unique_into`](Self::unique_into) does not block.
    ///
    /// All zeros count as one element, and so do all NaNs. The first of equal elements in row-major
    /// order represents them, and its bits stay.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 3], &[3, 1, 3, 2, 1, 3])?;
    /// assert_eq!(x.unique(&stream)?.to_vec(&stream)?, [1, 2, 3]);
    /// let all = x.unique_all(&stream)?;
    /// assert_eq!(all.counts.to_vec(&stream)?, [2, 1, 3]);
    /// assert_eq!(all.positions.to_vec(&stream)?, [1, 3, 0]);
    /// assert_eq!(all.inverse.to_vec(&stream)?, [2, 0, 2, 1, 0, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's stream or
    ///   array, an error reported by the wait, and any other device error.
    /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow): more than 2^48 elements, which only
    ///   broadcast views have.
    #[track_caller]
    pub fn unique(&self, stream: &StreamHandle<D>) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        first(Call::Unique, stream, &[typed(self)])
    }

    /// Like [`unique`](Self::unique), with positions and counts, and with the index of each element's
    /// distinct one. Blocks likewise.
    ///
    /// # Errors
    ///
    /// The errors of [`unique`](Self::unique).
    #[doc(alias = "unique_counts", alias = "unique_inverse", alias = "value_counts")]
    #[track_caller]
    pub fn unique_all(&self, stream: &StreamHandle<D>) -> Result<Unique<T, D>>
    where
        D: Compute,
    {
        let mut next = all(Call::Unique, stream, typed(self))?;
        Ok(Unique {
            elements: Array::of_erased(next()),
            positions: Array::of_erased(next()),
            inverse: Array::of_erased(next()),
            counts: Array::of_erased(next()),
        })
    }

    /// Like [`unique`](Self::unique), into a 1-D view with enough room. The number of distinct elements
    /// is written to `count`, on the device. Does not synchronize.
    ///
    /// Elements of the view after them stay. If some do not fit, a later wait reports the first as
    /// an index. [`DeviceCall`](crate::order::DeviceCall) writes positions, counts and the inverse
    /// in this way too.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[4], &[3, 1, 3, 1])?;
    /// let (mut room, mut count) = (Array::zeros(&stream, &[4])?, Array::zeros(&stream, &[])?);
    /// x.view().unique_into(&stream, &mut room, &mut count)?;
    /// assert_eq!((room.to_vec(&stream)?, count.item(&stream)?), (vec![1, 3, 0, 0], 2));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`](crate::LayoutError::RankMismatch): the view is not 1-D, or
    ///   `count` has axes.
    /// - The errors of [`unique`](Self::unique).
    #[track_caller]
    pub fn unique_into(
        &self,
        stream: &StreamHandle<D>,
        elements: &mut impl AsArrayViewMut<T, D>,
        count: &mut impl AsArrayViewMut<i64, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (elements, count) = (elements.as_array_view_mut(), count.as_array_view_mut());
        let results = [Some(elements.elements()), None, None, None];
        submit(Call::Unique, stream, &[typed(self)], &results, Some(count.elements()))
    }

    /// The positions of the elements that are not zero, in row-major order, as rows of a new matrix
    /// `[count, rank]`: NumPy's `argwhere`. NaN is not zero. Blocks until they are counted, in a pass
    /// over the elements. [`nonzero_into`](Self::nonzero_into) does not block.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 3], &[0, 7, 0, 5, 0, 6])?;
    /// assert_eq!(x.nonzero(&stream)?.to_vec(&stream)?, [0, 1, 1, 0, 1, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`unique`](Self::unique).
    #[doc(alias = "flatnonzero")]
    #[track_caller]
    #[doc(alias = "argwhere")]
    pub fn nonzero(&self, stream: &StreamHandle<D>) -> Result<Array<i64, D>>
    where
        D: Compute,
    {
        first(Call::NonZero, stream, &[typed(self)])
    }

    /// Like [`nonzero`](Self::nonzero), into a matrix with enough rows. Their number is written to
    /// `count`, on the device. Does not synchronize.
    ///
    /// The rest is as in [`unique_into`](Self::unique_into).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`](crate::LayoutError::RankMismatch),
    ///   [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): a row does not have one
    ///   element per axis of this view, or `count` has axes.
    /// - The errors of [`unique`](Self::unique).
    #[track_caller]
    pub fn nonzero_into(
        &self,
        stream: &StreamHandle<D>,
        rows: &mut impl AsArrayViewMut<i64, D>,
        count: &mut impl AsArrayViewMut<i64, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (rows, count) = (rows.as_array_view_mut(), count.as_array_view_mut());
        submit(Call::NonZero, stream, &[typed(self)], &[Some(rows.elements())], Some(count.elements()))
    }
}

/// Emits methods of arrays that call the methods of views.
macro_rules! of_the_whole {
    ($($name:ident -> $result:ty;)*) => {
        impl<T: Computable, D: Device> Array<T, D> {$(
            #[doc = concat!("[`ArrayView::", stringify!($name), "`] of the whole array. Blocks.")]
            ///
            /// # Errors
            ///
            /// See there.
            #[track_caller]
            pub fn $name(&self, stream: &StreamHandle<D>) -> Result<$result>
            where
                D: Compute,
            {
                self.view().$name(stream)
            }
        )*}
    };
}

of_the_whole! {
    unique -> Self;
    unique_all -> Unique<T, D>;
    nonzero -> Array<i64, D>;
}
