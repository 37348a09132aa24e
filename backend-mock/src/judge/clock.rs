//! Vector clocks: what an operation knows to have happened before it.

use smallvec::SmallVec;

/// An operation's place: the `tick`-th operation that its lane was given, counted from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) lane: usize,
    pub(crate) tick: u64,
}

/// For each lane, the number up to which all of its operations happened before. A lane that is not
/// in it is at 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(SmallVec<[u64; 4]>);

impl Clock {
    /// Up to which operation of the lane it knows.
    pub(crate) fn of(&self, lane: usize) -> u64 {
        self.0.get(lane).copied().unwrap_or(0)
    }

    /// Whether the operation happened before.
    pub(crate) fn knows(&self, position: Position) -> bool {
        position.tick <= self.of(position.lane)
    }

    /// Learns everything that the other knows.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The lane is given its next operation.
    pub(crate) fn tick(&mut self, lane: usize) -> Position {
        if self.0.len() <= lane {
            self.0.resize(lane + 1, 0);
        }
        self.0[lane] += 1;
        Position { lane, tick: self.0[lane] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_knows_what_either_knew_and_nothing_else() {
        let (mut one, mut two) = (Clock::default(), Clock::default());
        let first = one.tick(0);
        let second = one.tick(0);
        let other = two.tick(3);
        assert!(one.knows(first) && one.knows(second) && !one.knows(other) && !two.knows(first));
        let before = two.clone();
        two.join(&one);
        assert!(two.knows(second) && two.knows(other) && !before.knows(first));
        let later = one.tick(0);
        assert!(!two.knows(later), "a join is a snapshot");
    }
}
