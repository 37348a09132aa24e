//! Slots that a thread copies to or from.
#![allow(unsafe_code)] // hands raw pointers to threads whose end is waited for

use super::{
    Slot, Staging,
    crew::{Ticket, Work},
};
use crate::{
    backend::Device,
    copy::{Plan, execute, execute_past_caches},
};

/// A copy on the host: a plan and where its two sides are.
#[derive(Debug)]
pub(crate) struct HostCopy {
    plan: Plan,
    src: *const u8,
    dst: *mut u8,
    /// Whether the destination is better not kept in the caches.
    past_caches: bool,
}

// SAFETY: the promise of `HostCopy::new` holds for whichever thread runs it.
unsafe impl Send for HostCopy {}

impl HostCopy {
    /// A copy to be run, or dropped.
    ///
    /// # Safety
    ///
    /// What [`execute`] asks of its arguments holds until then.
    unsafe fn new(plan: Plan, src: *const u8, dst: *mut u8, past_caches: bool) -> Self {
        Self { plan, src, dst, past_caches }
    }
}

impl Work for HostCopy {
    fn run(self) {
        if self.past_caches {
            // SAFETY: promised to `new`.
            unsafe { execute_past_caches(&self.plan, self.src, self.dst) }
        } else {
            // SAFETY: promised to `new`.
            unsafe { execute(&self.plan, self.src, self.dst) }
        }
    }
}

/// A slot that a thread copies to or from. When this is gone, none does any more, and the slot is idle.
#[derive(Debug)]
pub(crate) struct WorkedSlot<'a, D: Device> {
    ticket: Option<Ticket<HostCopy>>,
    /// Until it is finished.
    slot: Option<Slot<D>>,
    staging: &'a Staging<D>,
}

/// Who copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The calling thread.
    Caller,
    /// The first thread that has time.
    Crew,
}

impl<D: Device> WorkedSlot<'_, D> {
    /// Blocks until the copy is done.
    pub(crate) fn finish(mut self) -> Slot<D> {
        if let Some(ticket) = self.ticket.take() {
            ticket.finish();
        }
        self.slot.take().expect("a slot is finished once")
    }
}

impl<D: Device> Drop for WorkedSlot<'_, D> {
    fn drop(&mut self) {
        self.ticket = None;
        if let Some(slot) = self.slot.take() {
            self.staging.give_back(slot);
        }
    }
}

impl<D: Device> Staging<D> {
    /// Copies what `pack` names to a slot, past the caches if told. Does not block.
    ///
    /// # Safety
    ///
    /// The source is readable, and nobody writes to it, until what this answers is finished or dropped; it is one of the two.
    /// The destination of `pack` begins at 0.
    pub(crate) unsafe fn pack(
        &self,
        mut slot: Slot<D>,
        pack: Plan,
        src: *const u8,
        by: By,
        past_caches: bool,
    ) -> WorkedSlot<'_, D> {
        let dst = slot.bytes_mut(pack.len_bytes()).as_mut_ptr();
        // SAFETY: the caller's promise; the destination is the slot, which nobody uses before it comes back.
        let copy = unsafe { HostCopy::new(pack, src, dst, past_caches) };
        self.work(slot, copy, by)
    }

    /// Copies a slot to where `unpack` says. Does not block.
    ///
    /// # Safety
    ///
    /// The destination is writable, and nobody else uses it, until what this answers is finished or dropped; it is one
    /// of the two. The source of `unpack` begins at 0.
    pub(crate) unsafe fn unpack(
        &self,
        slot: Slot<D>,
        unpack: Plan,
        dst: *mut u8,
        by: By,
    ) -> WorkedSlot<'_, D> {
        let src = slot.bytes(unpack.len_bytes()).as_ptr();
        // SAFETY: the caller's promise; the source is the slot, which nobody uses before it comes back.
        let copy = unsafe { HostCopy::new(unpack, src, dst, by == By::Crew) };
        self.work(slot, copy, by)
    }

    fn work(&self, slot: Slot<D>, copy: HostCopy, by: By) -> WorkedSlot<'_, D> {
        let ticket = match by {
            By::Caller => Ticket::new(copy),
            By::Crew => self.crew.give(copy),
        };
        WorkedSlot { ticket: Some(ticket), slot: Some(slot), staging: self }
    }
}
