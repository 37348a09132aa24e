//! Host memory in the judge: ranges of addresses.

use std::{collections::BTreeMap, ops::Range};

use devarray::backend::DeclaredAccess;

use super::{
    Judge,
    access_lists::ListedAccess,
    bytes::Bytes,
    clock::Position,
    declared::bytes_of,
    initialized::INITIALIZE,
    shadow::{Conflict, Shadow},
};
use crate::{
    allocation::{Allocated, BufferId},
    finding::{Access, Code, Finding, Memory, Operation},
};

/// All host memory that operations touch, by address, and the pinned allocations in it.
#[derive(Debug, Default)]
pub(super) struct HostMemory {
    pub(super) shadow: Shadow,
    /// (length in bytes, number), by address.
    pinned: BTreeMap<usize, (usize, u64)>,
}

impl HostMemory {
    /// The name of the memory that a range of addresses begins in. The range becomes one of offsets
    /// in that memory.
    pub(super) fn name(&self, range: &mut Range<usize>) -> Memory {
        let pinned = self.pinned.range(..=range.start).next_back();
        let (start, memory) = match pinned {
            Some((&start, &(len_bytes, number))) if range.start < start + len_bytes => {
                (start, Memory::Pinned { number, len_bytes })
            }
            _ => (range.start, Memory::Host { len_bytes: range.len() }),
        };
        *range = range.start - start..range.end - start;
        memory
    }

    /// The pinned allocation in which a range of addresses starts.
    pub(super) fn pinned(&self, range: &Range<usize>) -> Option<(Memory, Range<usize>)> {
        let mut inside = range.clone();
        let memory = self.name(&mut inside);
        matches!(memory, Memory::Pinned { .. }).then_some((memory, inside))
    }
}

impl Judge {
    /// The pinned allocation in which a range of addresses starts, and the range in it.
    pub(crate) fn pinned(&self, addresses: &Range<usize>) -> Option<(Memory, Range<usize>)> {
        self.host.pinned(addresses)
    }

    /// Notes that pinned memory was allocated.
    pub(crate) fn pin(&mut self, number: u64, addresses: Range<usize>) {
        self.host.shadow.forget(&addresses);
        self.host.pinned.insert(addresses.start, (addresses.len(), number));
    }

    /// Notes that pinned memory is freed: a mistake if an operation that the host has not waited
    /// for uses it.
    pub(crate) fn unpin(&mut self, addresses: &Range<usize>, operation: Operation) -> Option<Box<Finding>> {
        let finding = self.host_access(addresses, Access::Write, Code::HostFreed, operation);
        self.host.pinned.remove(&addresses.start);
        self.host.shadow.forget(addresses);
        finding
    }

    /// Notes that host memory got a place among the device's memories: it is there before
    /// everything else, and all of it has a value.
    pub(crate) fn lend(&mut self, id: BufferId, len_bytes: usize, operation: Operation) {
        let alloc = ListedAccess::new(Position::default(), operation, Access::Lifetime);
        self.device.insert(id, len_bytes, alloc);
        if let Some(buffer) = self.device.buffer_mut(id) {
            buffer.initialized.set(&Bytes::range(0..len_bytes), true);
        }
    }

    /// Notes that all bytes of a memory have a value.
    pub(crate) fn give_whole(&mut self, id: BufferId) {
        if let Some(buffer) = self.device.alive_mut(id) {
            buffer.give(&Bytes::range(0..buffer.len_bytes));
        }
    }

    /// Notes that it loses the place: a mistake if an operation that the host has not waited for
    /// uses it.
    pub(crate) fn take_back(&mut self, id: BufferId, operation: Operation) -> Option<Box<Finding>> {
        let buffer = self.device.buffer(id).filter(|_| self.on)?;
        let whole = 0..buffer.len_bytes;
        let conflicts = buffer.shadow.conflicts(&whole, true, self.lanes.host(), &self.access_lists);
        let memory = Memory::Device { id, len_bytes: whole.len() };
        let finding =
            self.conflict(Code::HostFreed, operation, Access::Lifetime, false, conflicts, |_| memory);
        self.device.free(id, ListedAccess::new(Position::default(), operation, Access::Lifetime));
        finding
    }

