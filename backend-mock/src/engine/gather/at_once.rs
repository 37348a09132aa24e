//! Gathers that nothing can be wrong with, done by core's loops.
#![allow(unsafe_code)] // calls core's loops on memory whose bounds it looked at

use std::ptr;

use devarray::{
    Layout,
    gather::{Direction, GatherMemory, Gathering, IndexError, Repeats, gather_on_host},
};

use super::{
    super::{Bytes, compute::Elements, source::Source},
    Gathered,
};

/// Elements to a byte, for each position, above which a byte each takes too much memory.
const SPARSE: usize = 16;

impl Gathered {
    /// Runs it, unless elements must be looked at one by one: all memories must be there, none the
    /// host's; all that is picked must have a value; and no bytes get their first value. Returns an
    /// index out of range, and how many a mask selected.
    ///
    /// If something may be wrong after all, nothing was done.
    pub(super) fn run_at_once(
        &self,
        picked: &Source<'_>,
        indices: &Source<'_>,
        mask: Option<&Source<'_>>,
        written: &mut Bytes,
    ) -> Option<(Option<IndexError>, i64)> {
        let (from, to) = self.ends();
        if !self.missing.is_empty() || self.put.is_some() {
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
        // SAFETY: as for the operation itself.
        if is_once && self.is_judged && !unsafe { self.puts_once(memory) } {
            return None;
        }
        // SAFETY: each layout lies inside its memory, as was looked at; the memory that is written is
        // borrowed alone, and what else is read in it was copied; the count has a place of its own.
        let error = unsafe { gather_on_host(&self.work(), memory) };
        Some((error, selected))
    }

    /// Whether it certainly puts no element twice: as many are put as indices are in range. Ones are
    /// put in place of the elements, and counted.
    ///
    /// # Safety
    ///
    /// The indices and the mask of `memory` may be read; a count may be written and read.
    unsafe fn puts_once(&self, memory: GatherMemory) -> bool {
        let (span, work) = (self.whole.layout.span(), self.work());
        let picks = work.picks();
        if span.len() / SPARSE > work.elements.len() || picks == 0 {
            return false;
        }
        let mut put = vec![0_u8; span.len()];
        let one = [1_u8];
        let Ok(ones) = Layout::new(work.shape, &vec![0; work.shape.len()], 0) else { return false };
        let noting = Gathering { width_bytes: 1, elements: &ones, ..work };
        let memory = GatherMemory {
            indexed: put.as_mut_ptr().wrapping_sub(span.start),
            elements: one.as_ptr().cast_mut(),
            ..memory
        };
        // SAFETY: as the caller promises; the whole layout's span lies in the bytes that are put, and
        // the layout of ones is one byte, which a scatter reads.
        let error = unsafe { gather_on_host(&noting, memory) };
        let asked = match (self.is_counted(), work.mask) {
            (true, _) => {
                let count = memory.indices.wrapping_add(self.indices.layout.offset() * 8).cast::<i64>();
                // SAFETY: the count, which was written just now.
                usize::try_from(unsafe { count.read_unaligned() }).unwrap_or(0) * (ones.len() / picks)
            }
            (false, None) => ones.len(),
            (false, Some(_)) => return false,
        };
        error.is_none() && put.iter().map(|&put| usize::from(put)).sum::<usize>() == asked
    }
}

/// Where position 0 of a layout is, if its elements lie in the bytes.
fn position_zero(of: &Elements, bytes: &[u8]) -> Option<*const u8> {
    lies_in(of, bytes).then(|| bytes.as_ptr().wrapping_offset(of.start_bytes))
}

/// Whether all elements do. Those of a mistaken operation may begin before the memory.
fn lies_in(of: &Elements, bytes: &[u8]) -> bool {
    let span = of.layout.span();
    let at = |position: usize| position.checked_mul(of.item_bytes)?.checked_add_signed(of.start_bytes);
    at(span.start).is_some() && at(span.end).is_some_and(|end| end <= bytes.len())
}
