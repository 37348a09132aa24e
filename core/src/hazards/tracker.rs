//! All lanes of a device, and the edges between them.

mod pending;
mod streams;
mod telling;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use super::{
    Clock, Covered, Footprint, Hazard, Mode, Position,
    access_log::{Access, AccessLog, Touch},
    cut_off::Exchanges,
    index_errors::IndexErrors,
    lane::{Lane, RecordedEvent},
};
use crate::{
    Error, Result,
    backend::{Device, Stream},
    lock::lock,
    memory::Ledger,
    statistics::Statistics,
};

/// The lanes of one device. Lane 0 is the internal stream, which frees memory whose home stream is
/// gone.
#[derive(Debug)]
pub(crate) struct HazardTracker<D: Device> {
    backend: &'static str,
    lanes: Vec<Lane<D>>,
    /// Lanes whose stream is closed and whose work may still run.
    closing: VecDeque<usize>,
    /// Lanes whose stream is closed and whose work is known to be finished.
    free: BTreeSet<usize>,
    /// For each lane, how far the host knows the work to be finished.
    done: Clock,
    index_errors: IndexErrors<D>,
    exchanges: Exchanges,
    pub(crate) statistics: Statistics,
    /// The ledger of live device memory.
    pub(crate) ledger: Ledger,
}

impl<D: Device> HazardTracker<D> {
    /// A tracker whose lane 0 is `internal`.
    pub(crate) fn new(device: &D, internal: D::Stream) -> Self {
        let mut tracker = Self {
            backend: device.info().backend,
            lanes: Vec::new(),
            closing: VecDeque::new(),
            free: BTreeSet::new(),
            done: Clock::default(),
            index_errors: IndexErrors::default(),
            exchanges: Exchanges::default(),
            statistics: Statistics::default(),
            ledger: Ledger::default(),
        };
        tracker.open(Arc::new(internal), device);
        tracker
    }

    /// Orders the next operation of `lane` after everything that `touches` conflicts with, and
    /// notes it, before it is enqueued. If enqueueing or a wait fails, the note is merely
    /// conservative. A refused operation leaves no note.
    pub(crate) fn admit(
        &mut self,
        lane: usize,
        mode: Mode,
        operation: &'static str,
        touches: &[impl Touch],
    ) -> Result<()> {
        if mode == Mode::Strict {
            self.order(lane, mode, operation, touches)?;
            self.note(lane, true, touches);
            return Ok(());
        }
        self.lanes[lane].sequence += 1;
        for touch in touches {
            let next = touch.as_use(lane, self.lanes[lane].sequence);
            let number = next.sequence;
            // One lock serves both steps: a lock is a good part of the cost of a small copy.
            let mut uses = lock(touch.uses());
            if mode == Mode::Automatic {
                for earlier in uses.conflicting(&next) {
                    self.order_after((lane, number), mode, operation, earlier)?;
                }
                self.cover_earlier_here(&uses, &next);
            }
            uses.note(next, mode == Mode::Automatic, |u| self.is_over(u));
        }
        Ok(())
    }

    /// Orders the next operation of `lane` after everything that `touches` conflicts with.
    pub(crate) fn order(
        &mut self,
        lane: usize,
        mode: Mode,
        operation: &'static str,
        touches: &[impl Touch],
    ) -> Result<()> {
        if mode == Mode::Unchecked {
            return Ok(());
        }
        for touch in touches {
            let next = touch.as_use(lane, self.lanes[lane].sequence + 1);
            let uses = lock(touch.uses());
            for earlier in uses.conflicting(&next) {
                self.order_after((lane, next.sequence), mode, operation, earlier)?;
            }
            self.cover_earlier_here(&uses, &next);
        }
        Ok(())
    }

    /// Orders the next operation of `lane`, which frees `len_bytes` bytes, after all uses of them.
    pub(crate) fn order_free(&mut self, lane: usize, len_bytes: usize, uses: &AccessLog) -> Result<()> {
        let footprint = Footprint::solid(0, len_bytes);
        // The free is only compared with the uses, and never noted.
        let sequence = self.lanes[lane].sequence + 1;
        let next = Access { lane, sequence, footprint, write: true, blurred: false, nominal: false };
        uses.conflicting(&next)
            .try_for_each(|earlier| self.order_after((lane, sequence), Mode::Automatic, "free", earlier))
    }

