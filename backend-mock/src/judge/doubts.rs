//! Bytes that may or may not have a value, which only a run can tell.
//!
//! Indices and a mask decide, when a scatter runs, which elements it writes. Bytes in its reach
//! that had no value count as initialized from then on, and are doubtful. Operations that are
//! enqueued later note which doubtful bytes they read, and look them up when they run: they run
//! after the scatter, unless they race with it. A copy carries the doubt along; any other write
//! gives its bytes a known value again.

use smallvec::SmallVec;

use devarray::copy::Plan;

use super::{Judge, bytes::Bytes, carried};
use crate::{
    buffer::BufferId,
    engine::{Place, Touch, Work},
    finding::{Access, Operation},
};

/// What an operation has to look up when it runs.
#[derive(Debug)]
pub(crate) struct Doubts {
    pub(crate) operation: Operation,
    /// Doubtful bytes that it reads: which of its touches, the memory, the bytes.
    pub(crate) read: SmallVec<[(usize, BufferId, Bytes); 1]>,
    /// Of a scatter that could give bytes a value, those that certainly had none before.
    pub(crate) put: Option<Bytes>,
}

impl Judge {
    /// What an operation that is enqueued next will have to look up; none for most.
    pub(crate) fn doubts(&self, work: &Work, operation: Operation) -> Option<Box<Doubts>> {
        if !self.on || !(self.device.has_doubts || work.is_scatter()) {
            return None;
        }
        let touches = work.touches();
        let read = touches.iter().enumerate().filter_map(|(at, touch)| match touch {
            Touch { place: Place::Device(id), bytes, access: Access::Read } => {
                let doubtful = self.doubtful(*id, bytes);
                (!doubtful.is_empty()).then_some((at, *id, doubtful))
            }
            _ => None,
        });
        let (read, put) = (read.collect::<SmallVec<_>>(), self.put(work, &touches));
        let put = put.filter(|(missing, doubtful)| !missing.is_empty() || !doubtful.is_empty());
        let put = put.map(|(missing, _)| missing);
        (!read.is_empty() || put.is_some()).then(|| Box::new(Doubts { operation, read, put }))
    }

    /// What an operation leaves doubtful of what it writes.
    pub(super) fn doubts_left(&self, work: &Work, touches: &[Touch]) -> Bytes {
        match (work, touches.first()) {
            (Work::Copy { plan, .. }, Some(Touch { place: Place::Device(from), bytes, .. })) => {
                carried_by(plan, &self.doubtful(*from, bytes))
            }
            _ => {
                let put = self.put(work, touches);
                put.map_or_else(Bytes::default, |(missing, doubtful)| missing.with(&doubtful))
            }
        }
    }

    /// What a scatter may give a value: what certainly has none, and what is doubtful.
    fn put(&self, work: &Work, touches: &[Touch]) -> Option<(Bytes, Bytes)> {
        match touches.last() {
            Some(Touch { place: Place::Device(to), bytes, access: Access::Write }) if work.is_scatter() => {
                Some((self.missing(*to, bytes), self.doubtful(*to, bytes)))
            }
            _ => None,
        }
    }

    fn doubtful(&self, id: BufferId, bytes: &Bytes) -> Bytes {
        let buffer = self.device.buffer(id).filter(|buffer| !buffer.doubtful.is_empty());
        buffer.map_or_else(Bytes::default, |buffer| buffer.doubtful.common(bytes))
    }
}

/// Where a copy brings some of the bytes that it reads.
pub(crate) fn carried_by(plan: &Plan, bytes: &Bytes) -> Bytes {
    if bytes.is_empty() {
        return Bytes::default();
    }
    carried::through(plan, &Bytes::source(plan), |set| bytes.among(set))
}
