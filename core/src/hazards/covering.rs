//! What a point in the work of a stream comes after, of gathers that the program was not told of.
//!
//! Who waits for the point is told of them. The order of work itself needs no memory of that: work
//! that is finished comes before all later work. So this is kept apart, only while there is
//! something to tell, and a place of a stream is used again although something is left to tell of
//! it.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use super::untold::Untold;

/// Most lists of other streams that a stream answers for. What exceeds it is told by those streams
/// and their events, or by the list of the context.
const MOST_JOINED: usize = 1024;

/// Most records that a stream which is gone leaves to readers of its results: there are as many as
/// streams that failed and whose errors nobody was told of.
const MOST_LEFT: usize = 64;

/// Lists, each up to an operation of its stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Covered(Vec<(Weak<Untold>, u64)>);

impl Covered {
    pub(super) fn lists(&self) -> impl Iterator<Item = (Arc<Untold>, u64)> {
        self.0.iter().filter_map(|(list, to)| Some((list.upgrade()?, *to)))
    }

    /// Keeps the lists from being told as those that nobody can wait for.
    pub(crate) fn hold(&self) -> Vec<Arc<Untold>> {
        self.lists().map(|(list, _)| list).collect()
    }

    /// Covers what another point covers, too.
    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether there is something in them.
    pub(super) fn has_any(&self) -> bool {
        self.lists().any(|(list, to)| list.has(0, to))
    }
}

/// A list that a stream came after.
#[derive(Debug)]
struct Joined<L> {
    /// The first operation that comes after it.
    at: u64,
    list: L,
    to: u64,
}

/// What a stream that is gone came after.
#[derive(Debug)]
struct Past {
    /// Its operations.
    after: u64,
    last: u64,
    own: Option<Weak<Untold>>,
    joined: Vec<Joined<Weak<Untold>>>,
}

impl Past {
    /// What a wait for an operation of it covers.
    fn at(&self, sequence: u64) -> Covered {
        let own = self.own.iter().map(|own| (Weak::clone(own), sequence));
        let joined = self.joined.iter().filter(|joined| joined.at <= sequence);
        Covered(own.chain(joined.map(|joined| (Weak::clone(&joined.list), joined.to))).collect())
    }
}

/// What the operations of a lane come after: the operations of its stream, and of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Covering {
    is_open: bool,
    /// The last operation of the earlier streams.
    after: u64,
    /// The gathers of the stream itself, also when it is gone and they may run.
    own: Option<Arc<Untold>>,
    joined: Vec<Joined<Arc<Untold>>>,
    clean_at: usize,
    past: Vec<Past>,
    clean_past_at: usize,
}

impl Covering {
    /// A stream begins, after an operation of an earlier one.
    pub(super) fn open(&mut self, after: u64) {
        debug_assert!(!self.is_open && self.own.is_none() && self.joined.is_empty(), "closed before");
        (self.is_open, self.after) = (true, after);
    }

    /// The stream ends with an operation.
    pub(super) fn close(&mut self, last: u64) {
        self.is_open = false;
        let joined = std::mem::take(&mut self.joined);
        let skipped = joined.len().saturating_sub(MOST_LEFT);
        let own = self.own.as_ref().map(Arc::downgrade);
        let joined = joined.into_iter().skip(skipped);
        let joined = joined.map(|Joined { at, list, to }| Joined { at, list: Arc::downgrade(&list), to });
        let past = Past { after: self.after, last, own, joined: joined.collect() };
        if !past.at(last).has_any() {
            return;
        }
        if self.past.len() >= self.clean_past_at {
            self.past.retain(|past| past.at(past.last).has_any());
            self.clean_past_at = 16.max(2 * self.past.len());
        }
        self.past.push(past);
    }

    /// The list of the stream's own gathers, to which one is added.
    pub(super) fn own(&mut self) -> Arc<Untold> {
        Arc::clone(self.own.get_or_insert_default())
    }

    /// The list of a stream that is gone, if nothing else holds it and it has gathers which may run.
    pub(super) fn left_alone(&self) -> Option<&Arc<Untold>> {
        let own = self.own.as_ref().filter(|_| !self.is_open)?;
        (Arc::strong_count(own) == 1 && own.has(0, u64::MAX)).then_some(own)
    }

    /// Takes the list of a stream that is gone.
    pub(super) fn take_own(&mut self) -> Option<Arc<Untold>> {
        self.own.take()
    }

    /// From operation `at` on, the stream comes after what is covered.
    pub(super) fn join(&mut self, at: u64, covered: &Covered) {
        let own = self.own.as_ref().map(|own| (Arc::as_ptr(own), u64::MAX));
        let joined = self.joined.iter().map(|joined| (Arc::as_ptr(&joined.list), joined.to));
        // Has the last operation of each list that the stream comes after already.
        let known: HashMap<_, _> = joined.chain(own).collect();
        for (list, to) in covered.lists() {
            if list.has(known.get(&Arc::as_ptr(&list)).copied().unwrap_or(0), to) {
                self.joined.push(Joined { at, list, to });
            }
        }
        if self.joined.len() >= self.clean_at.max(16) {
            self.joined.retain(|joined| joined.list.has(0, joined.to));
            let exceeding = self.joined.len().saturating_sub(MOST_JOINED);
            self.joined.drain(..exceeding);
            self.clean_at = MOST_JOINED.min(2 * self.joined.len()).max(self.joined.len() + 1);
        }
    }

    /// The last operation of the earlier streams of the lane.
    pub(super) fn after(&self) -> u64 {
        self.after
    }

    /// What a wait for an operation covers, of the stream that it belongs to.
    pub(super) fn at(&self, sequence: u64) -> Covered {
        if self.is_open && sequence > self.after {
            return self.so_far(sequence);
        }
        let past = self.past.partition_point(|past| past.last < sequence);
        let past = self.past.get(past).filter(|past| past.after < sequence);
        past.map_or_else(Covered::default, |past| past.at(sequence))
    }

    /// What a wait for the open stream covers, up to an operation, if it has any.
    pub(super) fn so_far(&self, sequence: u64) -> Covered {
        let own = self.own.as_ref().map(|own| (own, 0, sequence));
        let joined = self.joined.iter().map(|joined| (&joined.list, joined.at, joined.to));
        let covered = own.into_iter().chain(joined);
        let covered = covered.filter(|(list, at, to)| *at <= sequence && list.has(0, *to));
        Covered(covered.map(|(list, _, to)| (Arc::downgrade(list), to)).collect())
    }
}
