//! Gathers that may have found an index out of range, until the program gets the error.
//!
//! Each stream has a list of its own. Its gathers come to it, and its errors leave it, in the order
//! of submission, so a wait looks only at the front, however long the list is. A list is held by
//! everything that the program can wait for and that [covers](super::covering) it: its stream,
//! streams that come after, events. When nobody holds a list any more, the list of the context
//! reports what is left in it.

use std::sync::Arc;

use super::{
    Covered,
    untold::{Gathered, Told, Untold},
};
use crate::{
    CallSite,
    gather::{Finished, IndexError},
};

/// The number of gathers after which finished ones are looked for, if no wait covers them.
const LOOK_AFTER: usize = 1024;

/// Asks a device what a finished gather found.
type Ask<D> = fn(&D, Finished) -> Option<IndexError>;

/// An operation that may find an index without a place: the call that made it, and how the device is asked.
#[derive(Debug)]
pub(crate) struct Reporting<D> {
    pub(crate) call: CallSite,
    pub(crate) ask: Ask<D>,
}

impl<D> Clone for Reporting<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Reporting<D> {}

/// The unreported errors of a context.
#[derive(Debug)]
pub(super) struct IndexErrors<D> {
    /// Asks the device. Until there is a gather, it is never called.
    ask: Ask<D>,
    unasked: usize,
    found: usize,
    look_at: usize,
    /// Lists of closed streams, with errors in them.
    left: Vec<Arc<Untold>>,
    /// When `left` has this many lists, empty ones are removed.
    clean_at: usize,
}

impl<D> Default for IndexErrors<D> {
    fn default() -> Self {
        let (ask, left): (Ask<D>, _) = (|_, _| None, Vec::new());
        Self { ask, unasked: 0, found: 0, look_at: LOOK_AFTER, left, clean_at: LOOK_AFTER }
    }
}

impl<D> IndexErrors<D> {
    /// Whether there is anything to ask for or to report.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.unasked + self.found > 0
    }

    /// Whether the device must be asked about something.
    pub(super) fn any_unasked(&self) -> bool {
        self.unasked > 0
    }

    /// Adds a gather to the list of its stream. Returns whether it is time to look for finished
    /// ones.
    pub(super) fn add(&mut self, list: &Untold, gather: Gathered, ask: Ask<D>) -> bool {
        self.ask = ask;
        list.lists().unasked.push_back(gather);
        self.unasked += 1;
        self.unasked >= self.look_at
    }

    /// Puts the next look off until the number of gathers has doubled.
    pub(super) fn looked(&mut self) {
        self.look_at = LOOK_AFTER.max(2 * self.unasked);
    }

    /// Asks about the gathers of a list up to an operation. They are finished.
    pub(super) fn ask(&mut self, list: &Untold, to: u64, device: &D) {
        let mut lists = list.lists();
        while let Some(&gather) = lists.unasked.front().filter(|gather| gather.sequence <= to) {
            lists.unasked.pop_front();
            self.unasked -= 1;
            if let Some(error) = (self.ask)(device, Finished(gather.number)) {
                self.found += 1;
                lists.found.push_back((gather, error));
            }
        }
    }

    /// Forgets gathers whose outcome cannot be known.
    pub(super) fn forget(&mut self, list: &Untold) {
        self.unasked -= list.lists().unasked.drain(..).count();
    }

    /// Takes the first error, in the order of submission, that a finished wait covers.
    pub(super) fn take(&mut self, covered: &Covered) -> Option<Told> {
        let first = |(list, to): (Arc<Untold>, u64)| list.first(to).map(|number| (number, list));
        let (_, list) = covered.lists().filter_map(first).min_by_key(|(number, _)| *number)?;
        let (gather, error) = list.lists().found.pop_front()?;
        self.found -= 1;
        Some((error, gather.call))
    }

    /// Keeps the list of a closed stream whose work is finished.
    pub(super) fn leave(&mut self, list: Arc<Untold>) {
        if list.is_empty() {
            return;
        }
        self.left.push(list);
        if self.left.len() >= self.clean_at {
            self.left.retain(|list| !list.is_empty());
            self.clean_at = LOOK_AFTER.max(2 * self.left.len());
        }
    }

    /// Takes the errors, in the order of submission, that nothing covers which the program can wait
    /// for.
    pub(super) fn take_left(&mut self) -> Vec<Told> {
        let mut all: Vec<_> = self
            .left
            .extract_if(.., |list| Arc::strong_count(list) == 1)
            .flat_map(|list| std::mem::take(&mut list.lists().found))
            .collect();
        self.found -= all.len();
        all.sort_unstable_by_key(|(gather, _)| gather.number);
        all.into_iter().map(|(gather, error)| (error, gather.call)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is looked at again when it has doubled, not at every gather.
    #[test]
    fn a_list_that_stays_long_is_looked_at_seldom() {
        let (mut errors, list) = (IndexErrors::<()>::default(), Untold::default());
        let looks = |errors: &mut IndexErrors<()>, gathers: std::ops::Range<u64>| {
            gathers
                .filter(|&number| {
                    let gather = Gathered { sequence: number, number, call: CallSite::UNKNOWN };
                    errors.add(&list, gather, |(), _| None)
                })
                .count()
        };
        assert_eq!(looks(&mut errors, 1..1024), 0);
        assert_eq!(looks(&mut errors, 1024..1025), 1);
        errors.looked();
        assert_eq!(looks(&mut errors, 1025..2048), 0);
        assert_eq!(looks(&mut errors, 2048..2049), 1);
    }
}
