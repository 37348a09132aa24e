//! Elements put by index.

use super::{ArrayView, ArrayViewMut, AsArrayView, Element, gather_layouts::GatherLayouts, indices::submit};
use crate::{
    LayoutError, Result,
    backend::{Compute, Device},
    gather::{
        Direction,
        GatherOperation::{Put, PutAlongAxis},
        Index, OutOfRange, Repeats,
    },
    layout::{Integer, Layout, Order},
    stream::StreamHandle,
};

impl<T: Element, D: Device> ArrayViewMut<'_, T, D> {
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
    /// A later wait reports an index out of range, as [`Error::Index`](crate::Error::Index). Such
    /// an index puts nothing: see [`gather`](crate::gather).
    #[doc(alias = "index_copy", alias = "setitem")]
    #[track_caller]
    pub fn put<I: Index>(
        &mut self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        values: &impl AsArrayView<T, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (indices, values) = (indices.as_array_view(), values.as_array_view());
        let lay_out = |indices: &Layout| GatherLayouts::along(Put, self.layout(), indices, axis);
        let layouts = lay_out(indices.layout())?;
        self.put_with(stream, (layouts, lay_out), (&indices, &values), out_of_range, repeats)
    }

    /// Puts `values` at positions of the flattened view, as NumPy's `put`. Does not synchronize.
    ///
    /// Positions count in row-major order of the view. The values are broadcast to the shape of the
    /// indices; NumPy repeats them instead.
    ///
    /// # Errors
    ///
    /// The errors of [`put`](Self::put).
    #[doc(alias = "put")]
    #[track_caller]
    pub fn put_flat<I: Index>(
        &mut self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        values: &impl AsArrayView<T, D>,
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (indices, values) = (indices.as_array_view(), values.as_array_view());
        let lay_out = |indices: &Layout| GatherLayouts::flat(Put, self.layout(), indices);
        let layouts = lay_out(indices.layout())?;
        self.put_with(stream, (layouts, lay_out), (&indices, &values), out_of_range, repeats)
    }

    /// Puts each of `values` at its own index along an axis, so that
    /// [`take_along_axis`](ArrayView::take_along_axis) with the same indices returns them. Does not
    /// synchronize.
    ///
    /// The indices have as many axes as the view, and are broadcast to it along all axes but
    /// `axis`. The values are broadcast to the shape of the indices.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::NotBroadcastable`]: the indices do not fit.
    /// - The errors of [`put`](Self::put).
    #[doc(alias = "scatter")]
    #[track_caller]
    pub fn put_along_axis<I: Index>(
        &mut self,
        stream: &StreamHandle<D>,
        indices: &impl AsArrayView<I, D>,
        values: &impl AsArrayView<T, D>,
        axis: impl Integer,
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (indices, values) = (indices.as_array_view(), values.as_array_view());
        let lay_out =
            |indices: &Layout| GatherLayouts::along_axis(PutAlongAxis, self.layout(), indices, axis);
        let layouts = lay_out(indices.layout())?;
        if layouts.is_wider_than(self.layout()) {
            let (from, to) = (indices.shape().into(), self.shape().into());
            return Err(LayoutError::NotBroadcastable { from, to }.into());
        }
        self.put_with(stream, (layouts, lay_out), (&indices, &values), out_of_range, repeats)
    }

    #[track_caller]
    fn put_with<I: Index>(
        &self,
        stream: &StreamHandle<D>,
        (layouts, lay_out): (GatherLayouts, impl Fn(&Layout) -> Result<GatherLayouts, LayoutError>),
        (indices, values): (&ArrayView<'_, I, D>, &ArrayView<'_, T, D>),
        out_of_range: OutOfRange,
        repeats: Repeats,
    ) -> Result<()>
    where
        D: Compute,
    {
        // One element fits all places, however many axes they have.
        let layout = match values.layout().len() {
            1 => values.layout().reshape::<[usize; 0]>(&[], Order::C)?.broadcast_to(&layouts.shape),
            _ => values.layout().broadcast_to(&layouts.shape),
        }?;
        layouts.check_bound()?;
        let modes = (Direction::Scatter, out_of_range, repeats);
        let values = (values.elements(), &layout);
        submit(stream, (layouts, lay_out), modes, self.elements(), indices, values)
    }
}
