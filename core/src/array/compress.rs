//! Elements that a mask selects, one after the other.

use std::sync::Arc;

use super::{
    Array, ArrayView, ArrayViewMut, AsArrayView, AsArrayViewMut, Element, gather_layouts::GatherLayouts,
    records::check_shape, selection::Places,
};
use crate::{
    Bool, Error, LayoutError, Result,
    backend::{Compute, Device},
    gather::{Direction, GatherOperation, IndexType, OutOfRange, Repeats},
    layout::{Axes, Integer, axis_index},
    stream::StreamHandle,
};

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    /// Collects the positions along an axis where `mask` is true into a new array in C order.
    /// Blocks until they are counted: their number is the extent of the result.
    ///
    /// One pass counts the mask; another moves the selected elements and does not read the others.
    /// [`compress_into`](Self::compress_into) does not block, and needs one pass if there is one
    /// axis.
    ///
    /// ```
    /// use devarray::{Array, Bool, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
    /// let columns = Array::from_slice(&stream, &[3], &[true, false, true].map(Bool::from))?;
    /// assert_eq!(a.compress(&stream, &columns, 1)?.to_vec(&stream)?, [1, 3, 4, 6]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the mask is not 1-D, or its
    ///   extent is not the axis's.
    /// - [`Error::Unsupported`], out of memory, another context's stream or array, an error
    ///   reported by the wait, and any other device error.
    #[track_caller]
    pub fn compress(
        &self,
        stream: &StreamHandle<D>,
        mask: &impl AsArrayView<Bool, D>,
        axis: impl Integer,
    ) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let mask = mask.as_array_view();
        let along = self.check_mask(mask.shape(), axis)?;
        let mut shape: Axes<usize> = self.shape().into();
        shape[along] = count_of(stream, &mask)?;
        let mut result = Array::uninit(stream, &shape)?;
        if shape[along] > 0 {
            let mut count = Array::uninit(stream, &[])?;
            self.compress_into(stream, &*mask, axis, &mut result.view_mut(), &mut count.view_mut())?;
        }
        Ok(result)
    }

    /// Like [`compress`](Self::compress), into a view with enough room along the axis. The number of
    /// selected positions is written to `count`, on the device. Does not synchronize.
    ///
    /// Elements of the view after the selected ones stay as they are. Selected elements that do not
    /// fit are dropped, and a later wait reports an index out of range.
    ///
    /// ```
    /// use devarray::{Array, Bool, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[4], &[1, 2, 3, 4])?;
    /// let even = a.map(&stream, |x| x.remainder(2).equal(0))?;
    /// let (mut room, mut count) = (Array::zeros(&stream, &[4])?, Array::zeros(&stream, &[])?);
    /// a.view().compress_into(&stream, &even, 0, &mut room.view_mut(), &mut count.view_mut())?;
    /// assert_eq!((room.to_vec(&stream)?, count.item(&stream)?), (vec![2, 4, 0, 0], 2));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view differs in shape
    ///   along another axis, or `count` has axes.
    /// - [`LayoutError::IndexOutOfRange`]: the view has no room at all.
    /// - The errors of [`compress`](Self::compress).
    #[track_caller]
    pub fn compress_into(
        &self,
        stream: &StreamHandle<D>,
        mask: &impl AsArrayView<Bool, D>,
        axis: impl Integer,
        result: &mut impl AsArrayViewMut<T, D>,
        count: &mut impl AsArrayViewMut<i64, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (result, mut count) = (result.as_array_view_mut(), count.as_array_view_mut());
        let mask = mask.as_array_view();
        let axis = self.check_mask(mask.shape(), axis)?;
        let mut shape: Axes<usize> = self.shape().into();
        if let (Some(extent), Some(&room)) = (shape.get_mut(axis), result.shape().get(axis)) {
            *extent = room;
        }
        check_shape(&shape, result.shape())?;
        check_shape(&[], count.shape())?;
        if self.rank() == 1 {
            return self.select(stream, GatherOperation::Compress, &mask, &result, &mut count);
        }
        // All checks come before the first of three operations is enqueued.
        let (from, to, of_mask, counted) =
            (self.elements(), result.elements(), mask.elements(), count.elements());
        let sides = [&from, &to, &of_mask, &counted].map(|elements| elements.allocation);
        stream.0.check_context("compress", sides)?;
        for (other, layout) in [(&to, result.layout()), (&of_mask, mask.layout())] {
            // The borrow checker keeps views of one allocation apart.
            if !Arc::ptr_eq(other.allocation, counted.allocation) {
                stream.0.check_disjoint(other, layout, &counted, false)?;
            }
        }
        let places = Places::of(stream, &mask)?;
        places.compress(stream, self, axis, &result)?;
        places.count_into(stream, &mut count)
    }

    /// Collects the elements where `mask`, of the same shape, is true into a new 1-D array, in
    /// row-major order: NumPy's `a[mask]`. Blocks until they are counted, in a pass over the mask.
    /// [`extract_into`](Self::extract_into) needs one pass and does not block.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 2], &[1.5_f32, -2.0, -3.0, 4.0])?;
    /// let positive = a.map(&stream, |x| x.greater(0.0))?;
    /// assert_eq!(a.extract(&stream, &positive)?.to_vec(&stream)?, [1.5, 4.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the mask has another shape.
    /// - The errors of [`compress`](Self::compress).
    #[doc(alias = "boolean_mask")]
    #[doc(alias = "masked_select")]
    #[track_caller]
    pub fn extract(&self, stream: &StreamHandle<D>, mask: &impl AsArrayView<Bool, D>) -> Result<Array<T, D>>
    where
        D: Compute,
    {
        let mask = mask.as_array_view();
        check_shape(self.shape(), mask.shape())?;
        let len = count_of(stream, &mask)?;
        let mut result = Array::uninit(stream, &[len])?;
        if len > 0 {
            let mut count = Array::uninit(stream, &[])?;
            self.extract_into(stream, &*mask, &mut result.view_mut(), &mut count.view_mut())?;
        }
        Ok(result)
    }

    /// Like [`extract`](Self::extract), into a 1-D view with enough room. The number of selected
    /// elements is written to `count`, on the device. Does not synchronize.
    ///
    /// The rest is as in [`compress_into`](Self::compress_into).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view is not 1-D, the
    ///   mask has another shape, or `count` has axes.
    /// - [`LayoutError::IndexOutOfRange`]: the view has no room at all.
    /// - The errors of [`compress`](Self::compress).
    #[track_caller]
    pub fn extract_into(
        &self,
        stream: &StreamHandle<D>,
        mask: &impl AsArrayView<Bool, D>,
        result: &mut impl AsArrayViewMut<T, D>,
        count: &mut impl AsArrayViewMut<i64, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let (result, mut count) = (result.as_array_view_mut(), count.as_array_view_mut());
        let mask = mask.as_array_view();
        check_shape(self.shape(), mask.shape())?;
        check_shape(&[], count.shape())?;
        check_shape(&[result.layout().len()], result.shape())?;
        self.select(stream, GatherOperation::Extract, &mask, &result, &mut count)
    }

    /// Moves the elements that a mask of the same shape selects to a 1-D view, in one pass.
    #[track_caller]
    fn select(
        &self,
        stream: &StreamHandle<D>,
        operation: GatherOperation,
        mask: &ArrayView<'_, Bool, D>,
        result: &ArrayViewMut<'_, T, D>,
        count: &mut ArrayViewMut<'_, i64, D>,
    ) -> Result<()>
    where
        D: Compute,
    {
        let layouts = GatherLayouts::counted(operation, self.shape(), count.layout(), result.layout())?;
        layouts.check_bound()?;
        if mask.layout().is_empty() {
            return count.fill(stream, 0);
        }
        // Each selected element has a place of its own, so nothing repeats.
        let modes = (Direction::Scatter, OutOfRange::Error, Repeats::None);
        let (count, from) = ((count.elements(), IndexType::Counted), (self.elements(), self.layout()));
        let mask = Some((mask.elements(), mask.layout().clone()));
        layouts.submit(stream, modes, result.elements(), count, mask, from)
    }

    /// Returns the axis, if the mask fits it.
    fn check_mask(&self, mask: &[usize], axis: impl Integer) -> Result<usize, LayoutError>
    where
        D: Compute,
    {
        let axis = axis_index(axis, self.rank())?;
        check_shape(&self.shape()[axis..=axis], mask)?;
        Ok(axis)
    }
}

