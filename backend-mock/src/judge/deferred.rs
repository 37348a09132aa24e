//! Bytes for which it is known only at run time whether they have a value.
//!
//! When a scatter runs, its indices and its mask decide which elements it writes. From its
//! enqueueing on, bytes in its reach that had no value count as initialized, but are marked as
//! perhaps uninitialized. Operations that are enqueued later note which of the marked bytes they
//! read, and look them up when they run: they run after the scatter, unless they race with it. A
//! copy carries the mark along; any other write gives its bytes a certain value again.

use smallvec::SmallVec;

use devarray::copy::Plan;

use super::{Footprint, Judge, Kind, Place, Touch, bytes::Bytes, propagation};
use crate::{
    allocation::BufferId,
    finding::{Access, Operation},
};

/// The lookups that an operation has to do when it runs.
#[derive(Debug)]
pub(crate) struct DeferredCheck {
    pub(crate) operation: Operation,
    /// The bytes that it reads and that may have no value: the number of the touch, the memory, the
    /// bytes.
    pub(crate) read: SmallVec<[(usize, BufferId, Bytes); 1]>,
    /// For a scatter that could give bytes a value: the bytes that certainly had none before.
    pub(crate) put: Option<Bytes>,
}

impl Judge {
    /// The lookups that the next operation will have to do; none for most operations.
    pub(crate) fn deferred_check(
        &self,
        work: &dyn Footprint,
        operation: Operation,
    ) -> Option<Box<DeferredCheck>> {
        if !self.on || !(self.device.has_maybe_initialized || is_scatter(work)) {
            return None;
        }
        let touches = work.touches();
        let read = touches.iter().enumerate().filter_map(|(at, touch)| match touch {
            Touch { place: Place::Device(id), bytes, access: Access::Read } => {
                let maybe = self.maybe_initialized(*id, bytes);
                (!maybe.is_empty()).then_some((at, *id, maybe))
            }
            _ => None,
        });
        let (read, put) = (read.collect::<SmallVec<_>>(), self.put(work, &touches));
        let put = put.filter(|(missing, maybe)| !missing.is_empty() || !maybe.is_empty());
        let put = put.map(|(missing, _)| missing);
        (!read.is_empty() || put.is_some()).then(|| Box::new(DeferredCheck { operation, read, put }))
    }

    /// The bytes that an operation writes, but may leave without a value.
    pub(super) fn maybe_initialized_by(&self, work: &dyn Footprint, touches: &[Touch]) -> Bytes {
        match (work.kind(), touches.first()) {
            (Kind::Copy(plan), Some(Touch { place: Place::Device(from), bytes, .. })) => {
                propagated_by(plan, &self.maybe_initialized(*from, bytes))
            }
            _ => {
                let put = self.put(work, touches);
                put.map_or_else(Bytes::default, |(missing, maybe)| missing.with(&maybe))
            }
        }
    }

    /// The bytes that a scatter may give a value: those that certainly have none, and those that
    /// may have none.
    fn put(&self, work: &dyn Footprint, touches: &[Touch]) -> Option<(Bytes, Bytes)> {
        match touches.last() {
            Some(Touch { place: Place::Device(to), bytes, access: Access::Write }) if is_scatter(work) => {
                Some((self.missing(*to, bytes), self.maybe_initialized(*to, bytes)))
            }
            _ => None,
        }
    }

    fn maybe_initialized(&self, id: BufferId, bytes: &Bytes) -> Bytes {
        let buffer = self.device.buffer(id).filter(|buffer| !buffer.maybe_initialized.is_empty());
        buffer.map_or_else(Bytes::default, |buffer| buffer.maybe_initialized.common(bytes))
    }
}

/// Whether it may leave out some of the elements that it writes.
fn is_scatter(work: &dyn Footprint) -> bool {
    matches!(work.kind(), Kind::Scatter)
}

/// The bytes to which a copy brings some of the bytes that it reads.
pub(crate) fn propagated_by(plan: &Plan, bytes: &Bytes) -> Bytes {
    if bytes.is_empty() {
        return Bytes::default();
    }
    propagation::through(plan, &Bytes::source(plan), |set| bytes.among(set))
}
