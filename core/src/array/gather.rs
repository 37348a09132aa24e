//! Elements picked by index, and put by index.

use std::borrow::Cow;

use super::{Array, ArrayView, ArrayViewMut, AsArrayView, Element, picked::Picked};
use crate::{
    LayoutError, Result,
    backend::Compute,
    gather::{Direction, GatherOperation, Index, OutOfRange, Repeats},
    layout::Order,
    operations::Elements,
    stream::StreamHandle,
};

use GatherOperation::{Put, PutAlongAxis, Take, TakeAlongAxis};

impl<T: Element, D: Compute> ArrayView<'_, T, D> {
    /// A new array in C order of the elements at `indices` of an axis. Does not synchronize.
    ///
    /// The axis is replaced by those of the indices. One pass, which reads the picked elements
    /// only.
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
    /// An index out of range is told by a later wait, as
    /// [`Error::Index`](crate::Error::Index): see [`gather`](crate::gather).
    #[track_caller]
    pub fn take<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: isize,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>> {
        let indices = indices.as_array_view();
        let picked = Picked::along(Take, self.layout(), indices.layout(), axis)?;
        self.picked(stream, picked, &indices, out_of_range)
    }

    /// As [`take`](Self::take), into a view of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take), and [`LayoutError::ShapeMismatch`]: the view is of another shape.
    #[track_caller]
    pub fn take_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: isize,
        out_of_range: OutOfRange,
        result: &mut ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        let indices = indices.as_array_view();
        let picked = Picked::along(Take, self.layout(), indices.layout(), axis)?;
        self.picked_into(stream, picked, &indices, out_of_range, result)
    }

    /// A new array in C order, of the shape of `indices`, of the elements at positions of the
    /// flattened array. Does not synchronize.
    ///
    /// Positions count in row-major order of the view, whatever its strides; the view is not
    /// copied.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    #[track_caller]
    pub fn take_flat<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>> {
        let indices = indices.as_array_view();
        let picked = Picked::flat(Take, self.layout(), indices.layout())?;
        self.picked(stream, picked, &indices, out_of_range)
    }

    /// As [`take_flat`](Self::take_flat), into a view of the shape of `indices`. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// As [`take_into`](Self::take_into).
    #[track_caller]
    pub fn take_flat_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        out_of_range: OutOfRange,
        result: &mut ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        let indices = indices.as_array_view();
        let picked = Picked::flat(Take, self.layout(), indices.layout())?;
        self.picked_into(stream, picked, &indices, out_of_range, result)
    }

    /// A new array in C order in which each element has its own index: it comes from that position
    /// along `axis`, and from the element's own position along all other axes. Does not
    /// synchronize.
    ///
    /// Array and indices have the same number of axes, and along the others are broadcast together.
    /// So the result of [`argmin`](Self::argmin) or of a sort, with the axis kept, picks the
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
    /// - As [`take`](Self::take).
    #[track_caller]
    pub fn take_along_axis<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: isize,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>> {
        let indices = indices.as_array_view();
        let picked = Picked::along_axis(TakeAlongAxis, self.layout(), indices.layout(), axis)?;
        self.picked(stream, picked, &indices, out_of_range)
    }

    /// As [`take_along_axis`](Self::take_along_axis), into a view of the result's shape. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// As [`take_along_axis`](Self::take_along_axis), and [`LayoutError::ShapeMismatch`]: the view
    /// is of another shape.
    #[track_caller]
    pub fn take_along_axis_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: isize,
        out_of_range: OutOfRange,
        result: &mut ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        let indices = indices.as_array_view();
        let picked = Picked::along_axis(TakeAlongAxis, self.layout(), indices.layout(), axis)?;
        self.picked_into(stream, picked, &indices, out_of_range, result)
    }

    #[track_caller]
    fn picked<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        picked: Picked,
        indices: &ArrayView<'_, I, D>,
        out_of_range: OutOfRange,
    ) -> Result<Array<T, D>> {
        picked.check_bound()?;
        let mut result = Array::uninit(stream, &picked.shape)?;
        self.picked_into(stream, picked, indices, out_of_range, &mut result.view_mut())?;
        Ok(result)
    }

    #[track_caller]
    fn picked_into<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        picked: Picked,
        indices: &ArrayView<'_, I, D>,
        out_of_range: OutOfRange,
        result: &mut ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        picked.check_shape(result.shape())?;
        let modes = (Direction::Gather, out_of_range, Repeats::Last);
        let (elements, layout) = (result.elements(), result.layout());
        picked.submit(stream, modes, self.elements(), indices_of(indices), None, (elements, layout))
    }
}

