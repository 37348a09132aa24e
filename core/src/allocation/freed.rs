//! Memory that nobody here has any more is freed in stream order, or given back to its owner.

use std::{
    mem::ManuallyDrop,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    backend::{Buffer as _, Device, FreeOp, Quiesced, RunsAtOnce as _, Stream as _},
    context::ContextCore,
    deferred_drop::{Owner, Reports as _},
    hazards::{AccessLog, LaneId},
    kernel::Running,
    lock::lock,
    memory::{AllocationState, DeviceMemory, LedgerEntry},
};

/// Drops the owner of memory when the device is finished with the memory. Blocks only if no event can be
/// recorded.
pub(crate) fn give_back<D: Device>(
    core: &ContextCore<D>,
    uses: &Mutex<AccessLog>,
    len_bytes: usize,
    owner: ManuallyDrop<Owner>,
) {
    // If this panics, the owner is leaked, because its memory may be in use.
    core.collect();
    give_back_only(core, uses, len_bytes, owner);
}

/// Like [`give_back`], for an owner that is not the program's, from where locks are held: drops no owner of other
/// memory, whose destructor may call the library.
pub(crate) fn give_back_only<D: Device>(
    core: &ContextCore<D>,
    uses: &Mutex<AccessLog>,
    len_bytes: usize,
    owner: ManuallyDrop<Owner>,
) {
    if uses.lock().unwrap_or_else(PoisonError::into_inner).is_nominal() {
        // The memory was never used. Panics where taking the lock below would.
        Running::check();
        return core.drop_owner(ManuallyDrop::into_inner(owner));
    }
    let mut tracker = lock(&core.tracker);
    let pending = tracker.pending(uses, len_bytes, true);
    if pending.is_empty() {
        drop(tracker);
        // The destructor may be foreign code, so it runs outside the lock.
        return core.drop_owner(ManuallyDrop::into_inner(owner));
    }
    let marks = tracker.marks_of(&pending);
    let waits = tracker.waits_of(&pending);
    drop(tracker);
    match marks {
        Ok(marks) => core.deferred_drops.keep(ManuallyDrop::into_inner(owner), marks),
        Err(error) => {
            core.report(error);
            if are_over(core, waits) {
                core.drop_owner(ManuallyDrop::into_inner(owner));
            }
        }
    }
}

/// Waits, and reports waits that fail. Returns whether the device is finished with everything.
fn are_over<D: Device>(core: &ContextCore<D>, waits: Vec<Box<dyn FnOnce() -> Quiesced>>) -> bool {
    let is_over = |end: &Quiesced| !matches!(end, Quiesced::Unknown(_));
    let ends: Vec<Quiesced> = waits.into_iter().map(|wait| wait()).collect();
    let are_over = ends.iter().all(is_over);
    ends.into_iter().filter_map(|end| end.into_result().err()).for_each(|error| core.report(error));
    are_over
}

impl<D: Device> DeviceMemory<D> {
    /// Frees in stream order. Blocks only if no event can be recorded, or waited for.
    pub(crate) fn free(self, core: &ContextCore<D>) {
        free(core, self.buffer, self.entry, self.home, &self.uses);
    }
}

/// Frees memory after every access, on the home stream if it still lives. Blocks only if the free
/// cannot be ordered by events: then it waits for the accesses.
pub(super) fn free<D: Device>(
    core: &ContextCore<D>,
    buffer: D::Buffer,
    entry: LedgerEntry,
    home: LaneId,
    uses: &AccessLog,
) {
    let mut tracker = lock(&core.tracker);
    let record = core.watch.is_hooked().then(|| tracker.ledger.record(&entry));
    let lane = tracker.home_or_internal(home);
    if let Err(error) = tracker.order_free(lane, buffer.len_bytes(), uses) {
        let waits = tracker.waits_of(&tracker.pending_of(uses, buffer.len_bytes(), true));
        drop(tracker);
        core.report(error);
        let are_over = are_over(core, waits);
        tracker = lock(&core.tracker);
        if !are_over {
            // A reader might still use the memory, so it is leaked.
            tracker.ledger.set_state(&entry, AllocationState::Lost);
            return;
        }
    }
    let stream = tracker.stream(tracker.home_or_internal(home)).expect("it names a live lane");
    let freed = if stream.runs_at_once() {
        // Giving pages back may take long, so the lock is released. Nothing uses the pages, so
        // other work may come between.
        let stream = Arc::clone(stream);
        drop(tracker);
        let freed = stream.free(FreeOp { buffer });
        tracker = lock(&core.tracker);
        freed
    } else {
        stream.free(FreeOp { buffer })
    };
    match freed {
        Ok(()) => {
            tracker.ledger.leave(entry);
            drop(tracker);
            if let Some(record) = record {
                core.watch.freed(&record);
            }
        }
        Err(error) => {
            tracker.ledger.set_state(&entry, AllocationState::Lost);
            drop(tracker);
            core.report(error);
        }
    }
}
