//! Host memory that the device knows: pinned, mapped, managed, or the program's own memory that was
//! registered.

use std::{ops::Range, panic::Location};

use devarray::{
    Error, Result,
    backend::{HostFlags, MemoryInfo},
};

use super::{Bytes, Engine, Reserved};
use crate::{
    allocation::BufferId,
    backend::BACKEND,
    finding::{Access, Code, Memory},
    report::{LiveHostBuffer, LiveRegistration},
};

/// The kind of allocation.
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
    /// Whether `len_bytes` more bytes can be pinned.
    pub(crate) fn has_host_room(&self, len_bytes: usize, kind: HostUse) -> bool {
        let room_bytes = self.ledger.host_limit_bytes.saturating_sub(self.ledger.pinned_bytes);
        kind == HostUse::Managed || len_bytes <= room_bytes
    }

    /// The number of live bytes of this kind.
    fn live_bytes(&mut self, kind: HostUse) -> &mut usize {
        match kind {
            HostUse::Pinned(_) => &mut self.ledger.pinned_bytes,
            HostUse::Managed => &mut self.ledger.managed_bytes,
        }
    }

    /// Notes host memory, and gives it a number.
    pub(crate) fn open_host_buffer(
        &mut self,
        addresses: Range<usize>,
        kind: HostUse,
        location: &'static Location<'static>,
    ) -> u64 {
        let number = self.ledger.allocated_host_buffers;
        self.ledger.allocated_host_buffers += 1;
        let live = LiveHostBuffer { len_bytes: addresses.len(), location };
        *self.live_bytes(kind) += live.len_bytes;
        self.ledger.host_buffers.insert(number, (kind, live));
        self.judge.pin(number, addresses);
        number
    }

    /// The place where a memory was allocated, if that is still known.
    pub(crate) fn allocated_at(&self, memory: &Memory) -> Option<&'static Location<'static>> {
        match memory {
            Memory::Device { id, .. } => self.judge.allocated_at(*id),
            Memory::Pinned { number, .. } => Some(self.ledger.host_buffers.get(number)?.1.location),
            Memory::Host { .. } | Memory::Nothing => None,
        }
    }

    /// Forgets host memory. Returns whether no operation may still use it; otherwise it is a
    /// mistake.
    #[must_use]
    pub(crate) fn close_host_buffer(
        &mut self,
        number: u64,
        addresses: &Range<usize>,
        location: &'static Location<'static>,
    ) -> bool {
        let finding = self.judge.unpin(addresses, self.operation("drop", None, location));
        let is_unused = finding.is_none();
        self.add_finding(finding);
        if let Some((kind, live)) = self.ledger.host_buffers.remove(&number) {
            *self.live_bytes(kind) -= live.len_bytes;
        }
        self.ledger.read_slowly.remove(&number);
        is_unused
    }

    /// Refuses managed memory if the device has no room for it and for all live managed memory.
    pub(crate) fn check_managed(&self, len_bytes: usize) -> Result<()> {
        let info = self.memory_info();
        let free_bytes = info.free_bytes.saturating_sub(self.ledger.managed_bytes);
        if len_bytes <= free_bytes {
            return Ok(());
        }
        let room = MemoryInfo::new(free_bytes, info.total_bytes);
        Err(Error::out_of_memory(BACKEND, "alloc_managed", len_bytes, Some(room)))
    }

    /// Gives host memory a place among the device's memories.
    pub(crate) fn lend(&mut self, bytes: Bytes, location: &'static Location<'static>) -> Option<Reserved> {
        let len_bytes = bytes.len_bytes();
        let reserved = self.memory.lend(bytes, location)?;
        self.judge.lend(reserved.buffer, len_bytes, self.operation("lend", None, location));
        Some(reserved)
    }

    /// Takes the place back: a mistake if an operation may still use it.
    pub(crate) fn take_back(&mut self, buffer: BufferId, location: &'static Location<'static>) {
        let finding = self.judge.take_back(buffer, self.operation("drop", None, location));
        self.add_finding(finding);
        self.memory.take_back(buffer);
    }

    /// Pins a range; none if some of it is pinned already.
    pub(crate) fn register(
        &mut self,
        addresses: Range<usize>,
        location: &'static Location<'static>,
    ) -> Option<u64> {
        let taken =
            |(other, _): &(Range<usize>, _)| other.start < addresses.end && addresses.start < other.end;
        if self.ledger.registrations.values().any(taken) {
            return None;
        }
        let number = self.ledger.registered;
        self.ledger.registered += 1;
        let live = LiveRegistration { len_bytes: addresses.len(), location };
        self.ledger.registrations.insert(number, (addresses, live));
        Some(number)
    }

    /// Unpins a range: a mistake if an operation that the host has not waited for may still use it.
    pub(crate) fn unregister(&mut self, number: u64) {
        let Some((addresses, live)) = self.ledger.registrations.remove(&number) else { return };
        let operation = self.operation("unpin", None, live.location);
        let finding = self.judge.host_access(&addresses, Access::Write, Code::HostFreed, operation);
        self.add_finding(finding);
    }

    /// The addresses of the ranges that are pinned, in the order of registration.
    pub(crate) fn registered(&self) -> Vec<Range<usize>> {
        self.ledger.registrations.values().map(|(addresses, _)| addresses.clone()).collect()
    }
}
