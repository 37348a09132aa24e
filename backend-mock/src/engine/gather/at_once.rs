//! Gathers that nothing can be wrong with, done by core's loops.
#![allow(unsafe_code)] // calls core's loops on memory whose bounds it looked at

use std::ptr;

use devarray::gather::{Direction, GatherMemory, IndexError, Repeats, gather_on_host};

use super::{
    super::{Bytes, compute::Elements, source::Source},
    Gathered,
};
use crate::judge::ByteSet;

/// What a gather came to.
pub(super) struct Done {
    /// An index out of range.
    pub(super) error: Option<IndexError>,
    /// How many a mask selected, if that is counted.
    pub(super) selected: i64,
    /// If it may give bytes a value, those that it gave one.
    pub(super) given: Option<ByteSet>,
}

impl Gathered {
    /// Runs it, unless elements must be looked at one by one: all memories must be there, none the
    /// host's; all that is picked must have a value; and where none may be put twice, none is.
    ///
    /// If something may be wrong after all, nothing was done.
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
            // The count is written to the right memory later.
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
            // SAFETY: indices and a mask lie inside their memories, as was looked at; a count has a
            // place of its own.
            let noted = unsafe { self.noted(memory) }?;
            // Each that is asked for is in range, and another.
            // SAFETY: as above.
            if is_once && Some(noted.count()) != unsafe { self.selected(memory) } {
                return None;
            }
            if self.put.is_some() {
                given = Some(noted.bytes(to)?);
            }
        }
        // SAFETY: each layout lies inside its memory, as was looked at; the memory that is written is
        // borrowed alone, and what else is read in it was copied; the count has a place of its own.
        let error = unsafe { gather_on_host(&self.work(), memory) };
        Some(Done { error, selected, given })
    }
}

/// Where position 0 of a layout is, if its elements lie in the bytes.
fn position_zero(of: &Elements, bytes: &[u8]) -> Option<*const u8> {
    lies_in(of, bytes).then(|| bytes.as_ptr().wrapping_offset(of.start_bytes))
}

/// Whether all elements do. A mistaken operation's may begin before the memory.
fn lies_in(of: &Elements, bytes: &[u8]) -> bool {
    let span = of.layout.span();
    let at = |position: usize| position.checked_mul(of.item_bytes)?.checked_add_signed(of.start_bytes);
    at(span.start).is_some() && at(span.end).is_some_and(|end| end <= bytes.len())
}