impl<T: Element, D: Compute> ArrayViewMut<'_, T, D> {
    /// Puts `values` at `indices` of an axis, so that [`take`](ArrayView::take) with the same
    /// indices returns them. Does not synchronize.
    ///
    /// The values are broadcast to the shape of `take`'s result. With [`Repeats::Last`], the last
    /// of several values for one place stays, which takes scratch memory and two passes over the
    /// indices. With [`Repeats::None`], the caller promises at most one value for each place, and
    /// one pass is enough.
    ///
    /// ```
    /// use devarray::{Array, Context, gather::{OutOfRange, Repeats}};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let mut a = Array::zeros(&stream, &[2, 3])?;
    /// let columns = Array::from_slice(&stream, &[2], &[2, 0])?;
    /// let values = Array::from_slice(&stream, &[2], &[7, 8])?;
    /// a.view_mut().put(&stream, &columns, &values, 1, OutOfRange::Error, Repeats::None)?;
    /// assert_eq!(a.to_vec(&stream)?, [8, 0, 7, 8, 0, 7]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::IndexOutOfRange`]: there is something to put, and the axis has no element.
    /// - [`LayoutError::NotBroadcastable`]: the values do not fit.
    /// - [`LayoutError::AliasedDestination`]: two elements of the view share memory.
    /// - [`LayoutError::Overflow`]: more than 2^48 elements, which only broadcast views have.
    /// - [`Error::Unsupported`](crate::Error::Unsupported), out of memory, another context's stream
    ///   or array, and any other device error.
    ///
    /// An index out of range is told by a later wait, as
    /// [`Error::Index`](crate::Error::Index), and puts nothing: see [`gather`](crate::gather).
    #[track_caller]
    pub fn put<I: Index>(
        &mut self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        values: &impl AsArrayView<T, D>,
        axis: isize,
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()> {
        let (indices, values) = (indices.as_array_view(), values.as_array_view());
        let picked = Picked::along(Put, self.layout(), indices.layout(), axis)?;
        self.put_picked(stream, picked, (&indices, &values), out_of_range, repeats)
    }

    /// Puts `values` at positions of the flattened view, as NumPy's `put`. Does not synchronize.
    ///
    /// Positions count in row-major order of the view. The values are broadcast to the shape of the
    /// indices; NumPy repeats them instead.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put).
    #[track_caller]
    pub fn put_flat<I: Index>(
        &mut self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        values: &impl AsArrayView<T, D>,
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()> {
        let (indices, values) = (indices.as_array_view(), values.as_array_view());
        let picked = Picked::flat(Put, self.layout(), indices.layout())?;
        self.put_picked(stream, picked, (&indices, &values), out_of_range, repeats)
    }

    /// Puts each of `values` at its own index along an axis, so that
    /// [`take_along_axis`](ArrayView::take_along_axis) with the same indices returns them. Does not
    /// synchronize.
    ///
    /// The indices have as many axes as the view and are broadcast to it along all but one; the
    /// values are broadcast to that.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::NotBroadcastable`]: the indices do not fit.
    /// - As [`put`](Self::put).
    #[track_caller]
    pub fn put_along_axis<I: Index>(
        &mut self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        values: &impl AsArrayView<T, D>,
        axis: isize,
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()> {
        let (indices, values) = (indices.as_array_view(), values.as_array_view());
        let picked = Picked::along_axis(PutAlongAxis, self.layout(), indices.layout(), axis)?;
        if picked.is_wider_than(self.layout()) {
            let (from, to) = (indices.shape().into(), self.shape().into());
            return Err(LayoutError::NotBroadcastable { from, to }.into());
        }
        self.put_picked(stream, picked, (&indices, &values), out_of_range, repeats)
    }

    #[track_caller]
    fn put_picked<I: Index>(
        &mut self,
        stream: &StreamHandle<D>,
        picked: Picked,
        (indices, values): (&Cow<'_, ArrayView<'_, I, D>>, &ArrayView<'_, T, D>),
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()> {
        // One element fits all places, of however many axes they are.
        let layout = match values.layout().len() {
            1 => values.layout().reshape::<[usize; 0]>(&[], Order::C)?.broadcast_to(&picked.shape),
            _ => values.layout().broadcast_to(&picked.shape),
        }?;
        picked.check_bound()?;
        let modes = (Direction::Scatter, out_of_range, repeats);
        let values = (values.elements(), &layout);
        picked.submit(stream, modes, self.elements(), indices_of(indices), None, values)
    }
}

impl<T: Element, D: Compute> Array<T, D> {
    /// [`ArrayView::take`] of the whole array.
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn take<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: isize,
        out_of_range: OutOfRange,
    ) -> Result<Self> {
        self.view().take(stream, indices, axis, out_of_range)
    }

    /// [`ArrayView::take_flat`] of the whole array.
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn take_flat<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        out_of_range: OutOfRange,
    ) -> Result<Self> {
        self.view().take_flat(stream, indices, out_of_range)
    }

    /// [`ArrayView::take_along_axis`] of the whole array.
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn take_along_axis<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        axis: isize,
        out_of_range: OutOfRange,
    ) -> Result<Self> {
        self.view().take_along_axis(stream, indices, axis, out_of_range)
    }
}

fn indices_of<'a, I: Index, D: Compute>(
    indices: &'a ArrayView<'_, I, D>,
) -> (Elements<'a, D>, crate::gather::IndexType) {
    (indices.elements(), I::TYPE)
}
