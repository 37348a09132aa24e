//! Memory that is used by others than its owner, and devices that reach each other's.

use std::ops::Range;

use super::Engine;
use crate::buffer::BufferId;

impl Engine {
    /// The memory in which some addresses lie: which, its first address, its length.
    pub(crate) fn find_memory(&self, addresses: Range<u64>) -> Option<(BufferId, u64, usize)> {
        self.memory.find(addresses)
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
