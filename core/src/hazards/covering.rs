//! Tracks which unreported gathers come before each point of a stream.
//!
//! A wait for the point reports them. The order of work needs no such memory, because finished work
//! comes before all later work. So this is kept apart, and only while there is something to report.
//! The place of a stream is used again even if something is left to report of it.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use super::untold::Untold;

/// The most lists of other streams that a stream answers for. Errors in further lists are reported
/// by their own streams and events, or by the list of the context.
const MOST_JOINED: usize = 1024;

/// The most lists that a closed stream leaves to readers of its results. There is one for each
/// stream that failed and whose errors were not reported.
const MOST_LEFT: usize = 64;

/// Lists of gathers. Each counts up to one operation of its stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Covered(Vec<(Weak<Untold>, u64)>);

impl Covered {
    pub(super) fn lists(&self) -> impl Iterator<Item = (Arc<Untold>, u64)> {
        self.0.iter().filter_map(|(list, to)| Some((list.upgrade()?, *to)))
    }

    /// Holds the lists, so that they do not count as ones that nobody can wait for.
    pub(crate) fn hold(&self) -> Vec<Arc<Untold>> {
        self.lists().map(|(list, _)| list).collect()
    }

    /// Adds everything that another point covers.
    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether any list has a gather to report.
    pub(super) fn has_any(&self) -> bool {
        self.lists().any(|(list, to)| list.has(0, to))
    }
}

/// A list of another stream, and the point from which this stream comes after it.
#[derive(Debug)]
struct Joined<L> {
    /// The first operation of this stream that comes after the list.
    at: u64,
    list: L,
    to: u64,
}

/// The gathers that come before a closed stream's operations.
#[derive(Debug)]
struct Past {
    /// Its operations are those after `after`, up to `last`.
    after: u64,
    last: u64,
    own: Option<Weak<Untold>>,
    joined: Vec<Joined<Weak<Untold>>>,
}

impl Past {
    /// The gathers that a wait for one of its operations covers.
    fn at(&self, sequence: u64) -> Covered {
        let own = self.own.iter().map(|own| (Weak::clone(own), sequence));
        let joined = self.joined.iter().filter(|joined| joined.at <= sequence);
        Covered(own.chain(joined.map(|joined| (Weak::clone(&joined.list), joined.to))).collect())
    }
}

/// The gathers that come before a lane's operations. The lane may have had earlier streams.
#[derive(Debug, Default)]
pub(super) struct Covering {
    is_open: bool,
    /// The last operation of the earlier streams.
    after: u64,
    /// The gathers of the stream itself. They are kept when the stream is closed while they may
    /// still run.
    own: Option<Arc<Untold>>,
    joined: Vec<Joined<Arc<Untold>>>,
    clean_at: usize,
    past: Vec<Past>,
    clean_past_at: usize,
}

impl Covering {
    /// Opens a stream on the lane, whose operations come after operation `after` of an earlier
    /// stream.
    pub(super) fn open(&mut self, after: u64) {
        debug_assert!(!self.is_open && self.own.is_none() && self.joined.is_empty(), "closed before");
        (self.is_open, self.after) = (true, after);
    }

    /// Closes the stream, whose last operation is `last`.
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

    /// The list of the stream's own gathers, made when the first is added.
    pub(super) fn own(&mut self) -> Arc<Untold> {
        Arc::clone(self.own.get_or_insert_default())
    }

    /// The list of a closed stream, if nothing else holds it and some of its gathers may still run.
    pub(super) fn left_alone(&self) -> Option<&Arc<Untold>> {
        let own = self.own.as_ref().filter(|_| !self.is_open)?;
        (Arc::strong_count(own) == 1 && own.has(0, u64::MAX)).then_some(own)
    }

    /// Takes the list of a closed stream.
    pub(super) fn take_own(&mut self) -> Option<Arc<Untold>> {
        self.own.take()
    }

    /// From operation `at` on, the stream comes after what is covered.
    pub(super) fn join(&mut self, at: u64, covered: &Covered) {
        let own = self.own.as_ref().map(|own| (Arc::as_ptr(own), u64::MAX));
        let joined = self.joined.iter().map(|joined| (Arc::as_ptr(&joined.list), joined.to));
        // Up to which operation of each list the stream is known to come after it.
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

    /// The gathers that a wait for an operation covers, whichever stream of the lane made it.
    pub(super) fn at(&self, sequence: u64) -> Covered {
        if self.is_open && sequence > self.after {
            return self.so_far(sequence);
        }
        let past = self.past.partition_point(|past| past.last < sequence);
        let past = self.past.get(past).filter(|past| past.after < sequence);
        past.map_or_else(Covered::default, |past| past.at(sequence))
    }

    /// The gathers that a wait for the open stream covers, up to an operation.
    pub(super) fn so_far(&self, sequence: u64) -> Covered {
        let own = self.own.as_ref().map(|own| (own, 0, sequence));
        let joined = self.joined.iter().map(|joined| (&joined.list, joined.at, joined.to));
        let covered = own.into_iter().chain(joined);
        let covered = covered.filter(|(list, at, to)| *at <= sequence && list.has(0, *to));
        Covered(covered.map(|(list, _, to)| (Arc::downgrade(list), to)).collect())
    }
}
