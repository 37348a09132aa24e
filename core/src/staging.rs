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

/// Bytes of the largest slot, and so of the largest piece a transfer is cut into. Large enough that
/// the cost of an operation vanishes beside its copy, small enough that copying to a slot and from
/// it to the device overlap early.
pub(crate) const SLOT_BYTES: usize = 2 << 20;

/// Bytes of the smallest slot.
const MIN_SLOT_BYTES: usize = 4 << 10;

/// Slots of one size on their way to the device before a transfer waits for the oldest, if none is
/// idle.
const SLOTS_IN_FLIGHT: usize = 8;

/// The context: slots come from it, and it is told of them.
pub(crate) trait Pins<D: Device>: Reports {
    /// The device.
    fn device(&self) -> &D;

    /// Drops owners of memory that the device is finished with. Does not block.
    fn collect(&self);
}

/// The slots that no transfer holds now. The device may still be busy with some of them.
#[derive(Debug)]
pub(crate) struct Staging<D: Device> {
    idle: Mutex<Vec<Slot<D>>>,
    /// Oldest first.
    busy: Mutex<Vec<BusySlot<D>>>,
    /// Threads that copy to slots and from them.
    pub(crate) copy_pool: CopyPool<HostCopy>,
}

/// A slot that no operation uses.
#[derive(Debug)]
pub(crate) struct Slot<D: Device> {
    memory: D::HostBuffer,
}

/// A slot that operations may use for an unknown time. Dropping it leaks the memory: nothing else
/// would be sound.
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

    /// A slot in use until an event of `lane`, to which the operations were submitted, if any. If none
    /// could be recorded, `is_over` waits and says whether the device is finished with the memory.
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
    /// A slot of at least `len_bytes` bytes, at most [`SLOT_BYTES`]. May block until an earlier
    /// transfer is finished; if pinned memory runs out, it waits for one instead of failing.
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
                    // An earlier transfer failed, and its slot with it. This one may still succeed.
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

    /// Frees the slots that are idle, or makes one idle that is on its way: of a size, or else of
    /// any. Whether there was one.
    fn make_room(&self, core: &impl Pins<D>, size: usize) -> bool {
        self.collect(core);
        // Freed outside the lock: how long that takes, and what it runs, is the backend's.
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

    /// [`acquire`](Self::acquire) for a lane that may have `most_bytes` in flight in slots of this
    /// size. When it has, the slot is the oldest of them, once the device is finished with it,
    /// even if others are idle: it is still in the caches.
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

    /// Moves all that the device is finished with to the idle slots.
    fn collect(&self, core: &impl Pins<D>) {
        for slot in lock(&self.busy).extract_if(.., |slot| slot.is_over()) {
            // Finished, or failed: then the wait says which way.
            match slot.wait(core) {
                Ok(slot) => self.give_back(slot),
                Err(error) => core.report(error),
            }
        }
    }

    /// The oldest slot of a size that the device is finished with. One only, because each costs a
    /// few microseconds, and the threads wait for the first.
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

    /// The oldest of some busy slots of a size, if at least `in_flight` of them are.
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

/// Bytes of the slot for `len_bytes`.
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
