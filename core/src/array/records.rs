//! Fields of records: views where the sizes allow it, and copies in any case.

use super::{Array, ArrayView, ArrayViewMut, Element, Field, FieldOf};
use crate::{
    Result,
    backend::Device,
    layout::{Axes, Layout, LayoutError},
    operations::Elements,
    stream::StreamHandle,
};

impl<'a, T: Element, D: Device> ArrayView<'a, T, D> {
    /// One field of every element: a view of the same shape, whose strides step over the rest of
    /// each record.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`]: the size of the record, or the field's offset, is no
    ///   multiple of the field's size, so that no strides express the view.
    ///   [`field_to_array`](Self::field_to_array) copies any field.
    /// - [`LayoutError::Overflow`].
    #[track_caller]
    pub fn field<F: Element>(&self, field: Field<T, F>) -> Result<ArrayView<'a, F, D>> {
        let layout = field_layout::<T, _>(self.layout(), &field)?;
        Ok(ArrayView::new(self.as_erased().with_items(layout, F::BYTES)))
    }

    /// The items of a field that is an array, in every element: a view with one more axis, the
    /// last, of stride 1.
    ///
    /// If the elements themselves are arrays, [`Field::whole`] gives that axis.
    ///
    /// # Errors
    ///
    /// The errors of [`field`](Self::field), which compares the size of one item.
    #[track_caller]
    pub fn array_field<E: Element, const N: usize>(
        &self,
        field: Field<T, [E; N]>,
    ) -> Result<ArrayView<'a, E, D>> {
        let layout = field_layout::<T, _>(self.layout(), &field.items())?;
        Ok(ArrayView::new(self.as_erased().with_items(layout, E::BYTES)))
    }

    /// Copies one field of every element to a new array in C order, on the device, for a field of
    /// any size. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn field_to_array<F: Element>(
        &self,
        stream: &StreamHandle<D>,
        field: Field<T, F>,
    ) -> Result<Array<F, D>> {
        let mut copy = Array::uninit(stream, self.shape())?;
        copy_slots(
            stream,
            [&copy.view_mut().elements(), &self.elements()],
            [0, field.offset_bytes()],
            F::BYTES,
        )?;
        Ok(copy)
    }
}

impl<'a, T: Element, D: Device> ArrayViewMut<'a, T, D> {
    /// Like [`ArrayView::field`], to write.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::field`]; [`copy_field_from`](Self::copy_field_from) needs no view.
    #[track_caller]
    pub fn field<F: Element>(self, field: Field<T, F>) -> Result<ArrayViewMut<'a, F, D>> {
        let layout = field_layout::<T, _>(self.layout(), &field)?;
        Ok(ArrayViewMut::new(self.as_erased().part(layout, F::BYTES)))
    }

    /// Like [`ArrayView::array_field`], to write.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::array_field`].
    #[track_caller]
    pub fn array_field<E: Element, const N: usize>(
        self,
        field: Field<T, [E; N]>,
    ) -> Result<ArrayViewMut<'a, E, D>> {
        let layout = field_layout::<T, _>(self.layout(), &field.items())?;
        Ok(ArrayViewMut::new(self.as_erased().part(layout, E::BYTES)))
    }

    /// Copies elements of the same shape to one field, of any size, and touches no other.
    /// Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`copy_from`](Self::copy_from).
    #[track_caller]
    pub fn copy_field_from<F: Element>(
        &mut self,
        stream: &StreamHandle<D>,
        field: Field<T, F>,
        src: &ArrayView<'_, F, D>,
    ) -> Result<()> {
        // The shape is checked before the axis of the items is added, so that the error shows the
        // caller's shapes.
        check_shape(self.shape(), src.shape())?;
        copy_slots(stream, [&self.elements(), &src.elements()], [field.offset_bytes(), 0], F::BYTES)
    }
}

/// The layout of a field of every record.
pub(super) fn field_layout<T: Element, F: FieldOf<T>>(
    records: &Layout,
    field: &F,
) -> Result<Layout, LayoutError> {
    slots(records, T::BYTES, field.range_bytes().start, F::Item::BYTES, field.axis())
}

/// The items of `item_bytes` that lie `offset_bytes` behind the start of each record. There is one
/// in each, or as many as the new last axis has.
fn slots(
    records: &Layout,
    record_bytes: usize,
    offset_bytes: usize,
    item_bytes: usize,
    axis: Option<usize>,
) -> Result<Layout, LayoutError> {
    if !record_bytes.is_multiple_of(item_bytes) || !offset_bytes.is_multiple_of(item_bytes) {
        let reason = "it divides not both the record and the offset of the field";
        return Err(LayoutError::ElementSize { item_bytes, reason });
    }
    let factor = record_bytes / item_bytes;
    let signed = isize::try_from(factor).map_err(|_| LayoutError::Overflow)?;
    let offset = records.offset().checked_mul(factor);
    let offset = offset.and_then(|offset| offset.checked_add(offset_bytes / item_bytes));
    let mut shape = Axes::from_slice(records.shape());
    let mut strides = Axes::new();
    for (&stride, &extent) in records.strides().iter().zip(records.shape()) {
        // The stride of an axis with at most one position is never used, and may be anything.
        strides.push(match stride.checked_mul(signed) {
            None if extent > 1 && !records.is_empty() => return Err(LayoutError::Overflow),
            product => product.unwrap_or(0),
        });
    }
    if let Some(extent) = axis {
        shape.push(extent);
        strides.push(1);
    }
    Layout::new(&shape, &strides, offset.ok_or(LayoutError::Overflow)?)
}

/// Copies `len_bytes` of every element, from an offset in the source element to one in the
/// destination element. The bytes move as items along an extra axis; their size is the greatest
/// that divides all sizes and offsets.
#[track_caller]
fn copy_slots<D: Device>(
    stream: &StreamHandle<D>,
    [dst, src]: [&Elements<'_, D>; 2],
    [dst_offset_bytes, src_offset_bytes]: [usize; 2],
    len_bytes: usize,
) -> Result<()> {
    let sizes = [dst.item_bytes, src.item_bytes, dst_offset_bytes, src_offset_bytes];
    let item_bytes = sizes.into_iter().fold(len_bytes, greatest_common_divisor);
    let axis = Some(len_bytes / item_bytes);
    let dst_layout = slots(dst.layout, dst.item_bytes, dst_offset_bytes, item_bytes, axis)?;
    let src_layout = slots(src.layout, src.item_bytes, src_offset_bytes, item_bytes, axis)?;
    let dst = Elements { layout: &dst_layout, item_bytes, ..*dst };
    let src = Elements { layout: &src_layout, item_bytes, ..*src };
    stream.0.copy(&dst, &src)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Returns an error unless the shapes are equal.
pub(super) fn check_shape(expected: &[usize], found: &[usize]) -> Result<(), LayoutError> {
    if expected.len() != found.len() {
        return Err(LayoutError::RankMismatch { expected: expected.len(), found: found.len() });
    }
    if expected != found {
        return Err(LayoutError::ShapeMismatch { expected: expected.into(), found: found.into() });
    }
    Ok(())
}
