//! Memory that is used by others than its owner, and devices that reach each other's.

use std::{ops::Range, panic::Location};

use devarray::backend::DeclaredAccess;

use super::Engine;
use crate::allocation::{Allocated, BufferId};

impl Engine {
    /// The memory in which some addresses lie: which, its first address, its length.
    pub(crate) fn find_memory(&self, addresses: &Range<u64>) -> Option<(BufferId, u64, usize)> {
        self.memory.find(addresses)
    }

    /// Where on the host an address of the device lies.
    pub(crate) fn on_host(&self, address: u64) -> Option<u64> {
        self.memory.on_host(address)
    }

    /// The host reads or writes elements of device memory itself: a finding if work that it has not
    /// waited for conflicts.
    pub(crate) fn host_touches(
        &mut self,
        declared: &DeclaredAccess<'_, impl Allocated>,
        location: &'static Location<'static>,
    ) {
        let operation = self.operation("lend to host", None, location);
        let finding = self.judge.host_touches(declared, operation);
        self.add_finding(finding);
    }

    /// Counts one more user of lent host memory.
    pub(crate) fn share_lent(&mut self, id: BufferId) {
        if let Some(users) = self.ledger.lent.get_mut(&id) {
            *users += 1;
        }
    }

    /// Lent host memory has its first user.
    pub(crate) fn begin_lent(&mut self, id: BufferId) {
        self.ledger.lent.insert(id, 1);
    }

    /// Counts a user out. The last gives the memory back to the host.
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

    /// The number of another device of the machine, whose first has this one.
    pub(crate) fn next_ordinal(&mut self, first: usize) -> usize {
        // After the last number comes the first.
        let next = self.ledger.last_ordinal.unwrap_or(first).wrapping_add(1);
        *self.ledger.last_ordinal.insert(next)
    }

    /// From now on operations of a device reach the memory of another.
    pub(crate) fn let_into(&mut self, device: usize, peer: usize) {
        self.ledger.peers.insert((device, peer));
    }

    /// Whether they do.
    pub(crate) fn is_let_into(&self, device: usize, peer: usize) -> bool {
        self.ledger.peers.contains(&(device, peer))
    }
}
