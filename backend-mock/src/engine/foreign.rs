//! Memory that is used by others than its owner.

use std::ops::Range;

use super::Engine;
use crate::buffer::BufferId;

impl Engine {
    /// The memory in which some addresses lie: which, its first address, its length.
    pub(crate) fn find_memory(&self, addresses: Range<u64>) -> Option<(BufferId, u64, usize)> {
        self.memory.find(addresses)
    }

    pub(crate) fn begin_adoption(&mut self) {
        self.ledger.adopted += 1;
    }

    pub(crate) fn end_adoption(&mut self) {
        self.ledger.adopted -= 1;
    }
}
