//! Host memory that the device knows: pinned, mapped, managed, or of the program and registered.

use std::{ops::Range, panic::Location};

use devarray::{Error, Result, backend::HostFlags};

use super::{Bytes, Engine, Reserved, lane::Lane};
use crate::{
    buffer::BufferId,
    device::BACKEND,
    host::HostRange,
    report::{Code, LiveHostBuffer, LiveRegistration},
};

/// What host memory was allocated as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostUse {
    Pinned(HostFlags),
    Managed,
}

impl HostUse {
    /// Whether the device reaches it in place.
    pub(crate) fn is_in_place(self) -> bool {
        match self {
            Self::Pinned(flags) => flags.mapped,
            Self::Managed => true,
        }
    }
}

impl Engine {
    /// Takes note of host memory, unless it goes over the limit.
    pub(crate) fn open_host_buffer(
        &mut self,
        len_bytes: usize,
        kind: HostUse,
        location: &'static Location<'static>,
    ) -> Option<u64> {
        let pinned = self.ledger.host_buffers.values().filter(|(kind, _)| *kind != HostUse::Managed);
        let pinned_bytes: usize = pinned.map(|(_, live)| live.len_bytes).sum();
        if kind != HostUse::Managed && len_bytes > self.ledger.host_limit_bytes.saturating_sub(pinned_bytes) {
            return None;
        }
        let number = self.number();
        self.ledger.host_buffers.insert(number, (kind, LiveHostBuffer { len_bytes, location }));
        Some(number)
    }

    pub(crate) fn close_host_buffer(&mut self, number: u64) {
        self.ledger.host_buffers.remove(&number);
    }

    /// Refuses managed memory for which the device has no room, all that is alive counted.
    pub(crate) fn check_managed(&self, len_bytes: usize) -> Result<()> {
        let managed = self.ledger.host_buffers.values().filter(|(kind, _)| *kind == HostUse::Managed);
        let managed_bytes: usize = managed.map(|(_, live)| live.len_bytes).sum();
        let info = self.memory_info();
        let free_bytes = info.free_bytes.saturating_sub(managed_bytes);
        if len_bytes <= free_bytes {
            return Ok(());
        }
        Err(Error::OutOfMemory {
            backend: BACKEND,
            operation: "alloc_managed",
            requested_bytes: len_bytes,
            free_bytes: Some(free_bytes),
            total_bytes: Some(info.total_bytes),
        })
    }

    /// Gives host memory a place among the device's.
    pub(crate) fn lend(&mut self, bytes: Bytes, location: &'static Location<'static>) -> Option<Reserved> {
        self.memory.lend(bytes, location)
    }

    pub(crate) fn take_back(&mut self, buffer: BufferId) {
        self.memory.take_back(buffer);
    }

    /// Tells once of write-combined memory that the host reads.
    pub(crate) fn note_slow_read(&mut self, number: u64) {
        let Some((_, live)) = self.ledger.host_buffers.get(&number) else { return };
        let LiveHostBuffer { len_bytes, location } = live;
        let message = format!("write-combined memory ({len_bytes} bytes, allocated at {location}) is read");
        if self.ledger.read_slowly.insert(number) {
            self.add_finding(Code::SlowRead, message);
        }
    }

    /// Pins a range; none if some of it is pinned already.
    pub(crate) fn register(
        &mut self,
        range: Range<usize>,
        location: &'static Location<'static>,
    ) -> Option<u64> {
        let taken = |(start, live): &(usize, LiveRegistration)| {
            *start < range.end && range.start < start + live.len_bytes
        };
        if self.ledger.registrations.values().any(taken) {
            return None;
        }
        let number = self.number();
        let live = LiveRegistration { len_bytes: range.len(), location };
        self.ledger.registrations.insert(number, (range.start, live));
        Some(number)
    }

    /// Unpins a range, which nothing in flight may use.
    pub(crate) fn unregister(&mut self, number: u64) {
        let Some((start, LiveRegistration { len_bytes, location })) =
            self.ledger.registrations.remove(&number)
        else {
            return;
        };
        let range = HostRange::pinned(start, len_bytes);
        let user = self.lanes.iter().flat_map(Lane::ops).find(|op| op.work.touches_host(&range));
        if let Some(op) = user {
            let who = op.describe();
            let message =
                format!("{who} uses host memory whose registration ({location}) ended before it ran");
            self.add_finding(Code::UnpinnedInUse, message);
        }
    }

    /// Addresses of the ranges that are pinned, in order of registration.
    pub(crate) fn registered(&self) -> Vec<Range<usize>> {
        self.ledger.registrations.values().map(|(start, live)| *start..start + live.len_bytes).collect()
    }

    fn number(&mut self) -> u64 {
        self.ledger.numbered += 1;
        self.ledger.numbered - 1
    }
}