    /// Notes the next operation of `lane`. `is_ordered` says that it runs after everything noted before that `touches`
    /// conflicts with. If enqueueing fails, the note is merely conservative.
    pub(crate) fn note(&mut self, lane: usize, is_ordered: bool, touches: &[impl Touch]) {
        self.lanes[lane].sequence += 1;
        for touch in touches {
            let next = touch.as_use(lane, self.lanes[lane].sequence);
            lock(touch.uses()).note(next, is_ordered, |u| self.is_over(u));
        }
    }

    /// Like [`note`](Self::note), for an operation that touches no memory yet, such as the one that
    /// allocates. Returns its number, for [`AccessLog::of_alloc`].
    pub(crate) fn note_alone(&mut self, lane: usize) -> u64 {
        self.lanes[lane].sequence += 1;
        self.lanes[lane].sequence
    }

    /// Orders an operation, given by its lane and number, after an access.
    fn order_after(
        &mut self,
        (lane, number): (usize, u64),
        mode: Mode,
        operation: &'static str,
        earlier: &Access,
    ) -> Result<()> {
        if self.lanes[lane].seen.of(earlier.lane) >= earlier.sequence {
            return Ok(());
        }
        if self.done.of(earlier.lane) >= earlier.sequence {
            // The access is finished, but its error may not have been reported.
            self.cover((lane, number), &self.covered_at(earlier.lane, earlier.sequence));
            return Ok(());
        }
        // A blurred access may concern other bytes, so refusing could be wrong; waiting is always
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
        self.join((lane, number), earlier.lane, &mark)
    }

    /// Whether nobody needs to remember an access: it is finished, and nothing is left to report of
    /// it.
    fn is_over(&self, access: &Access) -> bool {
        access.sequence <= self.done.of(access.lane)
            && !self.covered_at(access.lane, access.sequence).has_any()
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

    /// Like [`record`](Self::record), with an event that `make` makes.
    pub(crate) fn record_with(
        &mut self,
        lane: usize,
        make: impl FnOnce(&D::Stream) -> Result<D::Event>,
    ) -> Result<RecordedEvent<D>> {
        let stream = &self.lanes[lane].stream;
        let stream = stream.as_ref().expect("a closed lane left an event that covers all its work");
        let event = Arc::new(make(stream)?);
        let Position { sequence, seen, covered, .. } = self.position(lane);
        let mark = RecordedEvent { sequence, event, seen, covered };
        self.lanes[lane].mark = Some(mark.clone());
        Ok(mark)
    }

    /// Makes what `lane` enqueues later run after a mark of lane `other`.
    #[track_caller]
    pub(crate) fn wait(&mut self, lane: usize, other: usize, mark: &RecordedEvent<D>) -> Result<()> {
        self.join((lane, self.lanes[lane].sequence + 1), other, mark)
    }

    /// Does the same for operations from a number on.
    #[track_caller]
    fn join(&mut self, (lane, number): (usize, u64), other: usize, mark: &RecordedEvent<D>) -> Result<()> {
        let target = &mut self.lanes[lane];
        let stream = target.stream.as_ref().expect("operations are submitted to live lanes");
        stream.wait(&mark.event)?;
        target.seen.join(&mark.seen);
        target.seen.raise(other, mark.sequence);
        self.cover((lane, number), &mark.covered);
        Ok(())
    }

    /// The last operation of a lane, and what it was ordered after.
    pub(crate) fn position(&self, lane: usize) -> Position {
        let Lane { sequence, seen, covering, .. } = &self.lanes[lane];
        let any = self.index_errors.any();
        let covered = if any { covering.so_far(*sequence) } else { Covered::default() };
        Position { lane, sequence: *sequence, seen: seen.clone(), covered }
    }
}
