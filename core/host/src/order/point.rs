//! What must be over.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Lane;

/// Turns of lanes, each with all before it. Those that are over may be left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Point(SmallVec<[(Arc<Lane>, u64); 1]>);

impl Point {
    /// Whether all of it is over. Once true, always true.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.0.iter().all(|(lane, turn)| lane.is_over(*turn))
    }

    /// Blocks until all of it is over.
    #[inline]
    pub(crate) fn wait(&self) {
        self.0.iter().for_each(|(lane, turn)| lane.wait(*turn));
    }

    /// Adds turns of a lane up to one.
    pub(crate) fn add(&mut self, lane: &Arc<Lane>, turn: u64) {
        if lane.is_over(turn) {
            return;
        }
        match self.0.iter_mut().find(|(other, _)| Arc::ptr_eq(other, lane)) {
            Some((_, last)) => *last = (*last).max(turn),
            None => self.0.push((Arc::clone(lane), turn)),
        }
    }

    /// Adds another point.
    pub(crate) fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(lane, turn)| self.add(lane, *turn));
    }
}
