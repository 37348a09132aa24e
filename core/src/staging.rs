//! Pinned memory between a caller's slice and the device.
//!
//! A borrowed slice never meets the device: it is copied to or from a slot that the library owns.
//! So the slice is free when the call returns, whatever happens to the device. If a wait cannot say
//! that the device is finished, only a slot is leaked.
#![allow(unsafe_code)] // reads and writes pinned memory that no operation uses

mod copy_pool;
mod host_copy;

use std::{
    mem::{self, ManuallyDrop},
    num::NonZeroUsize,
    slice,
    sync::{Mutex, PoisonError},
};

use crate::{
    Result,
    backend::{Device, Event, HostBuffer, Quiesced},
    deferred_drop::Reports,
    hazards::{Position, RecordedEvent},
    lock::lock,
};

pub(crate) use copy_pool::CopyPool;
pub(crate) use host_copy::{Copier, HostCopy, SlotInCopy};

/// Bytes of the largest slot, and so of the largest piece of a transfer. It is so large that an
/// operation costs little beside its copy, and so small that copies to a slot and from it to the
/// device overlap early.
pub(crate) const SLOT_BYTES: usize = 2 << 20;

/// Bytes of the smallest slot.
const MIN_SLOT_BYTES: usize = 4 << 10;

/// When this many slots of one size are on their way to the device and none is idle, a transfer
/// waits for the oldest.
const SLOTS_IN_FLIGHT: usize = 8;

/// The context, which allocates slots and takes note of waits.
pub(crate) trait Pins<D: Device>: Reports {
    /// The device.
    fn device(&self) -> &D;

    /// Drops owners of memory that the device is finished with. Does not block.
    fn collect(&self);
}

/// The slots that no transfer holds at present. The device may still be busy with some of them.
#[derive(Debug)]
pub(crate) struct Staging<D: Device> {
    idle: Mutex<Vec<Slot<D>>>,
    /// Oldest first.
    busy: Mutex<Vec<BusySlot<D>>>,
    /// Threads that copy to slots and from slots.
    pub(crate) copy_pool: CopyPool<HostCopy>,
}

/// A slot that no operation uses.
#[derive(Debug)]
pub(crate) struct Slot<D: Device> {
    memory: D::HostBuffer,
}

/// A slot that operations may use for an unknown time. Dropping it leaks the memory: freeing it
/// would be unsound.
#[derive(Debug)]
pub(crate) struct LentSlot<D: Device> {
    memory: ManuallyDrop<D::HostBuffer>,
}

/// A slot that operations use until an event. Dropping it leaks the memory.
#[derive(Debug)]
pub(crate) struct BusySlot<D: Device> {
    memory: ManuallyDrop<D::HostBuffer>,
    lane: usize,
    mark: RecordedEvent<D>,
}

impl<D: Device> Slot<D> {
    /// The first `len_bytes` bytes.
    pub(crate) fn bytes(&self, len_bytes: usize) -> &[u8] {
        assert!(len_bytes <= self.memory.len_bytes(), "a slot is as large as it was asked for");
        // SAFETY: `HostBuffer` vouches for an initialized range of that length; nobody writes to
        // it, because no operation uses a `Slot` and `&self` excludes `bytes_mut`.
        unsafe { slice::from_raw_parts(self.memory.as_ptr(), len_bytes) }
    }

    /// The first `len_bytes` bytes, to write.
    pub(crate) fn bytes_mut(&mut self, len_bytes: usize) -> &mut [u8] {
        assert!(len_bytes <= self.memory.len_bytes(), "a slot is as large as it was asked for");
        // SAFETY: as in `bytes`, and `&mut self` is exclusive.
        unsafe { slice::from_raw_parts_mut(self.memory.as_ptr(), len_bytes) }
    }

    /// Gives the slot to operations.
    pub(crate) fn lend(self) -> LentSlot<D> {
        LentSlot { memory: ManuallyDrop::new(self.memory) }
    }
}

impl<D: Device> LentSlot<D> {
    /// The first byte, for an operation.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Marks a slot as in use until an event of `lane`, to which the operations were submitted. If no
    /// event could be recorded, `is_over` waits and says whether the device is finished with the
    /// memory.
    pub(crate) fn until(
        self,
        lane: usize,
        recorded: Result<RecordedEvent<D>>,
        is_over: impl FnOnce() -> bool,
    ) -> Result<BusySlot<D>> {
        match recorded {
            Ok(mark) => Ok(BusySlot { memory: self.memory, lane, mark }),
            Err(error) => {
                if is_over() {
                    drop(ManuallyDrop::into_inner(self.memory));
                }
                Err(error)
            }
        }
    }
}

impl<D: Device> BusySlot<D> {
    /// Whether the operations are finished with the slot, or failed.
    fn is_over(&self) -> bool {
        !matches!(self.mark.event.query(), Ok(false))
    }

    /// The position that a wait for the slot covers.
    pub(crate) fn position(&self) -> Position {
        self.mark.position(self.lane)
    }

    /// Blocks until the operations are finished with the slot. If the wait does not say so, the
    /// slot is leaked.
    pub(crate) fn wait(self, core: &impl Reports) -> Result<Slot<D>> {
        match self.mark.event.synchronize() {
            Quiesced::Done => {
                core.host_waited(&self.position());
                Ok(Slot { memory: ManuallyDrop::into_inner(self.memory) })
            }
            Quiesced::Ended(error) => {
                drop(ManuallyDrop::into_inner(self.memory));
                Err(error)
            }
            Quiesced::Unknown(error) => Err(error),
        }
    }
}

