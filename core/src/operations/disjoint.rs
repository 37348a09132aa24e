//! Checks whether the memory an operation reads is disjoint from the memory it writes.
//!
//! Within one allocation the borrow checker ensures it: a view to write is exclusive. But memory of
//! other code may have been adopted twice, for example when a caller of a Python function passes
//! two slices of one array. Then addresses decide.

use std::{ops::Range, ptr, sync::Arc};

use super::Elements;
use crate::{
    LayoutError,
    backend::Device,
    hazards::Mode,
    layout::{Layout, Overlap},
    stream::StreamCore,
};

impl<D: Device> StreamCore<D> {
    /// Returns an error if elements to read share memory with elements to write. They may be the
    /// same elements in the same places if the operation may work `in_place`. On a stream whose
    /// program orders work itself, there is no check.
    ///
    /// `layout` is the layout of the elements to read in the shape of the operation.
    pub(crate) fn check_disjoint<R: Device>(
        &self,
        read: &Elements<'_, R>,
        layout: &Layout,
        written: &Elements<'_, D>,
        in_place: bool,
    ) -> Result<(), LayoutError> {
        if is_one(read, written) {
            debug_assert!(is_disjoint(read, layout, written, in_place), "an input overlaps the result");
            return Ok(());
        }
        let is_lent = read.allocation.is_lent() || written.allocation.is_lent();
        if !is_lent || self.mode == Mode::Unchecked || are_disjoint(read, written) {
            return Ok(());
        }
        if in_place && is_same(read, layout, written) {
            return Ok(());
        }
        Err(LayoutError::SharedMemory)
    }
}

/// Whether the two share no byte.
pub(crate) fn are_disjoint<D: Device, R: Device>(one: &Elements<'_, D>, two: &Elements<'_, R>) -> bool {
    if is_one(one, two) {
        return is_disjoint(one, one.layout, two, false);
    }
    if one.allocation.part().is_some() || two.allocation.part().is_some() {
        // A stand-in has no address. A launch checks the memory itself.
        return true;
    }
    let (first, second) = (addresses(one), addresses(two));
    first.start >= second.end || second.start >= first.end || are_disjoint_in_bytes(one, two)
}

/// Whether both belong to one allocation.
fn is_one<D: Device, R: Device>(one: &Elements<'_, D>, two: &Elements<'_, R>) -> bool {
    ptr::addr_eq(Arc::as_ptr(one.allocation), Arc::as_ptr(two.allocation))
}

/// The range from the lowest element to the end of the highest.
pub(crate) fn addresses<D: Device>(elements: &Elements<'_, D>) -> Range<u64> {
    let span = elements.layout.span();
    address_of(elements, span.start)..address_of(elements, span.end)
}

/// The address of the element at a position of the allocation. A layout without elements may have any position.
fn address_of<D: Device>(elements: &Elements<'_, D>, position: usize) -> u64 {
    elements.allocation.address().saturating_add(position.saturating_mul(elements.item_bytes) as u64)
}

/// Whether two allocations' elements, whose spans meet, share no byte; `false` if in doubt.
fn are_disjoint_in_bytes<D: Device, R: Device>(one: &Elements<'_, D>, two: &Elements<'_, R>) -> bool {
    let lowest = one.allocation.address().min(two.allocation.address());
    let (Some(one), Some(two)) = (placed(one, lowest), placed(two, lowest)) else { return false };
    one.overlap(&two) == Overlap::Disjoint
}

/// The bytes of elements as a layout, counted from an address below them.
fn placed<D: Device>(elements: &Elements<'_, D>, lowest: u64) -> Option<Layout> {
    let bytes = in_bytes(elements.layout, elements.item_bytes)?;
    let behind = usize::try_from(elements.allocation.address() - lowest).ok()?;
    Layout::new(bytes.shape(), bytes.strides(), bytes.offset().checked_add(behind)?).ok()
}

/// Whether each index leads to the same bytes in both.
fn is_same<D: Device, R: Device>(read: &Elements<'_, R>, layout: &Layout, written: &Elements<'_, D>) -> bool {
    read.item_bytes == written.item_bytes
        && layout.steps_like(written.layout)
        && address_of(read, layout.offset()) == address_of(written, written.layout.offset())
}

/// Whether elements of one allocation share no memory, or may be and are the same in the same
/// places.
fn is_disjoint<D: Device, R: Device>(
    read: &Elements<'_, R>,
    layout: &Layout,
    written: &Elements<'_, D>,
    in_place: bool,
) -> bool {
    (in_place && is_same(read, layout, written))
        || !read.touch(false).footprint.meets(&written.touch(true).footprint)
        || in_bytes(layout, read.item_bytes)
            .zip(in_bytes(written.layout, written.item_bytes))
            .is_none_or(|(read, written)| read.overlap(&written) != Overlap::Overlapping)
}

/// A layout of the bytes of elements, which can be compared with the bytes of elements of another
/// size; `None` if they are too many to be counted.
fn in_bytes(layout: &Layout, item_bytes: usize) -> Option<Layout> {
    layout.expand_dims(-1).ok()?.reinterpreted(item_bytes, 1).ok()
}
