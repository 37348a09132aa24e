//! Reports of indices out of range: a gather writes its first one to its own slot in memory of the
//! host, and core asks for it after a wait.
//!
//! A gather has its slot from its launch until core asks. So there are as many slots as there were
//! gathers at one time for which core had not asked. Slots are never cleared, because a report has
//! the key of its gather beside it. Keys are the numbers of gathers, counted from a random number,
//! so that older bytes of the memory do not pass for a report.
//!
//! An operation that is captured has no slot until its graph is launched, because launches follow each other before the
//! host has asked. It reports to memory of the device, and each launch takes slots to which a kernel sends the reports.
#![allow(unsafe_code)] // reads and owns memory that the device writes

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    ops::Range,
    ptr,
    sync::{
        Mutex,
        atomic::{Ordering::Acquire, fence},
    },
};

use devarray::{Result, gather::IndexError};

use super::params::{PAGE_SLOTS, Sent, Slot, State};
use crate::{
    context::Context,
    driver::{Answer, Driver, sys},
    handle::{Handle, locked},
    stream::{RawStream, ReportPlace},
};

/// The key of all captured operations: each has memory of its own, which is cleared before a launch.
const CAPTURED_KEY: u64 = 2;

/// The slots of a context.
#[derive(Debug, Default)]
pub(crate) struct IndexReports(Mutex<Slots>);

#[derive(Debug)]
struct Slots {
    /// The key of gather 0.
    first_key: u64,
    pages: Vec<Page>,
    /// Slots that belong to no gather.
    free: Vec<HostSlot>,
    /// The slot of each gather by its number, and the errors without the device's part.
    taken: HashMap<u64, (HostSlot, [IndexError; 2])>,
}

impl Default for Slots {
    fn default() -> Self {
        let first_key = RandomState::new().hash_one(0);
        Self { first_key, pages: Vec::new(), free: Vec::new(), taken: HashMap::new() }
    }
}

/// The memory of [`PAGE_SLOTS`] slots.
#[derive(Debug)]
struct Page {
    /// The slots, in memory of the host.
    slots: Handle<Slot>,
    /// A [`State`] for each slot, in memory of the device.
    states: u64,
}

/// A slot, and the arguments of a launch for it.
#[derive(Debug, Clone, Copy)]
struct HostSlot {
    host: Handle<Slot>,
    report: Report,
}

/// Where an operation reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    /// The slot's address on the device.
    pub(crate) slot: u64,
    pub(super) state: u64,
    /// The key, which is even.
    pub(crate) key: u64,
}

impl IndexReports {
    /// Where a gather that is about to be enqueued reports. `errors` are the mistakes that the report may state,
    /// without the device's findings.
    pub(crate) fn begin(&self, stream: &RawStream, number: u64, errors: [IndexError; 2]) -> Result<Report> {
        match stream.report_place(errors)? {
            Some(ReportPlace { slot, state }) => Ok(Report { slot, state, key: CAPTURED_KEY }),
            None => self.take_slot(stream.context(), number, errors),
        }
    }

    /// Where the reports of captured gathers of these numbers are sent in one launch.
    pub(crate) fn begin_launch(
        &self,
        context: &Context,
        numbers: Range<u64>,
        errors: &[[IndexError; 2]],
    ) -> Result<Vec<Sent>> {
        let begun = numbers.clone().zip(errors).map(|(number, errors)| {
            self.take_slot(context, number, *errors).map(|Report { slot, key, .. }| Sent { slot, key })
        });
        begun.collect::<Result<_>>().inspect_err(|_| {
            // Nothing of the launch runs, so the slots can be used again.
            let mut slots = locked(&self.0);
            for number in numbers {
                if let Some((slot, _)) = slots.taken.remove(&number) {
                    slots.free.push(slot);
                }
            }
        })
    }

    /// Forgets gathers of a launch that failed.
    pub(crate) fn forget_launch(&self, numbers: Range<u64>) {
        numbers.for_each(|number| self.forget(number));
    }

    /// Takes a slot. Allocates if there is none.
    fn take_slot(&self, context: &Context, number: u64, errors: [IndexError; 2]) -> Result<Report> {
        let mut slots = locked(&self.0);
        if slots.free.is_empty() {
            slots.grow(context, errors[0].operation.name())?;
        }
        let mut slot = slots.free.pop().expect("a page has slots");
        slot.report.key = slots.first_key.wrapping_add(number) << 1;
        slots.taken.insert(number, (slot, errors));
        Ok(slot.report)
    }

    /// Forgets a gather that could not be enqueued. Part of it may run, so its slot is not used
    /// again.
    pub(crate) fn forget(&self, gather: u64) {
        locked(&self.0).taken.remove(&gather);
    }

    /// Takes the report of a finished gather. Calls no driver.
    pub(crate) fn take(&self, gather: u64) -> Option<IndexError> {
        let mut slots = locked(&self.0);
        let (taken, errors) = slots.taken.remove(&gather)?;
        slots.free.push(taken);
        // The wait that covered the gather came first.
        fence(Acquire);
        // SAFETY: a slot of a page, which lives as long as `self`; no device writes it any more.
        let slot = unsafe { taken.host.raw().read_volatile() };
        let Slot { key, position, value, second } = slot;
        let error = errors[usize::from(second == key)];
        (key == taken.report.key).then_some(IndexError { position, value, ..error })
    }

    /// Frees the memory. Nothing of the context runs any more.
    pub(super) fn close(&self, driver: &Driver) -> Answer {
        let Slots { pages, .. } = std::mem::take(&mut *locked(&self.0));
        let mut freed = Ok(());
        for Page { slots, states } in pages {
            // SAFETY: allocated by `grow`, freed once, and no work is left that could write it.
            freed = freed.and(unsafe { driver.mem_free_host(slots.raw().cast()) });
            // SAFETY: likewise.
            freed = freed.and(unsafe { driver.mem_free(states) });
        }
        freed
    }
}

impl Slots {
    /// Adds the slots of a page.
    fn grow(&mut self, context: &Context, operation: &'static str) -> Result<()> {
        let (mut host, mut slots, mut states) = (ptr::null_mut(), 0, 0);
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        context.call(operation, |driver| {
            host = driver.alloc_host(PAGE_SLOTS * size_of::<Slot>(), flags)?;
            // SAFETY: the pointer is to a local of the right type; the memory was allocated mapped.
            let mapped = unsafe { driver.mem_host_get_device_pointer(&raw mut slots, host, 0) };
            let len_bytes = PAGE_SLOTS * size_of::<State>();
            // SAFETY: the pointer is to a local of the right type.
            let alloc = |()| unsafe { driver.mem_alloc(&raw mut states, len_bytes) };
            mapped.and_then(alloc).inspect_err(|_| {
                // SAFETY: allocated above, freed once.
                let freed = unsafe { driver.mem_free_host(host) };
                if let Err(also) = freed {
                    driver.report(driver.error(operation, also));
                }
            })
        })?;
        let page = Page { slots: Handle::new(host.cast()), states };
        let slot = |at: usize| {
            let (slot, state) = (at * size_of::<Slot>(), at * size_of::<State>());
            let report = Report { slot: slots + slot as u64, state: states + state as u64, key: 0 };
            HostSlot { host: Handle::new(page.slots.raw().wrapping_add(at)), report }
        };
        self.free.extend((0..PAGE_SLOTS).rev().map(slot));
        self.pages.push(page);
        Ok(())
    }
}
