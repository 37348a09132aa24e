//! A meeting point where the threads of ranks exchange values.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Release},
        },
    },
    thread,
    time::Duration,
};

use super::{
    CollectiveError, RankCall,
    waits::{Waits, Woke},
};
use crate::{backend::RankTurns, lock::lock};

/// Meetings of ranks that are threads of one process, for backends. Each participant gives a value, and
/// sees the values of all while it holds [`Met`].
///
/// Dropping [`Met`] blocks until all participants have dropped theirs. Either all participants meet, or
/// none. A participant that gives up, because of the time limit or an abort, ends the meeting for all. So a
/// pointer in the value of one rank stays valid while another rank holds [`Met`], if it is valid until the
/// rank's own is dropped.
pub struct Rendezvous<T> {
    meetings: Mutex<Meetings<T>>,
    changed: Condvar,
}

struct Meetings<T> {
    open: BTreeMap<u64, Meeting<T>>,
    aborted: bool,
}

struct Meeting<T> {
    came: Vec<Option<T>>,
    /// All values, once all have come.
    all: Option<Arc<[T]>>,
    left: usize,
    /// Whether a participant unwound while it held them.
    failed: Arc<AtomicBool>,
}

/// A participant of a meeting.
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "backends make it")]
pub struct Participant<'p> {
    /// The number of the meeting.
    pub number: u64,
    /// Its place among the participants, from 0.
    pub place: usize,
    /// The number of participants.
    pub count: usize,
    /// The call, for errors.
    pub call: &'p RankCall,
    /// The way to pass the turn on, where a backend decides which rank's thread runs.
    pub turns: Option<&'p dyn RankTurns>,
}

impl<T> Default for Rendezvous<T> {
    fn default() -> Self {
        let meetings = Mutex::new(Meetings { open: BTreeMap::new(), aborted: false });
        Self { meetings, changed: Condvar::new() }
    }
}

impl<T> Rendezvous<T> {
    /// Blocks until all participants have come.
    ///
    /// # Errors
    ///
    /// The time limit passed, or the meetings were aborted. No participant has met.
    ///
    /// # Panics
    ///
    /// If the place is not below the number of participants.
    pub fn meet<'r>(
        &'r self,
        who: Participant<'r>,
        value: T,
        time_limit: Duration,
    ) -> Result<Met<'r, T>, CollectiveError> {
        let Participant { number, place, count, call, turns } = who;
        let waits = Waits::new(call, turns, Some(time_limit));
        let mut meetings = lock(&self.meetings);
        if meetings.aborted {
            return Err(CollectiveError::Aborted);
        }
        let new = || Meeting {
            came: (0..count).map(|_| None).collect(),
            all: None,
            left: 0,
            failed: Arc::default(),
        };
        let meeting = meetings.open.entry(number).or_insert_with(new);
        meeting.came[place] = Some(value);
        if meeting.came.iter().all(Option::is_some) {
            meeting.all = Some(meeting.came.drain(..).flatten().collect());
            waits.changed(&self.changed);
        }
        let mut woke = Woke::Again;
        loop {
            // First: if all participants have come, they have met, even if the meetings were aborted since.
            if let Some(meeting) = meetings.open.get(&number)
                && let Some(all) = meeting.all.clone()
            {
                let failed = Arc::clone(&meeting.failed);
                return Ok(Met { of: self, who, all, failed, waits: true });
            }
            if !meetings.aborted && woke != Woke::Again {
                meetings.aborted = true;
                waits.changed(&self.changed);
            }
            if meetings.aborted {
                return Err(CollectiveError::Aborted);
            }
            (meetings, woke) = waits.wait(&self.meetings, &self.changed, meetings);
        }
    }

    /// Ends all meetings that not all have come to, and all later ones. Does not block.
    pub fn abort(&self) {
        lock(&self.meetings).aborted = true;
        self.changed.notify_all();
    }
}

/// The values of a meeting that all have come to. Dropping it blocks until the others are dropped or
/// [have left](Self::leave).
#[must_use = "the meeting ends when it is dropped"]
pub struct Met<'r, T> {
    of: &'r Rendezvous<T>,
    who: Participant<'r>,
    all: Arc<[T]>,
    failed: Arc<AtomicBool>,
    /// Whether dropping it waits for the others.
    waits: bool,
}

