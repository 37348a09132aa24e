//! Vector clocks: the operations that an operation knows to have happened before it.

use smallvec::SmallVec;

/// The position of an operation: it is number `tick` of its lane, counted from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) lane: usize,
    pub(crate) tick: u64,
}

/// For each lane, the number of its first operations that all happened before. Sorted by lane. A
/// lane that is not listed has 0: most lanes know only a few others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(SmallVec<[Position; 4]>);

impl Clock {
    /// The index of a lane in the list, or the index at which it would be.
    fn place(&self, lane: usize) -> usize {
        self.0.partition_point(|known| known.lane < lane)
    }

    /// The number of the lane's operations that it knows.
    pub(crate) fn of(&self, lane: usize) -> u64 {
        self.0.get(self.place(lane)).filter(|known| known.lane == lane).map_or(0, |known| known.tick)
    }

    /// Whether the operation happened before.
    pub(crate) fn knows(&self, position: Position) -> bool {
        position.tick <= self.of(position.lane)
    }

    /// Adds everything that the other knows.
    pub(crate) fn join(&mut self, other: &Self) {
        let mut at = 0;
        for &theirs in &other.0 {
            // Usually both know the same lanes.
            if self.0.get(at).is_some_and(|known| known.lane < theirs.lane) {
                at += self.0[at..].partition_point(|known| known.lane < theirs.lane);
            }
            match self.0.get_mut(at) {
                Some(mine) if mine.lane == theirs.lane => mine.tick = mine.tick.max(theirs.tick),
                _ => self.0.insert(at, theirs),
            }
            at += 1;
        }
    }

    /// Counts the next operation of the lane.
    pub(crate) fn tick(&mut self, lane: usize) -> Position {
        let next = Position { lane, tick: self.of(lane) + 1 };
        self.join(&Self(SmallVec::from_slice(&[next])));
        next
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
