//! Memory that code other than its owner uses, and devices that reach each other's memory.

use std::{ops::Range, panic::Location};

use devarray::backend::DeclaredAccess;

use super::{Engine, deferred::found_missing};
use crate::allocation::{Allocated, BufferId};

impl Engine {
    /// The memory that contains these addresses: its identity, its first address and its length.
    pub(crate) fn find_memory(&self, addresses: &Range<u64>) -> Option<(BufferId, u64, usize)> {
        self.memory.find(addresses)
    }

    /// The host address for an address of the device.
    pub(crate) fn on_host(&self, address: u64) -> Option<u64> {
        self.memory.on_host(address)
    }

    /// Notes that the host itself reads or writes elements of device memory: a finding if work that
    /// it has not waited for conflicts, or if it reads bytes that have no value.
    pub(crate) fn host_touches(
        &mut self,
        kind: &'static str,
        declared: &DeclaredAccess<'_, impl Allocated>,
        location: &'static Location<'static>,
    ) {
        let operation = self.operation(kind, None, location);
        let maybe = self.judge.maybe_read_by_host(declared);
        let finding = self.judge.host_touches(declared, operation);
        let finding = finding.or_else(|| {
            // The host has waited for the operations that could give these bytes a value.
            let missing = self.memory.unput_mut(declared.buffer.id())?.common(&maybe);
            found_missing(&self.memory, operation, declared.buffer.id(), &missing)
        });
        self.add_finding(finding);
    }

    /// Notes that all bytes of a memory have a value.
    pub(crate) fn give_values(&mut self, id: BufferId) {
        self.judge.give_whole(id);
    }

    /// Counts one more user of lent host memory.
    pub(crate) fn share_lent(&mut self, id: BufferId) {
        if let Some(users) = self.ledger.lent.get_mut(&id) {
            *users += 1;
        }
    }

    /// Notes the first user of lent host memory.
    pub(crate) fn begin_lent(&mut self, id: BufferId) {
        self.ledger.lent.insert(id, 1);
    }

    /// Counts one user less. The last one gives the memory back to the host.
    pub(crate) fn end_lent(&mut self, id: BufferId, location: &'static Location<'static>) {
        let Some(users) = self.ledger.lent.get_mut(&id) else { return };
        *users -= 1;
        if *users == 0 {
            self.ledger.lent.remove(&id);
            self.take_back(id, location);
        }
    }

    /// Notes which device allocated a memory.
    pub(crate) fn memory_of(&mut self, id: BufferId, device: usize) {
        self.memory.own(id, device);
    }

    /// The device that allocated a memory.
    pub(crate) fn owner(&self, id: BufferId) -> Option<usize> {
        self.memory.owner(id)
    }

    pub(crate) fn begin_adoption(&mut self) {
        self.ledger.adopted += 1;
    }

    pub(crate) fn end_adoption(&mut self) {
        self.ledger.adopted -= 1;
    }

    /// The number for another device of the machine; `first` is the number of the machine's first
    /// device.
    pub(crate) fn next_ordinal(&mut self, first: usize) -> usize {
        // After the largest number comes 0.
        let next = self.ledger.last_ordinal.unwrap_or(first).wrapping_add(1);
        *self.ledger.last_ordinal.insert(next)
    }

    /// Lets operations of `device` reach the memory of `peer` from now on.
    pub(crate) fn let_into(&mut self, device: usize, peer: usize) {
        self.ledger.peers.insert((device, peer));
    }

    /// Whether operations of `device` reach the memory of `peer`.
    pub(crate) fn is_let_into(&self, device: usize, peer: usize) -> bool {
        self.ledger.peers.contains(&(device, peer))
    }
}
