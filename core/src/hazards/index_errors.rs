//! Gathers that may have found an index out of range, until a wait of the program tells of it.

use super::Position;
use crate::gather::{Finished, IndexError};

/// Gathers between two looks at those that no wait covers.
const LOOK_AFTER: usize = 1024;

/// A gather that the program was not told of.
#[derive(Debug)]
struct Untold {
    /// As [`Gathering::number`](crate::gather::Gathering::number) says it.
    number: u64,
    lane: usize,
    sequence: u64,
    /// What it found. A gather that is finished and found nothing leaves the list.
    found: Option<IndexError>,
}

/// The gathers that the program was not told of, in the order of submission.
#[derive(Debug)]
pub(super) struct IndexErrors {
    untold: Vec<Untold>,
    look_at: usize,
}

impl Default for IndexErrors {
    fn default() -> Self {
        Self { untold: Vec::new(), look_at: LOOK_AFTER }
    }
}

impl IndexErrors {
    /// Adds a gather that was enqueued. Returns whether it is time to look which are finished.
    pub(super) fn add(&mut self, number: u64, lane: usize, sequence: u64) -> bool {
        self.untold.push(Untold { number, lane, sequence, found: None });
        self.untold.len() >= self.look_at
    }

    /// Says when to look again: when as many have come as were left.
    pub(super) fn looked(&mut self) {
        self.look_at = LOOK_AFTER.max(2 * self.untold.len());
    }

    /// Asks the device what the gathers found that a finished wait covers. Returns whether none of
    /// them found anything.
    pub(super) fn finish(&mut self, wait: &Position, ask: &impl Fn(Finished) -> Option<IndexError>) -> bool {
        let mut clean = true;
        self.untold.retain_mut(|gather| {
            if !wait.covers(gather.lane, gather.sequence) {
                return true;
            }
            gather.found = gather.found.take().or_else(|| ask(Finished(gather.number)));
            clean &= gather.found.is_none();
            gather.found.is_some()
        });
        clean
    }

    /// Takes the first error that [`finish`](Self::finish) found, of the gathers that a wait covers.
    pub(super) fn take(&mut self, wait: &Position) -> Option<IndexError> {
        let is_told = |gather: &Untold| gather.found.is_some() && wait.covers(gather.lane, gather.sequence);
        let first = self.untold.iter().position(is_told)?;
        self.untold.remove(first).found
    }

    /// Whether it covers gathers whose errors are not known, or known and not told.
    pub(super) fn has(&self, wait: &Position) -> bool {
        self.untold.iter().any(|gather| wait.covers(gather.lane, gather.sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is looked at again when it has doubled, not at every gather.
    #[test]
    fn a_list_that_stays_long_is_looked_at_seldom() {
        let mut errors = IndexErrors::default();
        let looks = |errors: &mut IndexErrors, gathers: std::ops::Range<u64>| {
            gathers.filter(|&number| errors.add(number, 1, number)).count()
        };
        assert_eq!(looks(&mut errors, 1..1024), 0);
        assert_eq!(looks(&mut errors, 1024..1025), 1);
        errors.looked();
        assert_eq!(looks(&mut errors, 1025..2048), 0);
        assert_eq!(looks(&mut errors, 2048..2049), 1);
    }
}
