//! Submits work to the device. There is no other way.
//!
//! An operation is ordered after what it conflicts with, noted, and enqueued, under one lock, so
//! that nothing comes between.
//!
//! Handles of allocations name what an operation touches. Handles can be cloned, and so kept for
//! later, but an operation borrows them: a clone and its drop take 3.5 ns (x86-64 host, 2026-11), so
//! the two of a small copy of 185 ns would cost it 4 %, and its layouts, plan and scalars would be
//! copied too. While everything is enqueued at once, cloning would gain nothing.
//!
//! Where operations run inside the call ([`RunsAtOnce`]), threads would wait under the lock for each
//! other's work. There an operation gets its turn and is noted under the lock; then it waits for its
//! turn and runs without the lock.

use std::sync::{Arc, MutexGuard};

use super::{Role, StreamCore};
use crate::{
    CallSite, Result,
    backend::{CutOff, Device, Gathers, RunsAtOnce},
    hazards::{HazardTracker, Position, RecordedEvent, Reporting, Touch},
    lock::lock,
    statistics::Work,
};

/// An operation that is ordered and noted. While this is held, nothing else is submitted in this
/// context. Use `raw` for waits and events alone; an operation is enqueued after
/// [`begin`](Self::begin).
#[must_use = "nothing is enqueued yet"]
pub(crate) struct Submission<'s, D: Device> {
    pub(crate) device: &'s D,
    pub(crate) raw: &'s D::Stream,
    stream: &'s StreamCore<D>,
    /// `None` where whoever captures the operations orders them.
    tracker: Option<MutexGuard<'s, HazardTracker<D>>>,
}

impl<D: Device> StreamCore<D> {
    /// Orders and notes one operation, which the caller then [begins](Submission::begin). The
    /// caller has checked that all operands belong to this context. If enqueueing fails, the note
    /// is merely conservative.
    #[inline]
    #[track_caller]
    pub(crate) fn submit(&self, work: Work, touches: &[impl Touch]) -> Result<Submission<'_, D>> {
        self.submit_all([(work, touches)].into_iter())
    }

    /// Does the same for several operations, which are enqueued one after the other or together.
    #[inline]
    #[track_caller]
    pub(crate) fn submit_all<'t, T: Touch + 't>(
        &self,
        operations: impl Iterator<Item = (Work, &'t [T])>,
    ) -> Result<Submission<'_, D>> {
        let mut submission = self.submission();
        for (work, touches) in operations {
            if matches!(self.role, Role::Records(..)) {
                self.check_runs(work.operation())?;
            }
            let Some(tracker) = &mut submission.tracker else { continue };
            tracker.admit(self.lane.index, self.mode, work.operation(), touches)?;
            tracker.statistics.count(work);
        }
        Ok(submission)
    }

    /// Orders what the caller puts on the stream, without noting it: it touches nothing that later
    /// work must wait for, or the caller notes it afterwards.
    #[track_caller]
    pub(crate) fn order(&self, operation: &'static str, touches: &[impl Touch]) -> Result<Submission<'_, D>> {
        self.check_runs(operation)?;
        let mut submission = self.submission();
        submission.tracker().order(self.lane.index, self.mode, operation, touches)?;
        Ok(submission)
    }

    /// Takes a place on the stream, without waiting for other streams.
    #[inline]
    pub(crate) fn submission(&self) -> Submission<'_, D> {
        let tracker = (!matches!(self.role, Role::Captures(_))).then(|| lock(&self.core.tracker));
        Submission { device: &self.core.device, raw: &self.raw, stream: self, tracker }
    }
}

/// An operation that has its place in the stream. The caller enqueues it on [`raw`](Self::raw)
/// itself, in a function that is `#[track_caller]`, so that a backend sees the line of the program's
/// call; a closure would hide it.
#[must_use = "nothing is enqueued yet"]
pub(crate) enum Enqueueing<'s, D: Device, N, F> {
    /// Still under the lock. The closure runs when the operation is enqueued.
    Queue(Submission<'s, D>, F),
    /// Without the lock: the operation's turn, which ends when this is dropped, and what the
    /// closure returned when the turn was given.
    Turn(D::Stream, N),
}

