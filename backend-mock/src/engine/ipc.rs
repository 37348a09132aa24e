//! Memory that is allocated and freed at once: shared by processes, or part of modules.

use std::panic::Location;

use super::{Bytes, Engine, Mark, Reserved};
use crate::{allocation::BufferId, judge::Snapshot};

impl Engine {
    /// The number for another process.
    pub(crate) fn next_process(&mut self) -> u64 {
        self.ledger.processes += 1;
        self.ledger.processes
    }

    /// Makes memory that was just reserved exist at once, for every stream, and lets it be
    /// exported.
    pub(crate) fn make_exportable(
        &mut self,
        reserved: Reserved,
        len_bytes: usize,
        location: &'static Location<'static>,
    ) {
        self.memory.make_ready(reserved.buffer);
        self.ledger.exportable.insert(reserved.buffer.number);
        self.judge.lend(reserved.buffer, len_bytes, self.operation("alloc", None, location));
    }

    /// Makes memory that was just reserved exist at once, for every stream, with all bytes 0.
    pub(crate) fn make_zeroed(
        &mut self,
        reserved: Reserved,
        len_bytes: usize,
        location: &'static Location<'static>,
    ) {
        self.memory.make_ready(reserved.buffer);
        if let Some(bytes) = self.memory.bytes_mut(reserved.buffer).and_then(Bytes::own_mut) {
            bytes.fill(0);
        }
        self.judge.lend(reserved.buffer, len_bytes, self.operation("load", None, location));
    }

    /// Frees memory at once: a mistake if an operation may still use it.
    pub(crate) fn free_exportable(&mut self, buffer: BufferId, location: &'static Location<'static>) {
        let finding = self.judge.take_back(buffer, self.operation("free", None, location));
        self.add_finding(finding);
        self.ledger.exportable.remove(&buffer.number);
        self.memory.release(buffer);
    }

    /// The first address and the length of an allocation, if it can be exported.
    pub(crate) fn exportable(&self, buffer: BufferId) -> Option<(u64, usize)> {
        let place = self.memory.place_of(buffer)?;
        self.ledger.exportable.contains(&buffer.number).then_some(place)
    }

    pub(crate) fn open_shared(&mut self) {
        self.ledger.opened += 1;
    }

    pub(crate) fn close_shared(&mut self) {
        self.ledger.opened -= 1;
    }

    /// Lets other processes wait for an event, by the returned number.
    pub(crate) fn publish_event(&mut self, mark: Mark, snapshot: Snapshot) -> u64 {
        let number = self.ledger.events_exported;
        self.ledger.events_exported += 1;
        self.ledger.exported_events.insert(number, (mark, snapshot));
        number
    }

    /// The event with this number, if its process still has it.
    pub(crate) fn published_event(&self, number: u64) -> Option<(Mark, Snapshot)> {
        self.ledger.exported_events.get(&number).cloned()
    }

    pub(crate) fn withdraw_event(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            self.ledger.exported_events.remove(&number);
        }
    }
}
