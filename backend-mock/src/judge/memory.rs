//! Allocations of device memory in the judge: their lifetimes, their accesses, and their bytes with
//! a value.

use std::{
    collections::{BTreeMap, VecDeque},
    panic::Location,
};

use super::{access_lists::ListedAccess, bytes::Bytes, initialized::Initialized, shadow::Shadow};
use crate::allocation::BufferId;

/// The number of freed buffers that are remembered: more than a program in a file can free.
const MOST_FREED: usize = 1 << 16;

/// The live allocations, and the last ones that were freed.
#[derive(Debug, Default)]
pub(super) struct DeviceMemory {
    buffers: BTreeMap<BufferId, Buffer>,
    /// The oldest first.
    freed: VecDeque<BufferId>,
    /// Whether any buffer has had bytes that are perhaps initialized.
    pub(super) has_maybe_initialized: bool,
}

/// One allocation.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) len_bytes: usize,
    pub(super) alloc: ListedAccess,
    pub(super) freed: Option<ListedAccess>,
    pub(super) shadow: Shadow,
    pub(super) initialized: Initialized,
    /// The bytes that count as initialized, but for which only a scatter's run decides whether they
    /// have a value.
    pub(super) maybe_initialized: Bytes,
}

impl Buffer {
    /// Notes that these bytes have a value from now on.
    pub(super) fn give(&mut self, bytes: &Bytes) {
        self.initialized.set(bytes, true);
        self.settle(bytes);
    }

    /// Notes that it is certain from now on whether these bytes have a value.
    pub(super) fn settle(&mut self, bytes: &Bytes) {
        if !self.maybe_initialized.is_empty() {
            self.maybe_initialized = self.maybe_initialized.without(bytes);
        }
    }
}

impl DeviceMemory {
    pub(super) fn insert(&mut self, id: BufferId, len_bytes: usize, alloc: ListedAccess) {
        let (shadow, initialized, maybe_initialized) = Default::default();
        self.buffers
            .insert(id, Buffer { len_bytes, alloc, freed: None, shadow, initialized, maybe_initialized });
    }

    /// The allocation; none if it was freed long ago.
    pub(super) fn buffer(&self, id: BufferId) -> Option<&Buffer> {
        self.buffers.get(&id)
    }

    /// The place where it was allocated.
    pub(super) fn allocated_at(&self, id: BufferId) -> Option<&'static Location<'static>> {
        Some(self.buffer(id)?.alloc.operation.location)
    }

    pub(super) fn buffer_mut(&mut self, id: BufferId) -> Option<&mut Buffer> {
        self.buffers.get_mut(&id)
    }

    /// The allocation, unless it was freed.
    pub(super) fn alive_mut(&mut self, id: BufferId) -> Option<&mut Buffer> {
        self.buffer_mut(id).filter(|buffer| buffer.freed.is_none())
    }

    /// The shadows of all of them.
    pub(super) fn shadows_mut(&mut self) -> impl Iterator<Item = &mut Shadow> {
        self.buffers.values_mut().map(|buffer| &mut buffer.shadow)
    }

    /// Notes that an allocation is freed, and forgets everything else about it.
    pub(super) fn free(&mut self, id: BufferId, free: ListedAccess) {
        let Some(buffer) = self.buffer_mut(id) else { return };
        buffer.freed = Some(free);
        (buffer.shadow, buffer.initialized, buffer.maybe_initialized) = Default::default();
        self.freed.push_back(id);
        if self.freed.len() > MOST_FREED
            && let Some(oldest) = self.freed.pop_front()
        {
            self.buffers.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        finding::{Access, Operation},
        judge::clock::Position,
    };

    #[test]
    fn the_frees_of_the_newest_allocations_are_remembered() {
        let mut memory = DeviceMemory::default();
        let location = Location::caller();
        let operation = Operation { number: 0, kind: "free", stream: None, location, argument: None };
        let access = ListedAccess::new(Position::default(), operation, Access::Write);
        let ids: Vec<BufferId> =
            (0..MOST_FREED as u64 + 2).map(|number| BufferId { number, generation: 0 }).collect();
        for (freed, &id) in ids.iter().enumerate() {
            memory.insert(id, 8, access);
            memory.free(id, access);
            assert_eq!(memory.buffer(ids[0]).is_some(), freed < MOST_FREED, "after {} frees", freed + 1);
            assert!(memory.buffer(id).is_some_and(|buffer| buffer.freed.is_some()), "the newest");
        }
    }
}
