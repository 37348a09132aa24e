//! Keeps owners of memory that the device may still use until it is finished.
//!
//! Memory that is not freed in stream order (pinned, mapped, managed or adopted) has an owner whose
//! destructor frees it at once. The destructor must not run before every operation on the memory is
//! over, and a drop must not block. So the owner is kept here with the events to wait for, and a
//! later call, or the end of the context, drops it.

use std::{
    mem::ManuallyDrop,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use crate::{
    Error,
    backend::{Device, Event, Quiesced},
    hazards::{Position, RecordedEvent},
    lock::lock,
    memory::stopping_panics,
};

/// The owner of memory, dropped when the device is finished with the memory. It may be a value of the
/// program, whose drop may panic: [`Reports::drop_owner`] drops it.
pub(crate) type Owner = Box<dyn Send + Sync>;

/// A context that takes note of waits, and of errors that no call can return.
pub(crate) trait Reports {
    /// The backend's name, for errors.
    fn backend(&self) -> &'static str;

    /// Keeps an error that no call can return now.
    fn report(&self, error: Error);

    /// Notes that everything that a wait covers is finished.
    fn host_waited(&self, wait: &Position);

    /// Drops an owner. A panic is reported and goes no further: the call that drops the owner may
    /// have nothing to do with it, and drops others too.
    fn drop_owner(&self, owner: Owner) {
        if let Err(message) = stopping_panics(|| drop(owner)) {
            self.report(Error::OwnerPanicked { backend: self.backend(), message });
        }
    }
}

/// The owners that were dropped while their memory was in use.
pub(crate) struct DeferredDrops<D: Device> {
    kept: Mutex<Vec<Kept<D>>>,
    /// Whether there are any. It is written under the lock of the list, and read without it,
    /// because most drops find none.
    any: AtomicBool,
}

/// An owner, and the lanes and events that cover all uses of its memory. Dropping this leaks the
/// owner.
struct Kept<D: Device> {
    owner: ManuallyDrop<Owner>,
    marks: Vec<(usize, RecordedEvent<D>)>,
}

impl<D: Device> DeferredDrops<D> {
    /// Keeps an owner until its events are over.
    pub(crate) fn keep(&self, owner: Owner, marks: Vec<(usize, RecordedEvent<D>)>) {
        // Comes first: if the lock panics, the owner, whose memory is in use, is leaked, and so are
        // the events, whose drop would be a second panic.
        let kept = ManuallyDrop::new(Kept { owner: ManuallyDrop::new(owner), marks });
        let mut all = lock(&self.kept);
        all.push(ManuallyDrop::into_inner(kept));
        self.any.store(true, Relaxed);
    }

    /// Drops all owners, after their events. Blocks until the device is finished with them.
    pub(crate) fn settle(&self, core: &impl Reports) {
        let mut kept = lock(&self.kept);
        let all = std::mem::take(&mut *kept);
        self.any.store(false, Relaxed);
        drop(kept);
        Self::settle_each(core, all);
    }

    /// Drops the owners whose events are over. Does not block.
    pub(crate) fn collect(&self, core: &impl Reports) {
        if !self.any.load(Relaxed) {
            return;
        }
        let over =
            |kept: &mut Kept<D>| kept.marks.iter().all(|(_, mark)| !matches!(mark.event.query(), Ok(false)));
        // Destructors may be foreign code, so they run outside the lock.
        let mut all = lock(&self.kept);
        let finished: Vec<_> = all.extract_if(.., over).collect();
        self.any.store(!all.is_empty(), Relaxed);
        drop(all);
        Self::settle_each(core, finished);
    }

    fn settle_each(core: &impl Reports, all: Vec<Kept<D>>) {
        for kept in all {
            let waited = |lane, mark: &RecordedEvent<D>| core.host_waited(&mark.position(lane));
            if let Some(owner) = kept.settle(waited, |error| core.report(error)) {
                core.drop_owner(owner);
            }
        }
    }
}

impl<D: Device> Kept<D> {
    /// Waits for the events. Returns the owner, to be dropped. If a wait does not say that the
    /// device is finished, leaks the owner.
    fn settle(
        self,
        mut waited: impl FnMut(usize, &RecordedEvent<D>),
        mut failed: impl FnMut(Error),
    ) -> Option<Owner> {
        let mut unknown = false;
        for (lane, mark) in &self.marks {
            match mark.event.synchronize() {
                Quiesced::Done => waited(*lane, mark),
                Quiesced::Ended(error) => failed(error),
                Quiesced::Unknown(error) => {
                    unknown = true;
                    failed(error);
                }
            }
        }
        (!unknown).then(|| ManuallyDrop::into_inner(self.owner))
    }
}

impl<D: Device> Default for DeferredDrops<D> {
    fn default() -> Self {
        Self { kept: Mutex::default(), any: AtomicBool::new(false) }
    }
}

impl<D: Device> Drop for DeferredDrops<D> {
    /// Waits for the device. Nobody is left to get errors.
    fn drop(&mut self) {
        for kept in self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let owner = kept.settle(|_, _| {}, drop);
            let _ = stopping_panics(|| drop(owner));
        }
    }
}