impl<T> Met<'_, T> {
    /// The value of each participant, in their order.
    #[must_use]
    pub fn all(&self) -> &[T] {
        &self.all
    }

    /// Blocks until the others are dropped or [have left](Self::leave), as dropping it does.
    ///
    /// # Errors
    ///
    /// [`Aborted`](CollectiveError::Aborted): the thread of a participant panicked while it held its own.
    pub fn end(self) -> Result<(), CollectiveError> {
        let failed = Arc::clone(&self.failed);
        drop(self);
        if failed.load(Acquire) { Err(CollectiveError::Aborted) } else { Ok(()) }
    }

    /// Leaves without waiting for the others, and keeps the values. The other participants may still hold
    /// theirs.
    #[must_use]
    pub fn leave(mut self) -> Arc<[T]> {
        self.waits = false;
        Arc::clone(&self.all)
    }
}

impl<T> Meetings<T> {
    /// One participant leaves. The last ends the meeting.
    fn leave(&mut self, who: Participant<'_>) -> bool {
        let meeting = self.open.get_mut(&who.number);
        let is_last = meeting.is_some_and(|meeting| {
            meeting.left += 1;
            meeting.left == who.count
        });
        if is_last {
            self.open.remove(&who.number);
        }
        is_last
    }
}

impl<T> Drop for Met<'_, T> {
    fn drop(&mut self) {
        let Participant { number, call, turns, .. } = self.who;
        // No time limit: the other participants only run a few statements of the backend, and wait for
        // nobody.
        let waits = Waits::new(call, turns, None);
        let mut meetings = lock(&self.of.meetings);
        if thread::panicking() {
            self.failed.store(true, Release);
        }
        if meetings.leave(self.who) {
            waits.changed(&self.of.changed);
        }
        if !self.waits {
            return;
        }
        while meetings.open.contains_key(&number) {
            (meetings, _) = waits.wait(&self.of.meetings, &self.of.changed, meetings);
        }
    }
}

impl<T> fmt::Debug for Rendezvous<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rendezvous")
    }
}

impl fmt::Debug for Participant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, place, count, .. } = self;
        write!(f, "Participant({place} of {count} in meeting {number})")
    }
}

impl<T> fmt::Debug for Met<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Met({:?})", self.who)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn nobody_leaves_before_all_have_seen_all_values() {
        let (meetings, held) = (Rendezvous::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for place in 0..3 {
                let (meetings, held) = (&meetings, &held);
                scope.spawn(move || {
                    let call = RankCall::new("all_gather", 0);
                    for number in 0..200 {
                        let who = Participant { number, place, count: 3, call: &call, turns: None };
                        held.fetch_add(1, SeqCst);
                        let met = meetings.meet(who, place, LONG).unwrap();
                        assert_eq!(met.all(), [0, 1, 2]);
                        held.fetch_add(1, SeqCst);
                        drop(met);
                        // All of this meeting have come and seen; later ones may have come since.
                        assert!(held.load(SeqCst) >= 6 * (usize::try_from(number).unwrap() + 1));
                    }
                });
            }
        });
    }

    #[test]
    fn who_panics_is_told_to_the_others() {
        let meetings = Rendezvous::default();
        let call = RankCall::new("all_reduce", 0);
        let who = |place| Participant { number: 0, place, count: 2, call: &call, turns: None };
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _met = meetings.meet(who(0), (), LONG).unwrap();
                panic!("on purpose");
            });
            let met = meetings.meet(who(1), (), LONG).unwrap();
            assert_eq!(met.end(), Err(CollectiveError::Aborted));
            assert!(panics.join().is_err());
        });
    }

    #[test]
    fn who_leaves_does_not_wait_for_the_others() {
        let meetings = Rendezvous::default();
        let call = RankCall::new("all_gather", 0);
        let who = |place| Participant { number: 0, place, count: 2, call: &call, turns: None };
        thread::scope(|scope| {
            let (left, leaves) = std::sync::mpsc::channel();
            let meetings = &meetings;
            scope.spawn(move || {
                let met = meetings.meet(who(0), 'a', LONG).unwrap();
                // Held until the other has left.
                leaves.recv().unwrap();
                drop(met);
            });
            let all = meetings.meet(who(1), 'b', LONG).unwrap().leave();
            left.send(()).unwrap();
            assert_eq!(all[..], ['a', 'b']);
        });
        assert!(lock(&meetings.meetings).open.is_empty(), "the last ends it");
    }

    #[test]
    fn who_is_alone_too_long_ends_the_meetings_for_all() {
        let meetings = Rendezvous::default();
        let call = RankCall::new("all_gather", 0);
        let meet = |place| {
            let who = Participant { number: 7, place, count: 2, call: &call, turns: None };
            meetings.meet(who, place, Duration::ZERO).map(drop)
        };
        assert_eq!([meet(0), meet(1)], [const { Err(CollectiveError::Aborted) }; 2]);
    }
}
