//! All lanes of a device, and the edges between them.

mod pending;

use std::sync::Arc;

use super::{
    Clock, Footprint, Hazard, LaneId, Mode, Position,
    access_log::{Access, AccessLog},
    index_errors::IndexErrors,
    lane::{Lane, RecordedEvent},
};
use crate::{
    Error, Result,
    allocation::Allocation,
    backend::{Device, Event, Stream},
    context::lock,
    gather::{Finished, IndexError},
    memory::Ledger,
    statistics::Statistics,
};

/// What one operation does to one allocation.
#[derive(Debug)]
pub(crate) struct AllocationAccess<'a, D: Device> {
    pub(crate) allocation: &'a Allocation<D>,
    pub(crate) footprint: Footprint,
    pub(crate) write: bool,
}

impl<D: Device> AllocationAccess<'_, D> {
    fn as_use(&self, lane: usize, sequence: u64) -> Access {
        let Self { footprint, write, .. } = *self;
        Access { lane, sequence, footprint, write, blurred: false, nominal: false }
    }
}

/// The lanes of one device. Lane 0 is the internal stream, which frees memory whose home stream is
/// gone.
#[derive(Debug)]
pub(crate) struct HazardTracker<D: Device> {
    backend: &'static str,
    lanes: Vec<Lane<D>>,
    /// The work that the host knows to be finished.
    done: Clock,
    index_errors: IndexErrors,
    pub(crate) statistics: Statistics,
    /// The device memory that is live.
    pub(crate) ledger: Ledger,
}

impl<D: Device> HazardTracker<D> {
    /// A tracker whose lane 0 is `internal`.
    pub(crate) fn new(backend: &'static str, internal: D::Stream) -> Self {
        let mut tracker = Self {
            backend,
            lanes: Vec::new(),
            done: Clock::default(),
            index_errors: IndexErrors::default(),
            statistics: Statistics::default(),
            ledger: Ledger::default(),
        };
        tracker.open(Arc::new(internal), &|_| None);
        tracker
    }

    /// A lane for a new stream: a fresh one, or that of a dropped stream whose work is known to be
    /// finished, with no index out of range left to tell. `ask` asks the device for that of a
    /// finished gather.
    pub(crate) fn open(
        &mut self,
        stream: Arc<D::Stream>,
        ask: &impl Fn(Finished) -> Option<IndexError>,
    ) -> LaneId {
        let index = (0..self.lanes.len()).find(|&lane| self.is_over(lane, ask)).unwrap_or(self.lanes.len());
        if let Some(lane) = self.lanes.get_mut(index) {
            // Sequence numbers go on, so that accesses noted before stay older than those to come.
            lane.stream = Some(stream);
            lane.generation += 1;
            lane.seen = Clock::default();
            lane.mark = None;
        } else {
            let seen = Clock::default();
            self.lanes.push(Lane { stream: Some(stream), generation: 0, sequence: 0, seen, mark: None });
        }
        LaneId { index, generation: self.lanes[index].generation }
    }

    /// Whether a lane's stream is gone and the host knows that its work is finished.
    fn is_over(&mut self, index: usize, ask: &impl Fn(Finished) -> Option<IndexError>) -> bool {
        let lane = &self.lanes[index];
        if lane.stream.is_some() {
            return false;
        }
        let sequence = lane.sequence;
        if let Some(mark) = lane.mark.clone().filter(|mark| matches!(mark.event.query(), Ok(true))) {
            self.host_waited(&mark.position(index), ask);
        }
        self.done.of(index) >= sequence
    }

    /// Whether a wait covers gathers that may have found an index out of range which the program
    /// was not told of.
    pub(crate) fn may_tell(&self, wait: &Position) -> bool {
        self.index_errors.has(wait)
    }

    /// Leaves the stream's last event behind. On failure the stream itself is kept, so that it can
    /// still be waited for.
    pub(crate) fn close(&mut self, lane: LaneId) -> Result<()> {
        let sequence = self.lanes[lane.index].sequence;
        if sequence > self.done.of(lane.index) {
            self.mark(lane.index, sequence)?;
        }
        self.lanes[lane.index].stream = None;
        Ok(())
    }

