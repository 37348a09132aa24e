//! Workers: only the calling thread, or threads of the caller.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::FloatEnvironment;

/// Threads that share the work of a call. Results do not depend on how many there are.
///
/// An implementation that leaves pieces out, or does some twice, costs time and changes nothing: each
/// piece is done once, and the calling thread does what is left over.
pub trait Workers: Sync {
    /// The number of threads that work at once; 1 means only the calling thread.
    fn count(&self) -> usize;

    /// Calls `work` with each number below `pieces`, in any order, from any threads, and returns when
    /// all calls have returned.
    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync));
}

/// The calling thread, without help.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to know of it")]
pub struct Alone;

impl Workers for Alone {
    fn count(&self) -> usize {
        1
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..pieces).for_each(work);
    }
}

impl fmt::Debug for dyn Workers + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workers({})", self.count())
    }
}

/// Does each number below `pieces` once, with floats rounded by the standard.
pub fn each_piece(workers: &dyn Workers, pieces: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let one = |_: usize| {
        let piece = next.fetch_add(1, Relaxed);
        if piece < pieces {
            let _standard = FloatEnvironment::standard();
            work(piece);
        }
    };
    if pieces > 1 && workers.count() > 1 {
        workers.run(pieces, &one);
    }
    while next.load(Relaxed) < pieces {
        one(0);
    }
}
