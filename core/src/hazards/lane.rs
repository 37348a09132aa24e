//! One stream's state that the order of work depends on.

use std::sync::Arc;

use smallvec::SmallVec;

use super::covering::{Covered, Covering};
use crate::backend::Device;

/// A lane of the tracker, and which stream has it, because lanes are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneId {
    pub(crate) index: usize,
    pub(crate) generation: u64,
}

/// For each lane, the sequence number of its last operation that comes before a point.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(SmallVec<[u64; 8]>);

impl Clock {
    /// The sequence number reached for a lane; 0 if the lane is unknown here.
    pub(crate) fn of(&self, lane: usize) -> u64 {
        self.0.get(lane).copied().unwrap_or(0)
    }

    /// Raises one lane.
    pub(crate) fn raise(&mut self, lane: usize, sequence: u64) {
        if self.0.len() <= lane {
            self.0.resize(lane + 1, 0);
        }
        self.0[lane] = self.0[lane].max(sequence);
    }

    /// Raises every lane to what `other` reached.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}

/// A point in the work of a lane, and what it was ordered after.
#[derive(Debug, Clone, Default)]
pub(crate) struct Position {
    pub(crate) lane: usize,
    pub(crate) sequence: u64,
    pub(crate) seen: Clock,
    /// The gathers that a wait for it may report.
    pub(crate) covered: Covered,
}

/// An event, what it captured, and what that work was ordered after.
#[derive(Debug)]
pub(crate) struct RecordedEvent<D: Device> {
    pub(crate) sequence: u64,
    pub(crate) event: Arc<D::Event>,
    pub(crate) seen: Clock,
    pub(crate) covered: Covered,
}

impl<D: Device> RecordedEvent<D> {
    /// The captured point of its lane.
    pub(crate) fn position(&self, lane: usize) -> Position {
        let (seen, covered) = (self.seen.clone(), self.covered.clone());
        Position { lane, sequence: self.sequence, seen, covered }
    }
}

impl<D: Device> Clone for RecordedEvent<D> {
    fn clone(&self) -> Self {
        let (seen, covered) = (self.seen.clone(), self.covered.clone());
        Self { sequence: self.sequence, event: Arc::clone(&self.event), seen, covered }
    }
}

/// One stream's place in the tracker.
#[derive(Debug)]
pub(crate) struct Lane<D: Device> {
    /// `None` once the user's handle is gone and `mark` covers all its work.
    pub(crate) stream: Option<Arc<D::Stream>>,
    pub(crate) generation: u64,
    /// Number of the last operation; the first is 1.
    pub(crate) sequence: u64,
    /// What the next operation is ordered after.
    pub(crate) seen: Clock,
    /// The last event recorded here.
    pub(crate) mark: Option<RecordedEvent<D>>,
    /// The gathers that its operations, and operations of earlier streams of the lane, may report.
    pub(super) covering: Covering,
}
