//! Elements that a mask selects, one after the other.
//!
//! A running count of the mask gives each selected element its place, and one pass moves them.

use super::{
    Array, ArrayView, ArrayViewMut, AsArrayView, Element, Operands, Reshaped,
    picked::{Picked, beside},
    records::check_shape,
};
use crate::{
    Bool, Error, LayoutError, Result,
    backend::Compute,
    function::{Scan, ScanOperation},
    gather::{Direction, GatherOperation, IndexType, OutOfRange, Repeats},
    layout::{Axes, Layout, Order, axis_index},
    stream::StreamHandle,
};

/// A 1-D mask, and for each element the number of selected elements before it.
struct Selection<'m, D: Compute> {
    mask: Reshaped<ArrayView<'m, Bool, D>, Array<Bool, D>>,
    places: Array<i64, D>,
}

impl<T: Element, D: Compute> ArrayView<'_, T, D> {
    /// A new array in C order of the positions along an axis where `mask` is true. Blocks until
    /// they are counted: their number is the extent of the result.
    ///
    /// One pass over the mask counts; one pass over the elements moves the selected ones and does
    /// not read the others. Without blocking: [`compress_into`](Self::compress_into).
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
        axis: isize,
    ) -> Result<Array<T, D>> {
        let mask = mask.as_array_view();
        let axis = self.check_mask(mask.shape(), axis)?;
        let selection = Selection::of(stream, &mask)?;
        let mut shape: Axes<usize> = self.shape().into();
        shape[axis] = selection.count(stream)?;
        let mut result = Array::uninit(stream, &shape)?;
        if shape[axis] > 0 {
            selection.compress(stream, self, axis, &result.view_mut())?;
        }
        Ok(result)
    }

    /// As [`compress`](Self::compress), into a view with enough room along the axis. The number of
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
    /// - As [`compress`](Self::compress).
    #[track_caller]
    pub fn compress_into(
        &self,
        stream: &StreamHandle<D>,
        mask: &impl AsArrayView<Bool, D>,
        axis: isize,
        result: &mut ArrayViewMut<'_, T, D>,
        count: &mut ArrayViewMut<'_, i64, D>,
    ) -> Result<()> {
        let mask = mask.as_array_view();
        let axis = self.check_mask(mask.shape(), axis)?;
        let mut shape: Axes<usize> = self.shape().into();
        if let (Some(extent), Some(&room)) = (shape.get_mut(axis), result.shape().get(axis)) {
            *extent = room;
        }
        check_shape(&shape, result.shape())?;
        check_shape(&[], count.shape())?;
        let selection = Selection::of(stream, &mask)?;
        selection.compress(stream, self, axis, result)?;
        selection.count_into(stream, count)
    }

    /// A new 1-D array of the elements where `mask`, of the same shape, is true, in row-major
    /// order: NumPy's `a[mask]`. Blocks until they are counted.
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
    /// - As [`compress`](Self::compress).
    #[doc(alias = "masked_select")]
    #[track_caller]
    pub fn extract(&self, stream: &StreamHandle<D>, mask: &impl AsArrayView<Bool, D>) -> Result<Array<T, D>> {
        let mask = mask.as_array_view();
        check_shape(self.shape(), mask.shape())?;
        let selection = Selection::of(stream, &mask)?;
        let count = selection.count(stream)?;
        let mut result = Array::uninit(stream, &[count])?;
        if count > 0 {
            selection.extract(stream, self, &result.view_mut())?;
        }
        Ok(result)
    }

    /// As [`extract`](Self::extract), into a 1-D view with enough room. The number of selected
    /// elements is written to `count`, on the device. Does not synchronize.
    ///
    /// Otherwise as [`compress_into`](Self::compress_into).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the view is not 1-D, the
    ///   mask has another shape, or `count` has axes.
    /// - [`LayoutError::IndexOutOfRange`]: the view has no room at all.
    /// - As [`compress`](Self::compress).
    #[track_caller]
    pub fn extract_into(
        &self,
        stream: &StreamHandle<D>,
        mask: &impl AsArrayView<Bool, D>,
        result: &mut ArrayViewMut<'_, T, D>,
        count: &mut ArrayViewMut<'_, i64, D>,
    ) -> Result<()> {
        let mask = mask.as_array_view();
        check_shape(self.shape(), mask.shape())?;
        check_shape(&[], count.shape())?;
        check_shape(&[result.layout().len()], result.shape())?;
        let selection = Selection::of(stream, &mask)?;
        selection.extract(stream, self, result)?;
        selection.count_into(stream, count)
    }

    /// The axis, if the mask fits it.
    fn check_mask(&self, mask: &[usize], axis: isize) -> Result<usize, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        check_shape(&self.shape()[axis..=axis], mask)?;
        Ok(axis)
    }
}

