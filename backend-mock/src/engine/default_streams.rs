//! Streams that this library never opens, but other code may have: the default streams, and streams
//! that wait for one of them.
//!
//! An operation of the legacy default stream runs after all earlier work of blocking streams, and
//! before all their later work. The per-thread default stream is a blocking stream. Streams of this
//! library are not, so this does not concern them.

use std::thread::{self, ThreadId};

use super::{Engine, Mark};
use crate::judge::Barrier;

/// The name of a stream, which tells its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamName {
    /// A lane.
    Lane(usize),
    /// 1: the legacy default stream.
    Legacy,
    /// 2: the default stream of the calling thread.
    PerThread,
    /// 0: one of the two, as the profile decides.
    Null,
}

/// The default streams that exist so far.
#[derive(Debug, Default)]
pub(super) struct DefaultStreams {
    legacy: Option<usize>,
    /// In the order in which threads first named theirs.
    per_thread: Vec<(ThreadId, usize)>,
    /// The order between the stream of this call and blocking streams.
    barrier: Barrier,
    /// The newest operation that all blocking streams wait for.
    last: Option<Mark>,
}

impl Engine {
    /// The lane of a stream, whose operation is enqueued next.
    pub(crate) fn lane_of(&mut self, name: StreamName) -> usize {
        let (lane, barrier) = match name {
            StreamName::Lane(lane) => (lane, Barrier::None),
            StreamName::Legacy => (self.legacy_lane(), Barrier::Always),
            StreamName::PerThread => (self.lane_of_thread(), Barrier::None),
            // If this is the legacy stream, its operations are ordered with all blocking streams,
            // and so with each other.
            StreamName::Null => (self.lane_of_thread(), Barrier::IfLegacy),
        };
        self.defaults.barrier = barrier;
        self.judge.set_barrier(barrier);
        lane
    }

    /// Whether a stream of this lane was opened and not dropped.
    pub(crate) fn is_open(&self, lane: usize) -> bool {
        self.lanes.is_open(lane)
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
        self.lanes.become_default(lane);
        lane
    }

    /// A lane for a new stream that waits for the legacy default stream.
    pub(crate) fn open_blocking_lane(&mut self) -> usize {
        let lane = self.open_lane();
        self.lanes.set_blocking(lane, true);
        self.judge.set_blocking(lane, true);
        lane
    }

    /// The operations that the next operation of a lane implicitly runs after, besides earlier
    /// operations of the lane.
    pub(super) fn implied(&self, lane: usize) -> Option<Box<[Mark]>> {
        if !self.lanes.is_blocking(lane) {
            return None;
        }
        let mut after: Vec<Mark> = self.defaults.last.into_iter().collect();
        if self.is_barrier() {
            after.extend(self.lanes.last_of_blocking());
        }
        after.retain(|mark| mark.lane != lane);
        (!after.is_empty()).then(|| after.into())
    }

    /// Notes that an operation was put into a queue.
    pub(super) fn imply(&mut self, mark: Mark) {
        if self.lanes.is_blocking(mark.lane) && self.is_barrier() {
            self.defaults.last = Some(mark);
        }
    }

    fn is_barrier(&self) -> bool {
        self.defaults.barrier.holds_under(self.profile().rules())
    }
}
