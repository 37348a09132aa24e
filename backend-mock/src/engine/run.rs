//! Which operation runs next: any order that the contract of streams allows, picked by the chooser.

use smallvec::SmallVec;

use super::{Engine, Happened, Mark, Work};
use crate::{schedule::Choice, timing::time_of};

impl Engine {
    /// Whether the operation at the mark has run.
    pub(super) fn is_done(&self, mark: Mark) -> bool {
        self.lanes[mark.lane].is_past(mark.position)
    }

    /// Runs until the operation at the mark has run.
    pub(super) fn force(&mut self, mark: Mark) {
        while let Some(needed) = self.needed(mark) {
            let mut ready = self.ready();
            // What is needed comes first, the others after it in their order.
            let at = ready.iter().position(|&lane| lane == needed).unwrap_or(0);
            ready[..=at].rotate_right(1);
            let way = self.choose_stream(Choice::Needed, &ready, false);
            self.step(ready[way]);
        }
    }

    /// Runs one step that the operation at the mark needs, so that whoever asks often enough sees it done.
    pub(super) fn step_towards(&mut self, mark: Mark) {
        if let Some(lane) = self.needed(mark) {
            self.step(lane);
        }
    }

    /// Lets the device run on its own for as long as the schedule likes.
    pub(super) fn idle(&mut self) {
        self.run_while(true);
    }

    /// Runs everything.
    pub(crate) fn finish(&mut self) {
        self.run_while(false);
    }

    /// Runs every free that is enqueued, and what must run before it.
    pub(super) fn run_frees(&mut self) {
        for index in 0..self.lanes.len() {
            if let Some(mark) = self.lanes[index].last(index, |work| matches!(work, Work::Free { .. })) {
                self.force(mark);
            }
        }
    }

    /// Runs what is ready until nothing is, or until the schedule returns to the caller if it may.
    fn run_while(&mut self, may_return: bool) {
        loop {
            let ready = self.ready();
            if ready.is_empty() {
                return;
            }
            let kind = if may_return { Choice::Next } else { Choice::Needed };
            let way = self.choose_stream(kind, &ready, may_return);
            let Some(&lane) = ready.get(way) else { return };
            self.step(lane);
        }
    }

    fn choose_stream(&mut self, kind: Choice, ready: &[usize], may_return: bool) -> usize {
        let choices = self.chooser.choices();
        let way = self.chooser.choose_stream(kind, ready, may_return);
        self.note(|_| Happened::Open { choices, lanes: ready.to_vec(), may_return, way });
        way
    }

    /// Lanes whose front may run now, the front enqueued first leading.
    fn ready(&self) -> SmallVec<[usize; 8]> {
        let mut ready: SmallVec<[(u64, usize); 8]> = SmallVec::new();
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Some(op) = lane.front()
                && self.blocker(index).is_none()
            {
                let at =
                    ready.iter().rposition(|&(number, _)| number < op.number).map_or(0, |before| before + 1);
                ready.insert(at, (op.number, index));
            }
        }
        ready.iter().map(|&(_, index)| index).collect()
    }

    /// The lane that must run next for the operation at the mark to run; none if it has.
    ///
    /// A wait names an operation enqueued before it, so the chain of blockers ends.
    fn needed(&self, mark: Mark) -> Option<usize> {
        if self.is_done(mark) {
            return None;
        }
        let mut lane = mark.lane;
        while let Some(blocker) = self.blocker(lane) {
            lane = blocker.lane;
        }
        self.lanes[lane].front().map(|_| lane)
    }

    /// What the front of a lane waits for, if it may not run yet.
    fn blocker(&self, lane: usize) -> Option<Mark> {
        let front = self.lanes[lane].front()?;
        match front.work {
            Work::Wait(mark) if !self.is_done(mark) => Some(mark),
            _ if self.lanes[lane].blocking => self.implied_blocker(front.number),
            _ => None,
        }
    }

    /// Runs the front of a lane, or one piece of it.
    fn step(&mut self, lane: usize) {
        let Some(mut op) = self.lanes[lane].take_front() else { return };
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.begins(lane, self.now);
        }
        let finished = self.meet_doom(&mut op) || self.execute(&mut op);
        self.chooser.note([lane as u64, op.number, u64::from(finished)]);
        self.note(|engine| {
            let at = finished.then(|| engine.lanes[lane].next_mark(lane));
            Happened::ran(lane, at, &op, engine.after(&op))
        });
        if !finished {
            return self.lanes[lane].put_back(op);
        }
        self.now += time_of(op.work.len_bytes());
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.ran(lane, &op, self.now);
        }
        if let Some(order) = &mut self.order {
            order.push(op.number);
        }
        let statistics = &mut self.ledger.statistics;
        let is_cancelled = op.cancelled && op.work.len_bytes() > 0;
        op.work.count(if is_cancelled { &mut statistics.cancelled } else { &mut statistics.executed });
        if self.lanes[lane].blocking {
            self.forget_implied(op.number);
        }
        if !self.staged.is_empty() {
            self.staged.remove(&op.number);
        }
        self.lanes[lane].retire();
    }
}