impl<T: Element, D: Compute> Array<T, D> {
    /// [`ArrayView::compress`] of the whole array.
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn compress(
        &self,
        stream: &StreamHandle<D>,
        mask: &impl AsArrayView<Bool, D>,
        axis: isize,
    ) -> Result<Self> {
        self.view().compress(stream, mask, axis)
    }

    /// [`ArrayView::extract`] of the whole array.
    ///
    /// # Errors
    ///
    /// As there.
    #[doc(alias = "masked_select")]
    #[track_caller]
    pub fn extract(&self, stream: &StreamHandle<D>, mask: &impl AsArrayView<Bool, D>) -> Result<Self> {
        self.view().extract(stream, mask)
    }
}

impl<'m, D: Compute> Selection<'m, D> {
    /// Copies a mask that cannot be raveled as a view: one byte an element, little beside the
    /// counts.
    #[track_caller]
    fn of(stream: &StreamHandle<D>, mask: &ArrayView<'m, Bool, D>) -> Result<Self> {
        let mask = mask.ravel_or_copy(stream, Order::C)?;
        let places = mask.view().scan(stream, Scan::new(ScanOperation::Sum, 0).exclusive())?;
        Ok(Self { mask, places })
    }

    #[track_caller]
    fn count_into(&self, stream: &StreamHandle<D>, count: &mut ArrayViewMut<'_, i64, D>) -> Result<()> {
        if self.places.is_empty() {
            return count.fill(stream, 0);
        }
        // The last place, and whether its element is selected.
        let (last, mask) = (crate::ix![-1], self.mask.view());
        let ends = (self.places.index(&last)?, mask.index(&last)?);
        ends.map_into(stream, count, |(place, is_selected)| place + is_selected.cast())
    }

    /// How many are selected. Blocks.
    #[track_caller]
    fn count(&self, stream: &StreamHandle<D>) -> Result<usize> {
        let mut count = Array::uninit(stream, &[])?;
        self.count_into(stream, &mut count.view_mut())?;
        let (found, most) = (count.item(stream)?, self.places.len());
        // A faulty device must not choose the size of an allocation.
        usize::try_from(found).ok().filter(|&found| found <= most).ok_or_else(|| Error::Driver {
            backend: stream.0.core.backend(),
            operation: "compress",
            code: 0,
            name: format!("{found} of {most} elements were counted"),
        })
    }

    #[track_caller]
    fn compress<T: Element>(
        &self,
        stream: &StreamHandle<D>,
        from: &ArrayView<'_, T, D>,
        axis: usize,
        result: &ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        let (shape, places) = (from.shape(), self.places.layout());
        let picked = Picked::selected(GatherOperation::Compress, shape, axis, places, result.layout())?;
        let mask = beside(self.mask.view().layout(), axis, shape)?;
        self.submit(stream, picked, mask, from, result)
    }

    #[track_caller]
    fn extract<T: Element>(
        &self,
        stream: &StreamHandle<D>,
        from: &ArrayView<'_, T, D>,
        result: &ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        let places = self.places.layout().reshape(from.shape(), Order::C)?;
        let picked = Picked::flat(GatherOperation::Extract, result.layout(), &places)?;
        let mask = self.mask.view().layout().reshape(from.shape(), Order::C)?;
        self.submit(stream, picked, mask, from, result)
    }

    #[track_caller]
    fn submit<T: Element>(
        &self,
        stream: &StreamHandle<D>,
        picked: Picked,
        mask: Layout,
        from: &ArrayView<'_, T, D>,
        result: &ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        picked.check_bound()?;
        // A running count gives each place to one element.
        let modes = (Direction::Scatter, OutOfRange::Error, Repeats::None);
        let places = (self.places.as_erased().elements(), IndexType::I64);
        let line = self.mask.view();
        let mask = Some((line.elements(), mask));
        picked.submit(stream, modes, result.elements(), places, mask, (from.elements(), from.layout()))
    }
}
