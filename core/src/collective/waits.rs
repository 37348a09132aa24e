//! Waits of the thread of a rank for others.

use std::{
    hint,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::RankCall;
use crate::{backend::RankTurns, lock::lock};

/// The time for which a thread looks again and again before it sleeps, about as long as waking it up takes.
const AWAKE: Duration = Duration::from_micros(50);
/// Pauses of the processor between two looks.
const PAUSES: u32 = 16;

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woke {
    /// Look again.
    Again,
    /// The time limit passed.
    TooLate,
    /// All ranks wait.
    Stuck,
}

/// The waits of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits<'w> {
    call: &'w RankCall,
    turns: Option<&'w dyn RankTurns>,
    limit: Option<Duration>,
    begun: Instant,
    /// None if there is no limit, or it is beyond all clocks.
    ends: Option<Instant>,
}

impl<'w> Waits<'w> {
    pub(super) fn new(call: &'w RankCall, turns: Option<&'w dyn RankTurns>, limit: Option<Duration>) -> Self {
        let begun = Instant::now();
        Self { call, turns, limit, begun, ends: limit.and_then(|limit| begun.checked_add(limit)) }
    }

    /// The time that they may last together.
    pub(super) fn limit(&self) -> Duration {
        self.limit.unwrap_or(Duration::MAX)
    }

    /// The mistake is one of the program, and told once.
    pub(super) fn found(&self, error: &super::CollectiveError) {
        if let Some(turns) = self.turns {
            turns.found(error);
        }
    }

    /// Wakes those up that wait.
    pub(super) fn changed(&self, changed: &Condvar) {
        changed.notify_all();
        if let Some(turns) = self.turns {
            turns.changed();
        }
    }

    /// Lets a lock go until something may have changed.
    pub(super) fn wait<'m, T>(
        &self,
        mutex: &'m Mutex<T>,
        changed: &Condvar,
        guard: MutexGuard<'m, T>,
    ) -> (MutexGuard<'m, T>, Woke) {
        if let Some(turns) = self.turns {
            drop(guard);
            let woke = if turns.pause(self.call) { Woke::Again } else { Woke::Stuck };
            return (lock(mutex), woke);
        }
        if self.begun.elapsed() < AWAKE.min(self.limit()) {
            drop(guard);
            (0..PAUSES).for_each(|_| hint::spin_loop());
            thread::yield_now();
            return (lock(mutex), Woke::Again);
        }
        let Some(ends) = self.ends else {
            return (changed.wait(guard).unwrap_or_else(PoisonError::into_inner), Woke::Again);
        };
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return (guard, Woke::TooLate);
        }
        let (guard, _) = changed.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner);
        (guard, Woke::Again)
    }
}
