//! Points: sets of turns that must be over.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Flag, Lane};

/// Turns of lanes, each with all turns before it, and flags of other processes. Turns that are over
/// may be left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Point {
    turns: SmallVec<[(Arc<Lane>, u64); 1]>,
    flags: Vec<Arc<Flag>>,
}

impl Point {
    /// A point of another process.
    pub(crate) fn elsewhere(flag: Flag) -> Self {
        Self { turns: SmallVec::new(), flags: vec![Arc::new(flag)] }
    }

    /// Whether all of its turns and flags are over. Once true, always true.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.turns.iter().all(|(lane, turn)| lane.is_over(*turn))
            && self.flags.iter().all(|flag| flag.is_up())
    }

    /// Blocks until all of its turns and flags are over.
    #[inline]
    pub(crate) fn wait(&self) {
        self.turns.iter().for_each(|(lane, turn)| lane.wait(*turn));
        self.flags.iter().for_each(|flag| flag.wait());
    }

    /// Adds the turns of a lane up to `turn`.
    pub(crate) fn add(&mut self, lane: &Arc<Lane>, turn: u64) {
        if lane.is_over(turn) {
            return;
        }
        match self.turns.iter_mut().find(|(other, _)| Arc::ptr_eq(other, lane)) {
            Some((_, last)) => *last = (*last).max(turn),
            None => self.turns.push((Arc::clone(lane), turn)),
        }
    }

    /// Adds the turns and flags of another point.
    pub(crate) fn join(&mut self, other: &Self) {
        other.turns.iter().for_each(|(lane, turn)| self.add(lane, *turn));
        for flag in other.flags.iter().filter(|flag| !flag.is_up()) {
            if !self.flags.iter().any(|own| Arc::ptr_eq(own, flag)) {
                self.flags.push(Arc::clone(flag));
            }
        }
    }
}
