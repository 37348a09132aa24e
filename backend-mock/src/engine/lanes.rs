//! The queues of all streams, and which of them may continue.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::{
    Engine, HostRange, Mark,
    lane::Lane,
    op::{Op, Work},
};

/// All lanes of a device.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// The lanes whose front may run now, in the order in which the fronts were enqueued. Kept,
    /// because every step needs it.
    ready: Vec<usize>,
    /// `ready` in the order of the last request.
    led: Vec<usize>,
    /// The lanes that no stream has. Kept, because every new stream needs one.
    closed: BTreeSet<usize>,
    /// The number of operations that have not run.
    queued: usize,
}

impl Lanes {
    /// Adds an operation, which is the newest of all.
    pub(super) fn push(&mut self, lane: usize, op: Op) -> Mark {
        let was_empty = self.lanes[lane].is_empty();
        let mark = self.lanes[lane].push(lane, op);
        self.queued += 1;
        if was_empty {
            self.make_ready(lane);
        }
        mark
    }

    /// The operation that a lane runs next.
    pub(super) fn front(&self, lane: usize) -> Option<&Op> {
        self.lanes[lane].front()
    }

    /// Like [`front`](Self::front), for changing it.
    pub(super) fn front_mut(&mut self, lane: usize) -> Option<&mut Op> {
        self.lanes[lane].front_mut()
    }

    /// The mark of the operation that a lane runs next.
    pub(super) fn next_mark(&self, lane: usize) -> Mark {
        self.lanes[lane].next_mark(lane)
    }

    /// Removes the front of a lane, which has run.
    pub(super) fn retire(&mut self, lane: usize) {
        let mark = self.next_mark(lane);
        let is_record = matches!(self.lanes[lane].front(), Some(Op { work: Work::Record(_), .. }));
        self.lanes[lane].retire();
        self.queued -= 1;
        if let Some(at) = self.ready.iter().position(|&other| other == lane) {
            self.ready.remove(at);
        }
        self.make_ready(lane);
        // Only records, and operations of streams that are ordered with the legacy default stream,
        // are waited for.
        if is_record || self.lanes[lane].blocking {
            for other in 0..self.lanes.len() {
                let front = self.lanes[other].front().filter(|_| other != lane);
                if front.is_some_and(|front| front.waits_for().any(|waited_for| waited_for == mark)) {
                    self.make_ready(other);
                }
            }
        }
    }

    /// Adds a lane to `ready` if its front may run. The lane must not be listed yet.
    fn make_ready(&mut self, lane: usize) {
        let number = |lane: usize| self.lanes[lane].front().map(|op| op.number);
        let Some(own) = number(lane).filter(|_| self.blocker(lane).is_none()) else { return };
        let is_before = |&other: &usize| number(other) < Some(own);
        let at = self.ready.iter().rposition(is_before).map_or(0, |before| before + 1);
        self.ready.insert(at, lane);
    }

    /// The lanes whose front may run now: the needed one first, then the others in the order in
    /// which their fronts were enqueued.
    pub(super) fn ready(&mut self, needed: Option<usize>) -> &[usize] {
        let Some(needed) = needed.filter(|needed| self.ready.first() != Some(needed)) else {
            return &self.ready;
        };
        self.led.clear();
        self.led.push(needed);
        self.led.extend(self.ready.iter().filter(|&&lane| lane != needed));
        &self.led
    }

    /// The lane of the oldest operation, if more than `most` operations have not run. It may run,
    /// because it waits only for older operations.
    pub(super) fn beyond(&self, most: usize) -> Option<usize> {
        self.ready.first().copied().filter(|_| self.queued > most)
    }

    /// Whether the operation at the mark has run.
    pub(super) fn is_done(&self, mark: Mark) -> bool {
        self.lanes[mark.lane].is_past(mark.position)
    }

    /// The lane that must run next so that the operation at the mark can run; none if it has run.
    ///
    /// A wait names an operation that was enqueued before it, so the chain of blockers ends.
    pub(super) fn needed(&self, mark: Mark) -> Option<usize> {
        if self.is_done(mark) {
            return None;
        }
        let mut lane = mark.lane;
        while let Some(blocker) = self.blocker(lane) {
            lane = blocker.lane;
        }
        self.lanes[lane].front().map(|_| lane)
    }

    /// The operation that the front of a lane waits for, if the front may not run yet.
    fn blocker(&self, lane: usize) -> Option<Mark> {
        self.lanes[lane].front()?.waits_for().find(|&mark| !self.is_done(mark))
    }

