//! The operations that the host must wait for before it touches memory itself.

use std::sync::{Arc, Mutex};

use super::HazardTracker;
use crate::{
    Result,
    backend::{Device, Event, Quiesced, Stream},
    hazards::{AccessLog, Footprint, RecordedEvent, access_log::Access, lane::Lane},
    lock::lock,
};

/// Lanes, each with its last conflicting operation.
pub(crate) type Pending = Vec<(usize, u64)>;

impl<D: Device> HazardTracker<D> {
    /// The operations in flight that conflict with the host reading, or writing, all of an
    /// allocation of `len_bytes` bytes with some `uses`.
    pub(crate) fn pending(&self, uses: &Mutex<AccessLog>, len_bytes: usize, write: bool) -> Pending {
        self.pending_of(&lock(uses), len_bytes, write)
    }

    /// Does what `pending` does, given the accesses to memory of `len_bytes` bytes.
    pub(crate) fn pending_of(&self, uses: &AccessLog, len_bytes: usize, write: bool) -> Pending {
        let host = Access::of_host(Footprint::solid(0, len_bytes), write);
        let mut pending = Pending::new();
        let in_flight = |u: &&Access| !u.nominal && u.sequence > self.done.of(u.lane);
        for u in uses.conflicting(&host).filter(in_flight) {
            match pending.iter_mut().find(|(lane, _)| *lane == u.lane) {
                Some((_, sequence)) => *sequence = (*sequence).max(u.sequence),
                None => pending.push((u.lane, u.sequence)),
            }
        }
        pending
    }

    /// Events that cover these operations.
    pub(crate) fn marks_of(&mut self, pending: &Pending) -> Result<Vec<(usize, RecordedEvent<D>)>> {
        pending.iter().map(|&(lane, sequence)| Ok((lane, self.mark(lane, sequence)?))).collect()
    }

    /// Makes a wait for each of them, for when no event can be recorded: by an existing event, or
    /// for the whole stream. No lock is held meanwhile.
    pub(crate) fn waits_of(&self, pending: &Pending) -> Vec<Box<dyn FnOnce() -> Quiesced>> {
        let wait = |&(lane, sequence): &(usize, u64)| -> Box<dyn FnOnce() -> Quiesced> {
            let Lane { stream, mark, .. } = &self.lanes[lane];
            match (mark, stream) {
                (Some(mark), stream) if mark.sequence >= sequence || stream.is_none() => {
                    let event = Arc::clone(&mark.event);
                    Box::new(move || event.synchronize())
                }
                (_, stream) => {
                    let stream =
                        stream.clone().expect("a closed lane left an event that covers all its work");
                    Box::new(move || stream.synchronize())
                }
            }
        };
        pending.iter().map(wait).collect()
    }
}
