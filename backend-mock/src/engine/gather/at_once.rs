//! Gathers in which nothing can be wrong, done by core's loops.
#![allow(unsafe_code)] // calls core's loops on memory whose bounds it has checked

use std::ptr;

use devarray::gather::{Direction, GatherMemory, IndexError, Repeats, gather_on_host};

use super::{
    super::{Bytes, compute::Elements, source::Source},
    Gathered,
};
use crate::judge::ByteSet;

/// The outcome of a gather.
pub(super) struct Done {
    /// An index out of range.
    pub(super) error: Option<IndexError>,
    /// The number of elements that a mask selected, if that is counted.
    pub(super) selected: i64,
    /// The bytes that the scatter gave a value, if it may give bytes a value.
    pub(super) given: Option<ByteSet>,
}

impl Gathered {
    /// Runs the operation, unless its elements must be checked one by one. Every memory must exist and be the
    /// engine's own, everything that is gathered must have a value, and no element is put twice if that is
    /// forbidden.
    ///
    /// If something may be wrong, returns `None` and has done nothing.
    pub(super) fn run_at_once(
        &self,
        picked: &Source<'_>,
        indices: &Source<'_>,
        mask: Option<&Source<'_>>,
        written: &mut Bytes,
    ) -> Option<Done> {
        let (from, to) = self.ends();
        if !self.missing.is_empty() {
            return None;
        }
        let from_place = position_zero(from, picked.own()?)?;
        let mask_place = match (&self.mask, mask) {
            (Some(of), Some(mask)) => position_zero(of, mask.own()?)?,
            _ => ptr::null(),
        };
        let mut selected = 0_i64;
        let indices_place = if self.is_counted() {
            // The count is written to its memory later.
            ptr::from_mut(&mut selected).cast::<u8>().wrapping_sub(self.indices.layout.offset() * 8)
        } else {
            position_zero(&self.indices, indices.own()?)?.cast_mut()
        };
        let bytes = written.own_mut().filter(|bytes| lies_in(to, bytes))?;
        let to_place = bytes.as_mut_ptr().wrapping_offset(to.start_bytes);
        let (indexed, elements) = match self.direction {
            Direction::Gather => (from_place.cast_mut(), to_place),
            Direction::Scatter => (to_place, from_place.cast_mut()),
        };
        let memory = GatherMemory { indexed, indices: indices_place, mask: mask_place, elements };
        let is_once = self.direction == Direction::Scatter && self.repeats == Repeats::None;
        let (is_once, mut given) = (is_once && self.is_judged, None);
        if is_once || self.put.is_some() {
            // SAFETY: indices and mask lie inside their memories, as was checked; a count has memory of its
            // own.
            let noted = unsafe { self.noted(memory) }?;
            // Without a mistake, each selected index is in range and puts another element.
            // SAFETY: as above.
            if is_once && Some(noted.count()) != unsafe { self.selected(memory) } {
                return None;
            }
            if self.put.is_some() {
                given = Some(noted.bytes(to)?);
            }
        }
        // SAFETY: each layout lies inside its memory, as was checked; the written memory is borrowed
        // exclusively, and other elements that are read in it were copied; the count has memory of its own.
        let error = unsafe { gather_on_host(&self.work(), memory) };
        Some(Done { error, selected, given })
    }
}

/// The address of position 0 of a layout, if all its elements lie in the bytes.
fn position_zero(of: &Elements, bytes: &[u8]) -> Option<*const u8> {
    lies_in(of, bytes).then(|| bytes.as_ptr().wrapping_offset(of.start_bytes))
}

/// Whether all elements lie in the bytes. A mistaken operation may begin before them.
fn lies_in(of: &Elements, bytes: &[u8]) -> bool {
    let span = of.layout.span();
    let at = |position: usize| position.checked_mul(of.item_bytes)?.checked_add_signed(of.start_bytes);
    at(span.start).is_some() && at(span.end).is_some_and(|end| end <= bytes.len())
}