    /// The newest operation of a lane that has not run; none if all have.
    pub(super) fn last(&self, lane: usize) -> Option<Mark> {
        self.lanes[lane].last(lane, |_| true)
    }

    /// Whether a lane belongs to a stream that was opened and not dropped.
    pub(super) fn is_open(&self, lane: usize) -> bool {
        self.lanes.get(lane).is_some_and(Lane::is_open)
    }

    /// Gives a lane to a default stream.
    pub(super) fn become_default(&mut self, lane: usize) {
        self.lanes[lane].become_default();
    }

    /// Whether a lane is ordered with the legacy default stream.
    pub(super) fn is_blocking(&self, lane: usize) -> bool {
        self.lanes[lane].blocking
    }

    pub(super) fn set_blocking(&mut self, lane: usize, blocking: bool) {
        self.lanes[lane].blocking = blocking;
    }

    /// The newest operation that has not run, for each lane that is ordered with the legacy default
    /// stream.
    pub(super) fn last_of_blocking(&self) -> impl Iterator<Item = Mark> {
        let blocking = (0..self.lanes.len()).filter(|&lane| self.is_blocking(lane));
        blocking.filter_map(|lane| self.last(lane))
    }

    /// The newest free of each lane that has not run.
    pub(super) fn last_frees(&self) -> SmallVec<[Mark; 8]> {
        let is_free = |work: &Work| matches!(work, Work::Free { .. });
        self.lanes.iter().enumerate().filter_map(|(index, lane)| lane.last(index, is_free)).collect()
    }

    /// Whether an operation that has not run may touch a byte of this host memory.
    pub(super) fn touch_host(&self, range: &HostRange) -> bool {
        self.lanes.iter().flat_map(Lane::ops).any(|op| op.work.touches_host(range))
    }

    /// Cancels the operations of a lane up to the mark.
    pub(super) fn cancel(&mut self, mark: Mark) {
        self.lanes[mark.lane].cancel(mark);
    }

    pub(super) fn cancel_all(&mut self) {
        self.lanes.iter_mut().for_each(Lane::cancel_all);
    }

    /// The number of lanes that belong to a stream.
    pub(super) fn open(&self) -> usize {
        self.lanes.iter().filter(|lane| lane.is_open()).count()
    }
}

impl Engine {
    /// A lane for a new stream: an old one that is no longer used, if there is one.
    pub(crate) fn open_lane(&mut self) -> usize {
        let Lanes { lanes, closed, .. } = &mut self.lanes;
        let unused = |&index: &usize| lanes[index].is_free() && self.judge.may_take_over(index);
        let index = closed.iter().copied().find(unused).unwrap_or(lanes.len());
        if !closed.remove(&index) {
            lanes.push(Lane::default());
        }
        lanes[index].set_open(true);
        if self.lanes.is_blocking(index) {
            self.lanes.set_blocking(index, false);
            self.judge.set_blocking(index, false);
        }
        index
    }

    /// The stream was dropped. Its operations still run.
    pub(crate) fn close_lane(&mut self, lane: usize) {
        self.lanes.lanes[lane].set_open(false);
        self.lanes.closed.insert(lane);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::{
        FaultPlan, Profile,
        judge::Judge,
        schedule::{Chooser, Schedule},
    };

    /// A new stream gets the empty lane with the lowest number that no stream has.
    #[test]
    fn a_new_stream_takes_over_an_old_lane() {
        let chooser = Chooser::new(Schedule::Lazy, 0, false);
        let judge = Judge::new(true, false, Profile::Strict);
        let mut engine = Engine::new(chooser, judge, 100, 0, false, FaultPlan::new());
        let open = |engine: &mut Engine, count: usize| -> Vec<usize> {
            (0..count).map(|_| engine.open_lane()).collect()
        };
        assert_eq!(open(&mut engine, 4), [0, 1, 2, 3]);
        let buffer = engine.reserve(8, Location::caller()).unwrap().buffer;
        engine.enqueue(1, Work::Alloc { buffer, len_bytes: 8 }, Location::caller());
        for lane in [2, 1, 0] {
            engine.close_lane(lane);
        }
        assert_eq!(open(&mut engine, 3), [0, 2, 4]);
        // Lane 1 is empty once its operation has run, but the host does not know that it has run.
        engine.finish();
        engine.close_lane(4);
        assert_eq!(open(&mut engine, 2), [4, 5]);
    }
}
