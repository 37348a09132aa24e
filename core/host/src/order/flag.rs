//! Flags: points that other processes wait for.

use std::{
    hint,
    sync::{
        Arc, Mutex,
        atomic::Ordering::{Acquire, Release},
    },
    thread,
    time::{Duration, Instant},
};

use devarray::kernel::Running;

use crate::memory::{PagesName, SharedPages};

/// The number of flags on one board, a byte each. Each is used once.
const BOARD_LEN: usize = 64 << 10;

/// The number of looks before a thread sleeps: some microseconds.
const LOOKS: usize = 1000;
/// A sleep lasts an eighth of the time waited so far, up to this.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// The time between two checks that the other process still exists.
const ASKED_EACH: Duration = Duration::from_millis(50);

/// A flag in memory that processes share. It is raised when a point is over.
#[derive(Debug)]
pub(crate) struct Flag {
    board: Arc<SharedPages>,
    at: usize,
}

/// The board from which a device hands out flags, and the next flag's place on it.
#[derive(Debug, Default)]
pub(crate) struct Flags(Mutex<Option<(Arc<SharedPages>, usize)>>);

impl Flags {
    /// The next flag; none if the system has no more memory to share.
    pub(crate) fn next(&self) -> Option<Flag> {
        let mut last = Running::lock(&self.0);
        let (board, at) = match last.take() {
            Some((board, at)) if at < BOARD_LEN => (board, at),
            _ => (Arc::new(SharedPages::new(BOARD_LEN)?), 0),
        };
        *last = Some((Arc::clone(&board), at + 1));
        Some(Flag { board, at })
    }
}

impl Flag {
    /// A flag of another process; none if that process no longer has it.
    pub(crate) fn open(board: &PagesName, at: u64) -> Option<Self> {
        let at = usize::try_from(at).ok().filter(|&at| at < BOARD_LEN)?;
        if board.len_bytes != BOARD_LEN as u64 {
            return None;
        }
        Some(Self { board: Arc::new(SharedPages::open(board)?), at })
    }

    /// The name by which another process finds the flag.
    pub(crate) fn name(&self) -> (PagesName, u64) {
        (self.board.name(), self.at as u64)
    }

    /// Marks the flag's point as over.
    pub(crate) fn raise(&self) {
        self.board.flag(self.at).store(1, Release);
    }

    /// Whether the flag's point is over. Once true, always true.
    pub(crate) fn is_up(&self) -> bool {
        self.board.flag(self.at).load(Acquire) != 0
    }

    /// Blocks until the flag's point is over, or until the other process has lost the flag without
    /// raising it: that process has died, and does no more work.
    pub(crate) fn wait(&self) {
        for _ in 0..LOOKS {
            if self.is_up() {
                return;
            }
            hint::spin_loop();
        }
        let begun = Instant::now();
        let mut asked = begun;
        while !self.is_up() {
            thread::sleep((begun.elapsed() / 8).min(LONGEST_SLEEP));
            if asked.elapsed() > ASKED_EACH {
                asked = Instant::now();
                if !self.board.name().is_there() {
                    self.raise();
                }
            }
        }
    }
}
