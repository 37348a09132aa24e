//! Reports of indices out of range: devices write them to memory of the host, and a wait reads
//! them.
#![allow(unsafe_code)] // reads and owns memory that the device writes

use std::{
    collections::VecDeque,
    mem::offset_of,
    ptr,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, fence},
    },
};

use devarray::{
    Result,
    gather::{GatherOperation, IndexError},
};

use super::params::{self, SLOTS, Slot};
use crate::{
    context::Context,
    driver::{Answer, Driver, sys},
    handle::{Handle, locked},
};

/// Tries to read a note that is being written: a device needs some microseconds.
const TRIES: usize = 10_000;

/// The reports so far.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whether there is anything to look at.
    is_used: AtomicBool,
    /// Operations so far.
    operations: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The memory, and how the device names it.
    memory: Option<(Handle<params::Told>, u64)>,
    /// The changes that were looked at.
    changes: u64,
    /// The operation that was last taken from each slot; as many as there are slots, or none.
    taken: Vec<u64>,
    /// Errors for the program, the oldest first.
    waiting: VecDeque<IndexError>,
}

impl Told {
    /// Where the device writes, and the number of the next operation. Allocates on first use.
    pub(super) fn next(&self, context: &Context, operation: &'static str) -> Result<(u64, u64)> {
        let mut state = locked(&self.state);
        let address = match state.memory {
            Some((_, address)) => address,
            None => {
                let memory = allocate(context, operation)?;
                state.memory = Some(memory);
                state.taken = vec![0; SLOTS];
                self.is_used.store(true, Relaxed);
                memory.1
            }
        };
        Ok((address, self.operations.fetch_add(1, Relaxed) + 1))
    }

    /// Takes the oldest error that was not returned yet. Calls no driver.
    pub(crate) fn take(&self) -> Option<IndexError> {
        if !self.is_used.load(Relaxed) {
            return None;
        }
        let mut state = locked(&self.state);
        state.look();
        state.waiting.pop_front()
    }

    /// Frees the memory. Nothing of the context runs any more.
    pub(super) fn close(&self, driver: &Driver) -> Answer {
        let memory = locked(&self.state).memory.take();
        // SAFETY: allocated by `allocate`, freed once, and no work is left that could write it.
        memory.map_or(Ok(()), |(memory, _)| unsafe { driver.mem_free_host(memory.raw().cast()) })
    }
}

fn allocate(context: &Context, operation: &'static str) -> Result<(Handle<params::Told>, u64)> {
    let (mut start, mut address) = (ptr::null_mut(), 0);
    let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
    context.call(operation, |driver| {
        start = driver.alloc_host(size_of::<params::Told>(), flags)?;
        // SAFETY: the pointer is to a local of the right type; the memory was allocated mapped.
        unsafe { driver.mem_host_get_device_pointer(&raw mut address, start, 0) }.inspect_err(|_| {
            // SAFETY: allocated above, freed once.
            let freed = unsafe { driver.mem_free_host(start) };
            if let Err(also) = freed {
                driver.report(driver.error(operation, also));
            }
        })
    })?;
    Ok((Handle::new(start.cast()), address))
}

impl State {
    /// Moves new notes to those that wait.
    fn look(&mut self) {
        let Some((memory, _)) = self.memory else { return };
        let told: *const params::Told = memory.raw();
        let changes = told.cast::<u64>();
        // SAFETY: the first number of the memory, which lives as long as `self` has it; a device
        // may write it.
        let changes = unsafe { changes.read_volatile() };
        if changes == self.changes {
            return;
        }
        fence(std::sync::atomic::Ordering::Acquire);
        let mut found = Vec::new();
        let mut whole = true;
        for (at, taken) in self.taken.iter_mut().enumerate() {
            let slot = told.wrapping_byte_add(offset_of!(params::Told, slot)).cast::<Slot>().wrapping_add(at);
            // SAFETY: one of the slots, inside the memory.
            match unsafe { read(slot) } {
                Some(slot) if slot.number > *taken => {
                    *taken = slot.number;
                    found.push(slot);
                }
                Some(_) => {}
                None => whole = false,
            }
        }
        found.sort_by_key(|slot| slot.number);
        self.waiting.extend(found.iter().filter_map(error));
        if whole {
            self.changes = changes;
        }
    }
}

/// A slot as it was between two writes; none if it is written all the time.
///
/// # Safety
///
/// It may be read; a device may write it meanwhile.
unsafe fn read(slot: *const Slot) -> Option<Slot> {
    // Its first number.
    let sequence = slot.cast::<u64>();
    for _ in 0..TRIES {
        // SAFETY: as the caller promises
        let before = unsafe { sequence.read_volatile() };
        fence(std::sync::atomic::Ordering::Acquire);
        // SAFETY: as the caller promises
        let copy = unsafe { slot.read_volatile() };
        fence(std::sync::atomic::Ordering::Acquire);
        // SAFETY: as the caller promises
        let after = unsafe { sequence.read_volatile() };
        if before == after && before.is_multiple_of(2) {
            return Some(copy);
        }
        std::hint::spin_loop();
    }
    None
}

fn error(slot: &Slot) -> Option<IndexError> {
    let operation = GatherOperation::ALL.get(usize::try_from(slot.operation).ok()?)?;
    Some(IndexError {
        operation: *operation,
        axis: usize::try_from(slot.axis).ok(),
        position: slot.position,
        value: slot.value,
        bound: slot.bound,
    })
}
