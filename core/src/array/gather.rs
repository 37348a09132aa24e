//! Elements picked by index.

use super::{
    Array, ArrayView, ArrayViewMut, AsArrayView, AsArrayViewMut, Element, gather_layouts::GatherLayouts,
    indices::submit,
};
use crate::{
    LayoutError, Result,
    backend::{Compute, Device},
    gather::{
        Direction,
        GatherOperation::{Take, TakeAlongAxis},
        Index, OutOfRange, Repeats,
    },
    layout::{Integer, Layout},
    stream::StreamHandle,
};

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    /// Picks the elements at `indices` of an axis, into a new array in C order. Does not
    /// synchronize.
    ///
    /// The axes of the indices replace the axis. One pass reads the picked elements only.
    ///
    /// ```
    /// use devarray::{Array, Context, gather::OutOfRange};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
    /// let last_and_first = Array::from_slice(&stream, &[2], &[-1, 0])?;
    /// let taken = a.take(&stream, &last_and_first, 1, OutOfRange::Error)?;
    /// assert_eq!(taken.to_vec(&stream)?, [3, 1, 6, 4]);
    ///
    /// let beyond = Array::from_slice(&stream, &[2], &[2, 5])?;
    /// let clamped = a.take(&stream, &beyond, 1, OutOfRange::Clamp)?;
    /// assert_eq!(clamped.to_vec(&stream)?, [3, 3, 6, 6]);
    /// a.take(&stream, &beyond, 1, OutOfRange::Error)?; // the device has yet to find it
    /// let told = stream.synchronize().unwrap_err(); // names the line of `take`
    /// let words = "mock: take: index 5 at position 1 is out of range for axis 1 of extent 3";
    /// assert_eq!(told.without_location().to_string(), words);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::IndexOutOfRange`]: there is something to take, and the axis has no element.
    /// - [`LayoutError::Overflow`]: the result is too large.
    /// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's stream
    ///   or array, and any other device error.
    ///
    /// A later wait reports an index out of range, as [`Error::Index`](crate::Error::Index): see
    /// [`gather`](crate::gather).
    #[doc(alias = "index_select", alias = "getitem")]
    #[track_caller]
    pub fn take<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let indices = indices.as_array_view();
        let lay_out = |indices: &Layout| GatherLayouts::along(Take, self.layout(), indices, axis);
        self.gather_new(stream, lay_out, &indices, out_of_range)
    }

    /// Like [`take`](Self::take), into a view of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`take`](Self::take), and [`LayoutError::ShapeMismatch`]: the view is of another shape.
    #[track_caller]
    pub fn take_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let indices = indices.as_array_view();
        let lay_out = |indices: &Layout| GatherLayouts::along(Take, self.layout(), indices, axis);
        let layouts = lay_out(indices.layout())?;
        self.gather_into(stream, (layouts, lay_out), &indices, out_of_range, &result.as_array_view_mut())
    }

    /// Picks elements at positions of the flattened array, into a new array in C order with the
    /// shape of `indices`. Does not synchronize.
    ///
    /// Positions count in row-major order of the view, with any strides; the view is not copied.
    ///
    /// # Errors
    ///
    /// The errors of [`take`](Self::take).
    #[doc(alias = "take")]
    #[track_caller]
    pub fn take_flat<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let indices = indices.as_array_view();
        let lay_out = |indices: &Layout| GatherLayouts::flat(Take, self.layout(), indices);
        self.gather_new(stream, lay_out, &indices, out_of_range)
    }

    /// Like [`take_flat`](Self::take_flat), into a view of the shape of `indices`. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`take_into`](Self::take_into).
    #[track_caller]
    pub fn take_flat_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        out_of_range: OutOfRange,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let indices = indices.as_array_view();
        let lay_out = |indices: &Layout| GatherLayouts::flat(Take, self.layout(), indices);
        let layouts = lay_out(indices.layout())?;
        self.gather_into(stream, (layouts, lay_out), &indices, out_of_range, &result.as_array_view_mut())
    }

    /// Picks each element by an index of its own, into a new array in C order: an element comes
    /// from that position along `axis`, and from its own position along all other axes. Does not
    /// synchronize.
    ///
    /// Array and indices have the same number of axes, and are broadcast together along all axes
    /// but `axis`. So the result of [`argmin`](Self::argmin), with the axis kept, picks the
    /// elements it names.
    ///
    /// ```
    /// use devarray::{Array, Context, gather::OutOfRange};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 3], &[10, 30, 20, 60, 40, 50])?;
    /// let order = Array::from_slice(&stream, &[2, 3], &[0_i64, 2, 1, 1, 2, 0])?;
    /// let sorted = a.take_along_axis(&stream, &order, 1, OutOfRange::Error)?;
    /// assert_eq!(sorted.to_vec(&stream)?, [10, 20, 30, 40, 50, 60]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::NotBroadcastable`]: array and indices do not
    ///   fit each other.
    /// - The errors of [`take`](Self::take).
    #[doc(alias = "gather")]
    #[track_caller]
    pub fn take_along_axis<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let indices = indices.as_array_view();
        let lay_out =
            |indices: &Layout| GatherLayouts::along_axis(TakeAlongAxis, self.layout(), indices, axis);
        self.gather_new(stream, lay_out, &indices, out_of_range)
    }

    /// Like [`take_along_axis`](Self::take_along_axis), into a view of the result's shape. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`take_along_axis`](Self::take_along_axis), and [`LayoutError::ShapeMismatch`]: the view
    /// is of another shape.
    #[track_caller]
    pub fn take_along_axis_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
        result: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let indices = indices.as_array_view();
        let lay_out =
            |indices: &Layout| GatherLayouts::along_axis(TakeAlongAxis, self.layout(), indices, axis);
        let layouts = lay_out(indices.layout())?;
        self.gather_into(stream, (layouts, lay_out), &indices, out_of_range, &result.as_array_view_mut())
    }

    #[track_caller]
    fn gather_new<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        lay_out: impl Fn(&Layout) -> Result<GatherLayouts, LayoutError>,
        indices: &ArrayView<'_, I, D>,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let layouts = lay_out(indices.layout())?;
        layouts.check_bound()?;
        let mut result = Array::uninit(stream, &layouts.shape)?;
        self.gather_into(stream, (layouts, lay_out), indices, out_of_range, &result.view_mut())?;
        Ok(result)
    }

    #[track_caller]
    fn gather_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        (layouts, lay_out): (GatherLayouts, impl Fn(&Layout) -> Result<GatherLayouts, LayoutError>),
        indices: &ArrayView<'_, I, D>,
        out_of_range: OutOfRange,
        result: &ArrayViewMut<'_, T, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        layouts.check_shape(result.shape())?;
        let modes = (Direction::Gather, out_of_range, Repeats::Last);
        let (elements, layout) = (result.elements(), result.layout());
        submit(stream, (layouts, lay_out), modes, self.elements(), indices, (elements, layout))
    }
}

impl<T: Element, D: Device> Array<T, D> {
    /// [`ArrayView::take`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "index_select", alias = "getitem")]
    #[track_caller]
    pub fn take<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
    ) -> Result<Self>
    where
        D: Compute,
    {
        self.view().take(stream, indices, axis, out_of_range)
    }

    /// [`ArrayView::take_flat`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "take")]
    #[track_caller]
    pub fn take_flat<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        out_of_range: OutOfRange,
    ) -> Result<Self>
    where
        D: Compute,
    {
        self.view().take_flat(stream, indices, out_of_range)
    }

    /// [`ArrayView::take_along_axis`] of the whole array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "gather")]
    #[track_caller]
    pub fn take_along_axis<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
    ) -> Result<Self>
    where
        D: Compute,
    {
        self.view().take_along_axis(stream, indices, axis, out_of_range)
    }
}