impl<T: Element, D: Device> Array<T, D> {
    /// [`ArrayView::compress`] of the whole array.
    ///
    /// # Errors
    ///
    /// See there.
    #[track_caller]
    pub fn compress(
        &self,
        stream: &StreamHandle<D>,
        mask: &impl AsArrayView<Bool, D>,
        axis: impl Integer,
    ) -> Result<Self>
    where
        D: Compute,
    {
        self.view().compress(stream, mask, axis)
    }

    /// [`ArrayView::extract`] of the whole array.
    ///
    /// # Errors
    ///
    /// See there.
    #[doc(alias = "boolean_mask")]
    #[doc(alias = "masked_select")]
    #[track_caller]
    pub fn extract(&self, stream: &StreamHandle<D>, mask: &impl AsArrayView<Bool, D>) -> Result<Self>
    where
        D: Compute,
    {
        self.view().extract(stream, mask)
    }
}

/// Counts the elements that a mask selects. Blocks.
#[track_caller]
fn count_of<D: Compute>(stream: &StreamHandle<D>, mask: &ArrayView<'_, Bool, D>) -> Result<usize> {
    let (found, most) = (mask.count_nonzero(stream, ..)?.item(stream)?, mask.layout().len());
    // A faulty device must not choose the size of an allocation.
    usize::try_from(found).ok().filter(|&found| found <= most).ok_or_else(|| Error::Driver {
        backend: stream.0.core.backend(),
        operation: "compress",
        code: 0,
        name: format!("{found} of {most} elements were counted"),
    })
}