    /// Notes that the host itself reads or writes device memory in place: a mistake if an operation
    /// that it has not waited for conflicts, including the allocation, or if it only reads and bytes
    /// have no value. Bytes that it may write have a value afterwards.
    pub(crate) fn host_touches(
        &mut self,
        declared: &DeclaredAccess<'_, impl Allocated>,
        operation: Operation,
    ) -> Option<Box<Finding>> {
        let (id, bytes) = (declared.buffer.id(), bytes_of(declared));
        let buffer = self.device.buffer(id).filter(|_| self.on)?;
        let (code, access) =
            if declared.write { (Code::HostWrite, Access::Write) } else { (Code::HostRead, Access::Read) };
        let memory = Memory::Device { id, len_bytes: buffer.len_bytes };
        let host = self.lanes.host();
        let mut conflicts = buffer.shadow.conflicts_with(&bytes, declared.write, host, &self.access_lists);
        if !host.knows(buffer.alloc.position) {
            conflicts.push(Conflict { with: buffer.alloc, bytes: bytes.span() });
        }
        let finding = self.conflict(code, operation, access, false, conflicts, |_| memory);
        if declared.write {
            if let Some(buffer) = self.device.alive_mut(id) {
                buffer.give(&bytes);
            }
            return finding;
        }
        finding.or_else(|| {
            let missing = self.device.buffer(id)?.initialized.first_missing(&bytes)?;
            let finding = Finding::new(Code::Uninitialized, operation, access, memory, missing);
            Some(Box::new(finding.note(INITIALIZE.to_owned())))
        })
    }

    /// The bytes that the host reads in place, and for which only a scatter's run decides whether they
    /// have a value.
    pub(crate) fn maybe_read_by_host(&self, declared: &DeclaredAccess<'_, impl Allocated>) -> Bytes {
        if declared.write || !self.on || !self.device.has_maybe_initialized {
            return Bytes::default();
        }
        self.maybe_initialized(declared.buffer.id(), &bytes_of(declared))
    }

    /// Checks an access of the host itself to memory: a mistake if an operation that it has not
    /// waited for conflicts.
    ///
    /// The access is not noted: everything that is issued later comes after it, so nothing can race
    /// with it.
    pub(crate) fn host_access(
        &mut self,
        addresses: &Range<usize>,
        access: Access,
        code: Code,
        operation: Operation,
    ) -> Option<Box<Finding>> {
        if !self.on {
            return None;
        }
        let writes = access == Access::Write;
        let conflicts = self.host.shadow.conflicts(addresses, writes, self.lanes.host(), &self.access_lists);
        self.conflict(code, operation, access, false, conflicts, |bytes| self.host.name(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_named_by_the_pinned_allocation_in_which_it_starts() {
        let mut host = HostMemory::default();
        host.pinned.insert(1000, (64, 7));
        host.pinned.insert(2000, (32, 8));
        let name = |mut range: Range<usize>| (host.name(&mut range), range);
        let (seventh, eighth) =
            (Memory::Pinned { number: 7, len_bytes: 64 }, Memory::Pinned { number: 8, len_bytes: 32 });
        assert_eq!(name(1000..1064), (seventh, 0..64));
        assert_eq!(name(1003..1010), (seventh, 3..10));
        assert_eq!(name(1063..1070), (seventh, 63..70), "also if it reaches outside");
        assert_eq!(name(2016..2032), (eighth, 16..32));
        for outside in [10..14, 999..1001, 1064..1068, 1500..1504, 2032..2036] {
            let len_bytes = outside.len();
            assert_eq!(name(outside.clone()), (Memory::Host { len_bytes }, 0..len_bytes));
            assert_eq!(host.pinned(&outside), None);
        }
        assert_eq!(host.pinned(&(1003..1010)), Some((seventh, 3..10)));
    }
}
