//! The one way of work to the device.
//!
//! An operation is ordered after what it conflicts with, noted, and enqueued, under one lock, so
//! that nothing comes between. It names the memory it touches by handles that can be cloned, so it
//! could be kept for later. It borrows them, as layouts and plans: owning what it names would cost
//! an operation on two small arrays more than the whole of this (each handle is counted up and down
//! atomically, each layout is copied), and it would buy nothing while everything is enqueued at once.
//!
//! A stream whose operations run in the call ([`RunsAtOnce`](crate::backend::RunsAtOnce)) gives the
//! operation its place under the lock; the operation waits for its turn and runs without it.

use super::StreamCore;
use crate::{
    CallSite, Result,
    backend::{Device, Gathers, RunsAtOnce as _},
    hazards::{HazardTracker, Position, RecordedEvent, Touch},
    lock::lock,
    statistics::Work,
};

/// The place of an operation that is being enqueued, while the lock is held.
pub(crate) struct Submission<'s, D: Device> {
    pub(crate) device: &'s D,
    pub(crate) raw: &'s D::Stream,
    lane: usize,
    tracker: &'s mut HazardTracker<D>,
}

impl<D: Device> StreamCore<D> {
    /// Orders and notes one operation, and lets `enqueue` put it on the stream. The caller has
    /// checked that all operands are of this context. An error of `enqueue` leaves a note that is
    /// only conservative.
    pub(crate) fn submit<R>(
        &self,
        work: Work,
        touches: &[impl Touch],
        enqueue: impl FnOnce(&D, &D::Stream) -> Result<R>,
    ) -> Result<R> {
        self.submit_all([(work, touches)].into_iter(), enqueue)
    }

    /// The same for several operations, which are enqueued one after the other or together.
    pub(crate) fn submit_all<'t, T: Touch + 't, R>(
        &self,
        operations: impl Iterator<Item = (Work, &'t [T])>,
        enqueue: impl FnOnce(&D, &D::Stream) -> Result<R>,
    ) -> Result<R> {
        let enqueue = |device: &D, stream: &D::Stream, ()| enqueue(device, stream);
        Ok(self.submit_with(operations, |_| Ok(()), enqueue, |_, ()| ())?.0)
    }

    /// The same with what is to be done under the lock: `prepare` before the operation has its place,
    /// `note` when it has it. A queue is given the operation before `note`, which is left out if that
    /// fails; a stream whose operations run in the call runs it afterwards.
    pub(crate) fn submit_with<'t, T: Touch + 't, P: Copy, R, N>(
        &self,
        operations: impl Iterator<Item = (Work, &'t [T])>,
        prepare: impl FnOnce(&mut Submission<'_, D>) -> Result<P>,
        enqueue: impl FnOnce(&D, &D::Stream, P) -> Result<R>,
        note: impl FnOnce(&mut Submission<'_, D>, P) -> N,
    ) -> Result<(R, N)> {
        let mut tracker = lock(&self.core.tracker);
        self.admit_all(&mut tracker, operations)?;
        let submission = &mut self.submission(&mut tracker);
        let prepared = prepare(submission)?;
        let Some(turn) = self.raw.turn() else {
            let enqueued = enqueue(&self.core.device, &self.raw, prepared)?;
            return Ok((enqueued, note(submission, prepared)));
        };
        let noted = note(submission, prepared);
        drop(tracker);
        Ok((enqueue(&self.core.device, &turn, prepared)?, noted))
    }

    /// Orders and notes what has nothing to enqueue.
    pub(crate) fn admit(&self, work: Work, touches: &[impl Touch]) -> Result<()> {
        self.admit_all(&mut lock(&self.core.tracker), [(work, touches)].into_iter())
    }

    #[inline]
    fn admit_all<'t, T: Touch + 't>(
        &self,
        tracker: &mut HazardTracker<D>,
        operations: impl Iterator<Item = (Work, &'t [T])>,
    ) -> Result<()> {
        for (work, touches) in operations {
            tracker.admit(self.lane.index, self.mode, work.operation(), touches)?;
            tracker.statistics.count(work);
        }
        Ok(())
    }

    /// Orders what `enqueue` puts on the stream, which is not noted: it touches nothing that later
    /// work must wait for, or is noted when it did.
    pub(crate) fn order<R>(
        &self,
        operation: &'static str,
        touches: &[impl Touch],
        enqueue: impl FnOnce(&mut Submission<'_, D>) -> Result<R>,
    ) -> Result<R> {
        let tracker = &mut *lock(&self.core.tracker);
        tracker.order(self.lane.index, self.mode, operation, touches)?;
        enqueue(&mut self.submission(tracker))
    }

    /// Notes what is on the stream already, or is by `enqueue`.
    pub(crate) fn note(
        &self,
        touches: &[impl Touch],
        enqueue: impl FnOnce(&D, &D::Stream) -> Result<()>,
    ) -> Result<()> {
        let mut tracker = lock(&self.core.tracker);
        enqueue(&self.core.device, &self.raw)?;
        tracker.note(self.lane.index, self.mode, touches);
        Ok(())
    }

    fn submission<'s>(&'s self, tracker: &'s mut HazardTracker<D>) -> Submission<'s, D> {
        Submission { device: &self.core.device, raw: &self.raw, lane: self.lane.index, tracker }
    }
}

impl<D: Device> Submission<'_, D> {
    /// What was submitted so far: what other threads submit later is not covered.
    pub(crate) fn position(&self) -> Position {
        self.tracker.position(self.lane)
    }

    /// Records an event now.
    pub(crate) fn record(&mut self) -> Result<RecordedEvent<D>> {
        self.tracker.record(self.lane)
    }

    /// Gives later waits for the stream a number that covers what it is ordered after now.
    pub(crate) fn note_alone(&mut self) {
        self.tracker.note_alone(self.lane);
    }
}

impl<D: Gathers> Submission<'_, D> {
    /// Notes that the operation is a gather, which may find an index out of range.
    pub(crate) fn note_gather(&mut self, number: u64, call: CallSite) {
        self.tracker.note_gather(self.lane, (number, call), D::take_index_error, self.device);
    }
}
