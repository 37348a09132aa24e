//! Bytes for which it is known only at run time whether they have a value.
//!
//! When a scatter runs, its indices and its mask decide which elements it writes; a call that counts
//! its rows writes only these. From its enqueueing on, bytes in its reach that had no value count as
//! initialized, but are marked as perhaps uninitialized. Operations that are enqueued later note which of the marked bytes they
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
    /// Writes that may leave bytes out, and could give some a value: the number of the touch, and the
    /// bytes that certainly had none before.
    pub(crate) put: SmallVec<[(usize, Bytes); 1]>,
}

impl Judge {
    /// The lookups that the next operation will have to do; none for most operations.
    pub(crate) fn deferred_check(
        &self,
        work: &dyn Footprint,
        operation: Operation,
    ) -> Option<Box<DeferredCheck>> {
        let partial = work.partial();
        if !self.on || !self.device.has_maybe_initialized && partial.is_empty() {
            return None;
        }
        let touches = work.touches();
        // A prefetch moves memory, and reads no values.
        let reads = !matches!(work.kind(), Kind::Other);
        let read = touches.iter().enumerate().filter(|_| reads).filter_map(|(at, touch)| match touch {
            Touch { place: Place::Device(id), bytes, access: Access::Read } => {
                let maybe = self.maybe_initialized(*id, bytes);
                (!maybe.is_empty()).then_some((at, *id, maybe))
            }
            _ => None,
        });
        let put = partial.into_iter().filter_map(|at| {
            let (missing, maybe) = self.put(touches.get(at)?)?;
            (!missing.is_empty() || !maybe.is_empty()).then_some((at, missing))
        });
        let (read, put) = (read.collect::<SmallVec<_>>(), put.collect::<SmallVec<_>>());
        (!read.is_empty() || !put.is_empty()).then(|| Box::new(DeferredCheck { operation, read, put }))
    }

    /// The bytes of a touch that an operation writes, but may leave without a value.
    pub(super) fn maybe_initialized_by(
        &self,
        kind: Kind<'_>,
        touches: &[Touch],
        at: usize,
        is_partial: bool,
    ) -> Bytes {
        match (kind, touches.first()) {
            (Kind::Copy(plan), Some(Touch { place: Place::Device(from), bytes, .. })) => {
                propagated_by(plan, &self.maybe_initialized(*from, bytes))
            }
            _ if is_partial => {
                let put = self.put(&touches[at]);
                put.map_or_else(Bytes::default, |(missing, maybe)| missing.with(&maybe))
            }
            _ => Bytes::default(),
        }
    }

    /// The bytes to which a write that may leave bytes out may give a value: those that certainly have
    /// none, and those that may have none.
    fn put(&self, touch: &Touch) -> Option<(Bytes, Bytes)> {
        match touch {
            Touch { place: Place::Device(to), bytes, access: Access::Write } => {
                Some((self.missing(*to, bytes), self.maybe_initialized(*to, bytes)))
            }
            _ => None,
        }
    }

    pub(super) fn maybe_initialized(&self, id: BufferId, bytes: &Bytes) -> Bytes {
        let buffer = self.device.buffer(id).filter(|buffer| !buffer.maybe_initialized.is_empty());
        buffer.map_or_else(Bytes::default, |buffer| buffer.maybe_initialized.common(bytes))
    }
}

/// The bytes to which a copy brings some of the bytes that it reads.
pub(crate) fn propagated_by(plan: &Plan, bytes: &Bytes) -> Bytes {
    if bytes.is_empty() {
        return Bytes::default();
    }
    propagation::through(plan, &Bytes::source(plan), |set| bytes.among(set))
}
