//! A job: the pieces of one call.
#![allow(unsafe_code)] // lends a call's work to threads that are done with it before the call returns

use std::{
    any::Any,
    fmt, mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// The work that is done for each number.
pub(super) type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// The pieces of one call, handed out by a counter.
pub(super) struct Job {
    next: AtomicUsize,
    pieces: usize,
    work: Work<'static>,
    helpers: Mutex<Helpers>,
    left: Condvar,
}

#[derive(Default)]
struct Helpers {
    inside: usize,
    /// The payload of the first piece that panicked.
    panic: Option<Box<dyn Any + Send>>,
}

impl Job {
    /// # Safety
    ///
    /// Before `work` ends, the job is [stopped](Self::stop), nobody can enter it any more, and
    /// [`wait_for_helpers`](Self::wait_for_helpers) has returned.
    pub(super) unsafe fn new(pieces: usize, work: Work<'_>) -> Self {
        // SAFETY: only the lifetime differs, and the caller ends all uses before it does.
        let work = unsafe { mem::transmute::<Work<'_>, Work<'static>>(work) };
        let (next, helpers) = (AtomicUsize::new(0), Mutex::default());
        Self { next, pieces, work, helpers, left: Condvar::new() }
    }

    pub(super) fn has_pieces(&self) -> bool {
        self.next.load(Relaxed) < self.pieces
    }

    /// Runs pieces until none is left.
    pub(super) fn take_part(&self) {
        loop {
            let piece = self.next.fetch_add(1, Relaxed);
            if piece >= self.pieces {
                return;
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.work)(piece))) {
                self.stop();
                self.helpers().panic.get_or_insert(panic);
            }
        }
    }

    /// Hands out no more pieces. (The counter stays far from overflow: each thread adds one at a time.)
    pub(super) fn stop(&self) {
        self.next.store(self.pieces, Relaxed);
    }

    /// Notes that a helper comes in.
    pub(super) fn enter(&self) {
        self.helpers().inside += 1;
    }

    /// Notes that a helper leaves. It no longer uses the work, and a waiting thread sees everything that it
    /// wrote.
    pub(super) fn leave(&self) {
        let mut helpers = self.helpers();
        helpers.inside -= 1;
        if helpers.inside == 0 {
            self.left.notify_all();
        }
    }

    pub(super) fn wait_for_helpers(&self) {
        let mut helpers = self.helpers();
        while helpers.inside > 0 {
            helpers = self.left.wait(helpers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Panics if a piece did.
    pub(super) fn rethrow(&self) {
        let panic = self.helpers().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn helpers(&self) -> MutexGuard<'_, Helpers> {
        self.helpers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("pieces", &self.pieces).finish_non_exhaustive()
    }
}
