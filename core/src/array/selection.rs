//! The places of the elements that a 1-D mask selects along an axis of several.
//!
//! A running count of the mask gives each selected position its place, and one pass moves the
//! elements there. The counts take little memory beside the elements: each stands for all elements
//! at one position of the axis.

use super::{
    Array, ArrayView, ArrayViewMut, Element, Operands, Reshaped,
    gather_layouts::{GatherLayouts, beside},
};
use crate::{
    Bool, Result,
    backend::Compute,
    function::{Scan, ScanOperation},
    gather::{Direction, GatherOperation, IndexType, OutOfRange, Repeats},
    layout::Order,
    stream::StreamHandle,
};

/// A 1-D mask, and for each position the number of selected positions before it.
pub(super) struct Places<'m, D: Compute> {
    mask: Reshaped<ArrayView<'m, Bool, D>, Array<Bool, D>>,
    places: Array<i64, D>,
}

impl<'m, D: Compute> Places<'m, D> {
    #[track_caller]
    pub(super) fn of(stream: &StreamHandle<D>, mask: &ArrayView<'m, Bool, D>) -> Result<Self> {
        let mask = mask.ravel_or_copy(stream, Order::C)?;
        let places = mask.view().scan_as(stream, Scan::new(ScanOperation::Sum, 0).exclusive())?;
        Ok(Self { mask, places })
    }

    /// Writes how many positions are selected.
    #[track_caller]
    pub(super) fn count_into(
        &self,
        stream: &StreamHandle<D>,
        count: &mut ArrayViewMut<'_, i64, D>,
    ) -> Result<()> {
        if self.places.is_empty() {
            return count.fill(stream, 0);
        }
        // The last place, and whether its position is selected.
        let (last, mask) = (crate::ix![-1], self.mask.view());
        let ends = (self.places.index(&last)?, mask.index(&last)?);
        ends.map_into(stream, count, |(place, is_selected)| place + is_selected.cast())
    }

    /// Moves the selected elements along an axis.
    #[track_caller]
    pub(super) fn compress<T: Element>(
        &self,
        stream: &StreamHandle<D>,
        from: &ArrayView<'_, T, D>,
        axis: usize,
        result: &ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        let (shape, places) = (from.shape(), self.places.layout());
        let layouts =
            GatherLayouts::selected(GatherOperation::Compress, shape, axis, places, result.layout())?;
        layouts.check_bound()?;
        // The running count gives each place to one position, so nothing repeats.
        let modes = (Direction::Scatter, OutOfRange::Error, Repeats::None);
        let places = (self.places.as_erased().elements(), IndexType::I64);
        let line = self.mask.view();
        let mask = Some((line.elements(), beside(line.layout(), axis, shape)?));
        layouts.submit(stream, modes, result.elements(), places, mask, (from.elements(), from.layout()))
    }
}
