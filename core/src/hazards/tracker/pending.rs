//! The operations that the host must wait for before it touches memory itself.

use std::sync::Arc;

use super::HazardTracker;
use crate::{
    Result,
    allocation::Allocation,
    backend::{Device, Stream},
    context::lock,
    hazards::{Footprint, RecordedEvent, access_log::Access},
};

/// Lanes, each with its last operation that conflicts.
pub(crate) type Pending = Vec<(usize, u64)>;

impl<D: Device> HazardTracker<D> {
    /// The operations in flight that conflict with the host reading, or writing, the whole
    /// allocation.
    pub(crate) fn pending(&self, allocation: &Allocation<D>, write: bool) -> Pending {
        let footprint = Footprint::solid(0, allocation.len_bytes());
        let lane = usize::MAX;
        let host = Access { lane, sequence: 0, footprint, write, blurred: false, nominal: false };
        let mut pending = Pending::new();
        let in_flight = |u: &&Access| !u.nominal && u.sequence > self.done.of(u.lane);
        for u in lock(&allocation.uses).conflicting(&host).filter(in_flight) {
            match pending.iter_mut().find(|(lane, _)| *lane == u.lane) {
                Some((_, sequence)) => *sequence = (*sequence).max(u.sequence),
                None => pending.push((u.lane, u.sequence)),
            }
        }
        pending
    }

    /// Events that cover them.
    pub(crate) fn marks_of(&mut self, pending: &Pending) -> Result<Vec<(usize, RecordedEvent<D>)>> {
        pending.iter().map(|&(lane, sequence)| Ok((lane, self.mark(lane, sequence)?))).collect()
    }

    /// The streams they are on. A lane without one left an event that covers its work, so marks of
    /// it cannot fail.
    pub(crate) fn streams_of(&self, pending: &Pending) -> Vec<Arc<impl Stream + use<D>>> {
        pending.iter().filter_map(|&(lane, _)| self.stream(lane).cloned()).collect()
    }
}
