//! Streams that this library never opens and other code may have: the default streams, and those that wait for one of them.
//!
//! An operation of the legacy default stream runs after all that blocking streams were given, and before all that they will be. The
//! default stream of a thread is a blocking one. Streams of this library are not, so nothing of that concerns them.

use std::{
    collections::BTreeMap,
    thread::{self, ThreadId},
};

use super::{Engine, Lane, Mark, Op, Work};
use crate::judge::Barrier;

/// How a stream is named, which says what lane it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamName {
    /// By its lane.
    Lane(usize),
    /// As the legacy default stream, 1.
    Legacy,
    /// As the default stream of the calling thread, 2.
    PerThread,
    /// As 0, which is one of the two.
    Null,
}

/// The default streams there are so far.
#[derive(Debug, Default)]
pub(super) struct DefaultStreams {
    legacy: Option<usize>,
    /// In the order in which threads first named theirs.
    per_thread: Vec<(ThreadId, usize)>,
    /// How the stream of this call is ordered with blocking streams.
    barrier: Barrier,
    /// The newest operation that all blocking streams wait for.
    last: Option<Mark>,
    /// What operations in queues wait for by themselves, by their number.
    implied: BTreeMap<u64, Vec<Mark>>,
}

impl Engine {
    /// The lane of a stream, whose operation is enqueued next.
    pub(crate) fn lane_of(&mut self, name: StreamName) -> usize {
        let (lane, barrier) = match name {
            StreamName::Lane(lane) => (lane, Barrier::None),
            StreamName::Legacy => (self.legacy_lane(), Barrier::Always),
            StreamName::PerThread => (self.lane_of_thread(), Barrier::None),
            // Where it is the legacy stream, its operations are ordered with all blocking streams, and so with themselves.
            StreamName::Null => (self.lane_of_thread(), Barrier::IfLegacy),
        };
        self.defaults.barrier = barrier;
        self.judge.set_barrier(barrier);
        lane
    }

    /// Whether a stream of this lane was opened and not dropped.
    pub(crate) fn is_open(&self, lane: usize) -> bool {
        self.lanes.get(lane).is_some_and(Lane::is_open)
    }

    fn legacy_lane(&mut self) -> usize {
        self.defaults.legacy.unwrap_or_else(|| {
            let lane = self.default_lane();
            self.defaults.legacy = Some(lane);
            lane
        })
    }

    fn lane_of_thread(&mut self) -> usize {
        let thread = thread::current().id();
        let known = self.defaults.per_thread.iter().find(|(known, _)| *known == thread);
        known.map(|(_, lane)| *lane).unwrap_or_else(|| {
            let lane = self.default_lane();
            self.defaults.per_thread.push((thread, lane));
            lane
        })
    }

    fn default_lane(&mut self) -> usize {
        let lane = self.open_blocking_lane();
        self.lanes[lane].become_default();
        lane
    }

    /// A lane for a new stream that waits for the legacy default stream.
    pub(crate) fn open_blocking_lane(&mut self) -> usize {
        let lane = self.open_lane();
        self.lanes[lane].blocking = true;
        self.judge.set_blocking(lane, true);
        lane
    }

    /// Takes note of what an operation, which was put into the queue of a blocking lane, runs after by itself, and what after it.
    pub(super) fn imply(&mut self, mark: Mark, number: u64) {
        let mut after: Vec<Mark> = self.defaults.last.into_iter().collect();
        if self.defaults.barrier.holds_under(self.profile().rules()) {
            let lanes = self.lanes.iter().enumerate().filter(|(_, lane)| lane.blocking);
            after.extend(lanes.filter_map(|(index, lane)| lane.last(index, |_| true)));
            self.defaults.last = Some(mark);
        }
        after.retain(|other| other.lane != mark.lane && !self.is_done(*other));
        if !after.is_empty() {
            self.defaults.implied.insert(number, after);
        }
    }

    /// What an operation waits for by itself, if it may not run yet.
    pub(super) fn implied_blocker(&self, number: u64) -> Option<Mark> {
        self.defaults.implied.get(&number)?.iter().copied().find(|&mark| !self.is_done(mark))
    }

    /// What an operation ran after, besides what its lane was given before.
    pub(super) fn after(&self, op: &Op) -> Vec<Mark> {
        let mut after = self.defaults.implied.get(&op.number).cloned().unwrap_or_default();
        if let Work::Wait(mark) = op.work {
            after.push(mark);
        }
        after
    }

    /// An operation of a blocking lane has run.
    pub(super) fn forget_implied(&mut self, number: u64) {
        self.defaults.implied.remove(&number);
    }
}
