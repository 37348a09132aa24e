//! The turns of one stream.

use std::{
    fmt, hint, mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
};

use devarray::kernel::Running;

use super::{Point, Turn};
use crate::shared::Shared;

/// The number of looks at a lane before a thread sleeps: some microseconds.
const LOOKS: usize = 1000;

/// A stream's place in the order.
pub(crate) struct Lane {
    pub(crate) device: Arc<Shared>,
    /// The number of turns that are over.
    over: AtomicU64,
    given: Mutex<Given>,
    /// The number of threads that sleep, or are about to.
    sleepers: AtomicUsize,
    door: Mutex<()>,
    ended: Condvar,
}

/// The turns that were given so far.
#[derive(Debug, Default)]
struct Given {
    turns: u64,
    /// The point that the next turn waits for, besides the turns before it.
    before: Point,
}

impl Lane {
    pub(crate) fn new(device: Arc<Shared>) -> Self {
        let (given, door) = (Mutex::default(), Mutex::default());
        let (over, sleepers) = (AtomicU64::new(0), AtomicUsize::new(0));
        Self { device, over, given, sleepers, door, ended: Condvar::new() }
    }

    /// The next turn.
    #[inline]
    pub(crate) fn turn(self: &Arc<Self>) -> Turn {
        let mut given = self.given();
        given.turns += 1;
        Turn::new(self, given.turns, mem::take(&mut given.before))
    }

    /// A point of all turns so far, and of the point that later turns wait for.
    #[inline]
    pub(crate) fn now(self: &Arc<Self>) -> Point {
        let given = self.given();
        if given.before.is_over() && self.is_over(given.turns) {
            return Point::default();
        }
        let mut point = given.before.clone();
        point.add(self, given.turns);
        point
    }

    /// Makes later turns wait for a point.
    pub(crate) fn come_after(&self, point: &Point) {
        if point.is_over() {
            return;
        }
        let mut given = self.given();
        if given.before.is_over() {
            given.before = Point::default();
        }
        given.before.join(point);
    }

    /// Drops the point that later turns would wait for: there are no later turns. Two streams that wait for
    /// each other would otherwise keep each other alive for ever.
    pub(crate) fn close(&self) {
        let before = mem::take(&mut self.given.lock().unwrap_or_else(PoisonError::into_inner).before);
        drop(before);
    }

    /// Whether a turn and all before it are over.
    #[inline]
    pub(crate) fn is_over(&self, turn: u64) -> bool {
        self.over.load(SeqCst) >= turn
    }

    /// Blocks until a turn and all before it are over.
    #[inline]
    pub(crate) fn wait(&self, turn: u64) {
        if !self.is_over(turn) {
            self.sleep_until(turn);
        }
    }

    #[cold]
    fn sleep_until(&self, turn: u64) {
        for _ in 0..LOOKS {
            hint::spin_loop();
            if self.is_over(turn) {
                return;
            }
        }
        // Counted before the last look: a thread that ends the turn after that look sees the count.
        self.sleepers.fetch_add(1, SeqCst);
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_over(turn) {
            door = self.ended.wait(door).unwrap_or_else(PoisonError::into_inner);
        }
        drop(door);
        self.sleepers.fetch_sub(1, SeqCst);
    }

    /// Ends a turn. The turns before it are over already.
    #[inline]
    pub(super) fn end(&self, turn: u64) {
        self.over.store(turn, SeqCst);
        if self.sleepers.load(SeqCst) > 0 {
            drop(self.door.lock().unwrap_or_else(PoisonError::into_inner));
            self.ended.notify_all();
        }
        self.device.later.look();
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        Running::lock(&self.given)
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lane({} turns over)", self.over.load(SeqCst))
    }
}