impl<D: Device> Staging<D> {
    /// Gets a slot of at least `len_bytes` bytes, at most [`SLOT_BYTES`]. May block until an
    /// earlier transfer is finished. If pinned memory runs out, it waits for an earlier transfer
    /// instead of failing.
    pub(crate) fn acquire(&self, core: &impl Pins<D>, len_bytes: usize) -> Result<Slot<D>> {
        let size = slot_size(len_bytes);
        core.collect();
        loop {
            if let Some(slot) = self.take_idle(size).or_else(|| self.take_finished(core, size)) {
                return Ok(slot);
            }
            if let Some(oldest) = self.take_oldest(size, SLOTS_IN_FLIGHT, |_| true) {
                match oldest.wait(core) {
                    Ok(slot) => return Ok(slot),
                    // An earlier transfer failed, and its slot is lost. This one may still succeed.
                    Err(error) => core.report(error),
                }
                continue;
            }
            match core.device().alloc_host(NonZeroUsize::new(size).expect("at least MIN_SLOT_BYTES")) {
                Ok(memory) => return Ok(Slot { memory }),
                Err(error) if error.is_retryable() => {
                    if !self.make_room(core, size) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Frees the idle slots. If there are none, waits until the oldest busy slot is idle,
    /// preferably one of this size. Returns whether there was a slot.
    fn make_room(&self, core: &impl Pins<D>, size: usize) -> bool {
        self.collect(core);
        // Slots are freed outside the lock, because the backend decides how long that takes and
        // what it runs.
        let idle = mem::take(&mut *lock(&self.idle));
        if !idle.is_empty() {
            return true;
        }
        let Some(oldest) = self.take_oldest(size, 1, |_| true).or_else(|| self.take_any()) else {
            return false;
        };
        match oldest.wait(core) {
            Ok(slot) => self.give_back(slot),
            Err(error) => core.report(error),
        }
        true
    }

    /// Like [`acquire`](Self::acquire), for a lane that may have `most_bytes` in flight in slots of
    /// this size. At that limit it waits for the oldest of them and returns it even if others are
    /// idle, because it is still in the caches.
    pub(crate) fn acquire_within(
        &self,
        core: &impl Pins<D>,
        lane: usize,
        most_bytes: usize,
        len_bytes: usize,
    ) -> Result<Slot<D>> {
        let size = slot_size(len_bytes);
        if let Some(oldest) = self.take_oldest(size, most_bytes / size, |slot| slot.lane == lane) {
            match oldest.wait(core) {
                Ok(slot) => return Ok(slot),
                Err(error) => core.report(error),
            }
        }
        self.acquire(core, len_bytes)
    }

    /// Takes back a slot that no operation uses.
    pub(crate) fn give_back(&self, slot: Slot<D>) {
        lock(&self.idle).push(slot);
    }

    /// Takes back a slot that operations still use.
    pub(crate) fn give_back_busy(&self, slot: BusySlot<D>) {
        lock(&self.busy).push(slot);
    }

    /// Moves all slots that the device is finished with to the idle slots.
    fn collect(&self, core: &impl Pins<D>) {
        for slot in lock(&self.busy).extract_if(.., |slot| slot.is_over()) {
            // The device is finished, or failed; the wait says which.
            match slot.wait(core) {
                Ok(slot) => self.give_back(slot),
                Err(error) => core.report(error),
            }
        }
    }

    /// Takes the oldest finished slot of a size. It takes only one, because each costs a few
    /// microseconds, and the threads wait for the first.
    fn take_finished(&self, core: &impl Pins<D>, size: usize) -> Option<Slot<D>> {
        loop {
            let over = {
                let mut busy = lock(&self.busy);
                let at = busy.iter().position(|slot| slot.memory.len_bytes() == size && slot.is_over())?;
                busy.remove(at)
            };
            match over.wait(core) {
                Ok(slot) => return Some(slot),
                Err(error) => core.report(error),
            }
        }
    }

    fn take_idle(&self, size: usize) -> Option<Slot<D>> {
        let mut idle = lock(&self.idle);
        let at = idle.iter().rposition(|slot| slot.memory.len_bytes() == size)?;
        Some(idle.swap_remove(at))
    }

    /// The oldest busy slot.
    fn take_any(&self) -> Option<BusySlot<D>> {
        let mut busy = lock(&self.busy);
        (!busy.is_empty()).then(|| busy.remove(0))
    }

    /// Takes the oldest busy slot of a size for which `of` holds, if there are at least `in_flight`
    /// of them.
    fn take_oldest(
        &self,
        size: usize,
        in_flight: usize,
        of: impl Fn(&BusySlot<D>) -> bool,
    ) -> Option<BusySlot<D>> {
        let mut busy = lock(&self.busy);
        let mut found = (0..busy.len()).filter(|&at| busy[at].memory.len_bytes() == size && of(&busy[at]));
        let oldest = found.next()?;
        (1 + found.count() >= in_flight).then(|| busy.remove(oldest))
    }
}

/// The size of the slot for `len_bytes`.
fn slot_size(len_bytes: usize) -> usize {
    len_bytes.next_power_of_two().max(MIN_SLOT_BYTES)
}

impl<D: Device> Default for Staging<D> {
    fn default() -> Self {
        Self { idle: Mutex::default(), busy: Mutex::default(), copy_pool: CopyPool::default() }
    }
}

impl<D: Device> Drop for Staging<D> {
    /// Waits for the device, then frees; leaks memory that the device may still use.
    fn drop(&mut self) {
        let busy = self.busy.get_mut().unwrap_or_else(PoisonError::into_inner);
        for slot in busy.drain(..) {
            if let Quiesced::Done | Quiesced::Ended(_) = slot.mark.event.synchronize() {
                drop(ManuallyDrop::into_inner(slot.memory));
            }
        }
    }
}
