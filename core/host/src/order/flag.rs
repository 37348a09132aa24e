//! Points that other processes wait for.

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

/// Flags of one board: as many bytes. Each is used once.
const BOARD_LEN: usize = 64 << 10;

/// Looks before a thread sleeps: some microseconds.
const LOOKS: usize = 1000;
/// Sleeps are an eighth of the time so far, up to this.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// How often a thread asks whether the other process is there.
const ASKED_EACH: Duration = Duration::from_millis(50);

/// One thing that is to be over, in memory that processes share.
#[derive(Debug)]
pub(crate) struct Flag {
    board: Arc<SharedPages>,
    at: usize,
}

/// The flags that a device hands out.
#[derive(Debug, Default)]
pub(crate) struct Flags(Mutex<Option<(Arc<SharedPages>, usize)>>);

impl Flags {
    /// The next; none if the system shares no more memory.
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
    /// A flag of another process; none if it has it no more.
    pub(crate) fn open(board: &PagesName, at: u64) -> Option<Self> {
        let at = usize::try_from(at).ok().filter(|&at| at < BOARD_LEN)?;
        if board.len_bytes != BOARD_LEN as u64 {
            return None;
        }
        Some(Self { board: Arc::new(SharedPages::open(board)?), at })
    }

    /// How another process finds it.
    pub(crate) fn name(&self) -> (PagesName, u64) {
        (self.board.name(), self.at as u64)
    }

    /// Tells that it is over.
    pub(crate) fn raise(&self) {
        self.board.flag(self.at).store(1, Release);
    }

    /// Whether it is over. Once true, always true.
    pub(crate) fn is_up(&self) -> bool {
        self.board.flag(self.at).load(Acquire) != 0
    }

    /// Blocks until it is over, or until the other process has lost the flag without telling: it has
    /// died, and does nothing more.
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