impl<'s, D: Device> Submission<'s, D> {
    /// Gives the operation its place.
    #[inline]
    pub(crate) fn begin(self) -> Enqueueing<'s, D, (), impl FnOnce(&mut Self)> {
        self.begin_noting(|_| ())
    }

    /// Begins with a closure that runs under the lock when the operation has its place, so that an
    /// event recorded there covers it; [`end`](Enqueueing::end) returns its result. Where operations
    /// are queued, it runs after the operation was enqueued, and not at all if the backend refused it.
    #[inline]
    pub(crate) fn begin_noting<N, F: FnOnce(&mut Self) -> N>(self, note: F) -> Enqueueing<'s, D, N, F> {
        if self.tracker.is_none() {
            return Enqueueing::Queue(self, note);
        }
        let Some(turn) = self.raw.turn() else { return Enqueueing::Queue(self, note) };
        // The lock is released before the turn, because dropping a turn waits.
        let mut submission = self;
        let noted = note(&mut submission);
        Enqueueing::Turn(turn, noted)
    }
}

impl<'s, D: Device, N, F: FnOnce(&mut Submission<'s, D>) -> N> Enqueueing<'s, D, N, F> {
    /// The backend's stream, on which the operation is enqueued, once.
    #[inline]
    pub(crate) fn raw(&self) -> &D::Stream {
        match self {
            Self::Queue(submission, _) => submission.raw,
            Self::Turn(turn, _) => turn,
        }
    }

    /// The turn, to run several operations in it; `None` where operations are queued.
    pub(crate) fn into_turn(self) -> Option<D::Stream> {
        match self {
            Self::Queue(..) => None,
            Self::Turn(turn, _) => Some(turn),
        }
    }

    /// Ends the operation, which was enqueued.
    #[inline]
    pub(crate) fn end(self) -> N {
        match self {
            Self::Queue(mut submission, note) => note(&mut submission),
            Self::Turn(_, noted) => noted,
        }
    }
}

impl<D: Device> Submission<'_, D> {
    fn tracker(&mut self) -> &mut HazardTracker<D> {
        self.tracker.as_deref_mut().expect("captured operations are ordered where they are launched")
    }

    /// The point up to which work was submitted. Work that other threads submit later is not
    /// covered.
    pub(crate) fn position(&mut self) -> Position {
        let lane = self.stream.lane.index;
        self.tracker().position(lane)
    }

    /// Records an event now.
    pub(crate) fn record(&mut self) -> Result<RecordedEvent<D>> {
        let lane = self.stream.lane.index;
        self.tracker().record(lane)
    }

    /// Notes accesses of work that is on the stream already. Accesses that were noted since the work was ordered stay:
    /// the work does not run after them, even if its footprint covers theirs.
    pub(crate) fn note_late(&mut self, touches: &[impl Touch]) {
        let lane = self.stream.lane.index;
        self.tracker().note(lane, false, touches);
    }

    /// Notes that the last operation is an exchange of ranks, which may be cut off.
    pub(crate) fn note_exchange(&mut self, number: u64, operation: &'static str, of: &Arc<dyn CutOff>) {
        let lane = self.stream.lane.index;
        self.tracker().note_exchange(lane, number, operation, of);
    }

    /// Takes a number that makes later waits for the stream cover everything that it is ordered
    /// after now.
    pub(crate) fn note_alone(&mut self) {
        let lane = self.stream.lane.index;
        self.tracker().note_alone(lane);
    }
}

impl<D: Gathers> Submission<'_, D> {
    /// Notes that the operation is a gather, which may find an index out of range.
    pub(crate) fn note_gather(&mut self, number: u64, call: CallSite) {
        let reporting = Reporting { call, ask: D::take_index_error };
        match &self.stream.role {
            // Each launch notes it, with a number of its own.
            Role::Captures(reports) => lock(reports).push(reporting),
            Role::Runs | Role::Records(..) => self.note_report(number, reporting),
        }
    }
}

impl<D: Device> Submission<'_, D> {
    /// Notes that the last operation may report an index without a place, by this number.
    pub(crate) fn note_report(&mut self, number: u64, reporting: Reporting<D>) {
        let (lane, device) = (self.stream.lane.index, self.device);
        self.tracker().note_gather(lane, number, reporting, device);
    }
}