    /// The lane to free on: its home if that stream still lives, else the internal one.
    pub(crate) fn home_or_internal(&self, home: LaneId) -> usize {
        let lane = &self.lanes[home.index];
        if lane.stream.is_some() && lane.generation == home.generation { home.index } else { 0 }
    }

    /// The lanes whose stream is open.
    pub(crate) fn open_lanes(&self) -> impl Iterator<Item = usize> {
        (0..self.lanes.len()).filter(|&lane| self.lanes[lane].stream.is_some())
    }

    /// The stream of a live lane.
    pub(crate) fn stream(&self, lane: usize) -> Option<&Arc<D::Stream>> {
        self.lanes[lane].stream.as_ref()
    }

    /// Orders the next operation of `lane` after everything that `touches` conflicts with, and
    /// notes it, before it is enqueued: if that or a wait fails, the note is only conservative. A
    /// refused operation leaves no note.
    pub(crate) fn admit(
        &mut self,
        lane: usize,
        mode: Mode,
        operation: &'static str,
        touches: &[AllocationAccess<'_, D>],
    ) -> Result<()> {
        if mode == Mode::Strict {
            self.order(lane, mode, operation, touches)?;
            self.note(lane, mode, touches);
            return Ok(());
        }
        self.lanes[lane].sequence += 1;
        for touch in touches {
            let next = touch.as_use(lane, self.lanes[lane].sequence);
            // Locked once for both: a lock is a good part of the cost of a small copy.
            let mut uses = lock(&touch.allocation.uses);
            if mode == Mode::Automatic {
                for earlier in uses.conflicting(&next) {
                    self.order_after(lane, mode, operation, earlier)?;
                }
            }
            uses.note(next, mode == Mode::Automatic, |u| u.sequence <= self.done.of(u.lane));
        }
        Ok(())
    }

    /// Orders the next operation of `lane` after everything that `touches` conflicts with.
    pub(crate) fn order(
        &mut self,
        lane: usize,
        mode: Mode,
        operation: &'static str,
        touches: &[AllocationAccess<'_, D>],
    ) -> Result<()> {
        if mode == Mode::Unchecked {
            return Ok(());
        }
        for touch in touches {
            let next = touch.as_use(lane, self.lanes[lane].sequence + 1);
            for earlier in lock(&touch.allocation.uses).conflicting(&next) {
                self.order_after(lane, mode, operation, earlier)?;
            }
        }
        Ok(())
    }

    /// Orders the next operation of `lane`, which frees `len_bytes` bytes, after all uses of them.
    pub(crate) fn order_free(&mut self, lane: usize, len_bytes: usize, uses: &AccessLog) -> Result<()> {
        let footprint = Footprint::solid(0, len_bytes);
        // Compared with the uses, and never noted: its number does not matter.
        let next = Access { lane, sequence: 0, footprint, write: true, blurred: false, nominal: false };
        uses.conflicting(&next)
            .try_for_each(|earlier| self.order_after(lane, Mode::Automatic, "free", earlier))
    }

    /// Notes the next operation of `lane`, before it is enqueued: if that fails, the note is only
    /// conservative.
    pub(crate) fn note(&mut self, lane: usize, mode: Mode, touches: &[AllocationAccess<'_, D>]) {
        self.lanes[lane].sequence += 1;
        for touch in touches {
            let next = touch.as_use(lane, self.lanes[lane].sequence);
            let is_done = |u: &Access| u.sequence <= self.done.of(u.lane);
            lock(&touch.allocation.uses).note(next, mode != Mode::Unchecked, is_done);
        }
    }

    /// As [`note`](Self::note), for the operation that allocates. Returns its number, for
    /// [`AccessLog::of_alloc`].
    pub(crate) fn note_alloc(&mut self, lane: usize) -> u64 {
        self.lanes[lane].sequence += 1;
        self.lanes[lane].sequence
    }

    fn order_after(
        &mut self,
        lane: usize,
        mode: Mode,
        operation: &'static str,
        earlier: &Access,
    ) -> Result<()> {
        let reached = self.lanes[lane].seen.of(earlier.lane).max(self.done.of(earlier.lane));
        if reached >= earlier.sequence {
            return Ok(());
        }
        // A blurred access may be of other bytes, so refusing could be wrong; waiting is always
        // right.
        if mode == Mode::Strict && !earlier.blurred {
            let hazard = Hazard {
                stream: earlier.lane,
                write: earlier.write,
                start_byte: earlier.footprint.start,
                end_byte: earlier.footprint.end,
                argument: None,
            };
            return Err(Error::Hazard { backend: self.backend, operation, hazard });
        }
        let mark = self.mark(earlier.lane, earlier.sequence)?;
        self.join(lane, earlier.lane, &mark)
    }

    /// An event of `lane` that captured at least `sequence`: the last one if that is late enough,
    /// else a new one.
    fn mark(&mut self, lane: usize, sequence: u64) -> Result<RecordedEvent<D>> {
        match &self.lanes[lane].mark {
            Some(mark) if mark.sequence >= sequence => Ok(mark.clone()),
            _ => self.record(lane),
        }
    }

    /// Records an event now.
    pub(crate) fn record(&mut self, lane: usize) -> Result<RecordedEvent<D>> {
        self.record_with(lane, D::Stream::record)
    }

    /// As [`record`](Self::record), the event made by `make`.
    pub(crate) fn record_with(
        &mut self,
        lane: usize,
        make: impl FnOnce(&D::Stream) -> Result<D::Event>,
    ) -> Result<RecordedEvent<D>> {
        let lane = &mut self.lanes[lane];
        let stream = lane.stream.as_ref().expect("a closed lane left an event that covers all its work");
        let event = Arc::new(make(stream)?);
        let mark = RecordedEvent { sequence: lane.sequence, event, seen: lane.seen.clone() };
        lane.mark = Some(mark.clone());
        Ok(mark)
    }

    /// Makes what `lane` enqueues later run after a mark of lane `other`.
    #[track_caller]
    pub(crate) fn join(&mut self, lane: usize, other: usize, mark: &RecordedEvent<D>) -> Result<()> {
        let target = &mut self.lanes[lane];
        let stream = target.stream.as_ref().expect("operations are submitted to live lanes");
        stream.wait(&mark.event)?;
        target.seen.join(&mark.seen);
        target.seen.raise(other, mark.sequence);
        Ok(())
    }

    /// The last operation of a lane, and what it was ordered after.
    pub(crate) fn position(&self, lane: usize) -> Position {
        Position { lane, sequence: self.lanes[lane].sequence, seen: self.lanes[lane].seen.clone() }
    }

    /// Notes that the host waited, without a call of the program to tell of an index out of range.
    /// `ask` asks the device for that of a finished gather.
    pub(crate) fn host_waited(&mut self, wait: &Position, ask: &impl Fn(Finished) -> Option<IndexError>) {
        if self.index_errors.finish(wait, ask) {
            self.done.join(&wait.seen);
            self.done.raise(wait.lane, wait.sequence);
        }
    }

    /// The same for a wait of the program, which is told of the first index out of range that the
    /// wait covers.
    pub(crate) fn program_waited(
        &mut self,
        wait: &Position,
        ask: &impl Fn(Finished) -> Option<IndexError>,
    ) -> Option<IndexError> {
        self.host_waited(wait, ask);
        let error = self.index_errors.take(wait)?;
        // It may have been the last.
        self.host_waited(wait, ask);
        Some(error)
    }

    /// Notes that the last operation of a lane is a gather, which may find an index out of range.
    ///
    /// A program that never waits would make the list of them endless. So the finished ones that
    /// found nothing are forgotten now and then, as far as events show them.
    pub(crate) fn note_gather(
        &mut self,
        lane: usize,
        number: u64,
        ask: &impl Fn(Finished) -> Option<IndexError>,
    ) {
        if !self.index_errors.add(number, lane, self.lanes[lane].sequence) {
            return;
        }
        for index in 0..self.lanes.len() {
            let finished =
                self.lanes[index].mark.clone().filter(|mark| matches!(mark.event.query(), Ok(true)));
            if let Some(mark) = finished {
                self.host_waited(&mark.position(index), ask);
            }
        }
        self.index_errors.looked();
        // What is not known to be finished now can be known then. Without the event it is later.
        let _ = self.record(lane);
    }
}
