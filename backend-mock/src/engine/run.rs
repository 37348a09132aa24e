//! Chooses the operation that runs next: in any order that the contract of streams allows, as the
//! chooser picks.

use super::{Engine, Happened, Mark};
use crate::{schedule::Choice, time::time_of};

impl Engine {
    /// Runs until the operation at the mark has run.
    pub(super) fn force(&mut self, mark: Mark) {
        while let Some(needed) = self.lanes.needed(mark) {
            let lane = self.choose_lane(Some(needed), false).unwrap_or(needed);
            self.step(lane);
        }
    }

    /// Runs one step that the operation at the mark needs, so that repeated queries find it done at
    /// some time.
    pub(super) fn step_towards(&mut self, mark: Mark) {
        if let Some(lane) = self.lanes.needed(mark) {
            self.step(lane);
        }
    }

    /// Lets the device run by itself as long as the schedule chooses.
    pub(super) fn idle(&mut self) {
        self.run_while(true);
    }

    /// Runs the oldest operations until at most `most_queued` are queued. That is one of the legal
    /// orders, and not a choice: it follows from the calls alone.
    pub(super) fn run_oldest(&mut self) {
        while let Some(lane) = self.lanes.beyond(self.most_queued) {
            self.step(lane);
        }
    }

    /// Sets how many operations may be queued.
    pub(crate) fn set_most_queued(&mut self, most: usize) {
        self.most_queued = most;
    }

    /// Runs everything.
    pub(crate) fn finish(&mut self) {
        self.run_while(false);
    }

    /// Runs every enqueued free, and everything that must run before it.
    pub(super) fn run_frees(&mut self) {
        for mark in self.lanes.last_frees() {
            self.force(mark);
        }
    }

    /// Runs ready operations until there are none, or until the schedule returns to the caller, if
    /// it may.
    fn run_while(&mut self, may_return: bool) {
        while !self.lanes.ready(None).is_empty() {
            let Some(lane) = self.choose_lane(None, may_return) else { return };
            self.step(lane);
        }
    }

    /// Chooses what continues: a ready lane, with the needed one listed first, or `None` for the
    /// host.
    fn choose_lane(&mut self, needed: Option<usize>, may_return: bool) -> Option<usize> {
        let kind = if may_return { Choice::Next } else { Choice::Needed };
        let ready = self.lanes.ready(needed);
        let choices = self.chooser.choices();
        let way = self.chooser.choose_stream(kind, ready, may_return);
        if let Some(history) = &mut self.history {
            history.push(Happened::Open { choices, lanes: ready.to_vec(), may_return, way });
        }
        ready.get(way).copied()
    }

    /// Runs the operation at the front of a lane, or one piece of it.
    fn step(&mut self, lane: usize) {
        let Some(number) = self.lanes.front_mut(lane).map(|op| op.number) else { return };
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.begins(lane, self.now);
        }
        let finished = self.meet_doom(lane) || self.execute(lane);
        self.chooser.note([lane as u64, number, u64::from(finished)]);
        self.note_step(lane, finished);
        if !finished {
            return;
        }
        let Some(op) = self.lanes.front(lane) else { return };
        self.now += time_of(op.work.len_bytes());
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.ran(lane, op, self.now);
        }
        if let Some(order) = &mut self.order {
            order.push(op.number);
        }
        let statistics = &mut self.ledger.statistics;
        let is_cancelled = op.cancelled && op.work.len_bytes() > 0;
        op.work.count(if is_cancelled { &mut statistics.cancelled } else { &mut statistics.executed });
        if !self.staged.is_empty() {
            self.staged.remove(&number);
        }
        self.lanes.retire(lane);
    }
}
