//! Whether the memory an operation reads is disjoint from the memory it writes.
//!
//! Within one allocation the borrow checker ensures it: a view to write is exclusive. But memory of
//! other code may have been adopted twice, as when a caller of a Python function passes two slices
//! of one array; then addresses decide.

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
    /// Refuses elements to read that share memory with those to write, unless they are the same,
    /// in the same places, and the operation may work `in_place`. Does not refuse on a stream whose
    /// program sees to order.
    ///
    /// `layout`: the elements to read in the shape of the operation.
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

/// Whether no byte is of both.
pub(crate) fn are_disjoint<D: Device, R: Device>(one: &Elements<'_, D>, two: &Elements<'_, R>) -> bool {
    if is_one(one, two) {
        return is_disjoint(one, one.layout, two, false);
    }
    if one.allocation.part().is_some() || two.allocation.part().is_some() {
        // A stand-in has no address. A launch looks at the memory itself.
        return true;
    }
    let (first, second) = (addresses(one), addresses(two));
    first.start >= second.end || second.start >= first.end || are_disjoint_in_bytes(one, two)
}

/// Whether both are of one allocation.
fn is_one<D: Device, R: Device>(one: &Elements<'_, D>, two: &Elements<'_, R>) -> bool {
    ptr::addr_eq(Arc::as_ptr(one.allocation), Arc::as_ptr(two.allocation))
}

/// From the lowest element to behind the highest.
fn addresses<D: Device>(elements: &Elements<'_, D>) -> Range<u64> {
    let span = elements.layout.span();
    address_of(elements, span.start)..address_of(elements, span.end)
}

/// The address of an element of the allocation.
fn address_of<D: Device>(elements: &Elements<'_, D>, position: usize) -> u64 {
    elements.allocation.address().saturating_add((position * elements.item_bytes) as u64)
}

/// Answers the same for elements of two allocations whose spans meet; `false` if in doubt.
fn are_disjoint_in_bytes<D: Device, R: Device>(one: &Elements<'_, D>, two: &Elements<'_, R>) -> bool {
    let lowest = one.allocation.address().min(two.allocation.address());
    let (Some(one), Some(two)) = (placed(one, lowest), placed(two, lowest)) else { return false };
    one.overlap(&two) == Overlap::Disjoint
}

/// The bytes of elements, counted from an address below them.
fn placed<D: Device>(elements: &Elements<'_, D>, lowest: u64) -> Option<Layout> {
    let bytes = in_bytes(elements.layout, elements.item_bytes)?;
    let behind = usize::try_from(elements.allocation.address() - lowest).ok()?;
    Layout::new(bytes.shape(), bytes.strides(), bytes.offset().checked_add(behind)?).ok()
}

/// Whether each index leads to the same bytes of both.
fn is_same<D: Device, R: Device>(read: &Elements<'_, R>, layout: &Layout, written: &Elements<'_, D>) -> bool {
    read.item_bytes == written.item_bytes
        && layout.steps_like(written.layout)
        && address_of(read, layout.offset()) == address_of(written, written.layout.offset())
}

/// Whether elements of one allocation share no memory, or are the same in the same places and may
/// be.
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

/// The bytes of elements, which can be compared with the bytes of elements of another size; nothing
/// if they are too many to be counted.
fn in_bytes(layout: &Layout, item_bytes: usize) -> Option<Layout> {
    layout.expand_dims(-1).ok()?.reinterpreted(item_bytes, 1).ok()
}
