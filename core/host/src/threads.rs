//! Work in pieces, shared by threads.
#![allow(unsafe_code)] // lends a call's work to threads that are done with it before the call returns

mod job;

use std::{
    collections::VecDeque,
    hint,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use job::{Job, Work};

/// The number of looks at the queue before a helper sleeps: some ten microseconds.
const LOOKS: usize = 4000;

/// The threads that help callers. They are started by the first call that has work for them.
#[derive(Debug)]
pub(crate) struct Threads {
    count: usize,
    helpers: OnceLock<Arc<Queue>>,
}

/// The work that helpers take from.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    called: Condvar,
    /// The number of jobs in the queue, to look at without the lock.
    waiting: AtomicUsize,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The oldest first. The caller of a job takes it out.
    jobs: VecDeque<Arc<Job>>,
    sleepers: usize,
}

impl Threads {
    /// A set of `count` threads, including the calling thread.
    pub(crate) fn new(count: usize) -> Self {
        Self { count, helpers: OnceLock::new() }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls `work` with each number below `pieces`, in any order, from several threads. The
    /// calling thread takes part, and waits only for threads that are inside a piece.
    ///
    /// # Panics
    ///
    /// If a piece panics. The call panics after all running pieces have ended.
    pub(crate) fn run(&self, pieces: usize, work: impl Fn(usize) + Sync) {
        if pieces <= 1 || self.count <= 1 {
            return (0..pieces).for_each(work);
        }
        let queue = self.helpers.get_or_init(|| Queue::start(self.count - 1));
        let work: Work<'_> = &work;
        // SAFETY: `Entered` takes the job out and waits for the threads inside before `work` ends,
        // also when this unwinds.
        let job = Arc::new(unsafe { Job::new(pieces, work) });
        let entered = Entered { queue, job: &job };
        queue.put(&job, (pieces - 1).min(self.count - 1));
        job.take_part();
        drop(entered);
        job.rethrow();
    }
}

/// A job in the queue. When this is dropped, the job is out of the queue and no helper is inside.
struct Entered<'q> {
    queue: &'q Queue,
    job: &'q Arc<Job>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.job.stop();
        self.queue.take_out(self.job);
        self.job.wait_for_helpers();
    }
}

impl Queue {
    /// Starts helpers. If some cannot be started, the device works with fewer.
    fn start(helpers: usize) -> Arc<Self> {
        let queue = Arc::new(Self::default());
        for number in 0..helpers {
            let shared = Arc::clone(&queue);
            let started = thread::Builder::new().name(format!("devarray-host {number}"));
            if started.spawn(move || shared.help()).is_err() {
                break;
            }
        }
        queue
    }

    fn put(&self, job: &Arc<Job>, wanted: usize) {
        let mut state = self.state();
        state.jobs.push_back(Arc::clone(job));
        self.waiting.store(state.jobs.len(), Relaxed);
        let woken = wanted.min(state.sleepers);
        drop(state);
        (0..woken).for_each(|_| self.called.notify_one());
    }

    fn take_out(&self, job: &Arc<Job>) {
        let mut state = self.state();
        state.jobs.retain(|other| !Arc::ptr_eq(other, job));
        self.waiting.store(state.jobs.len(), Relaxed);
    }

    fn help(&self) {
        while let Some(job) = self.next() {
            job.take_part();
            job.leave();
        }
    }

    /// A job that has pieces left, already entered; none when the device is dropped.
    fn next(&self) -> Option<Arc<Job>> {
        for _ in 0..LOOKS {
            if self.waiting.load(Relaxed) > 0
                && let Some(job) = self.enter(&self.state())
            {
                return Some(job);
            }
            hint::spin_loop();
        }
        let mut state = self.state();
        loop {
            if self.closed.load(Relaxed) {
                return None;
            }
            if let Some(job) = self.enter(&state) {
                return Some(job);
            }
            state.sleepers += 1;
            state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleepers -= 1;
        }
    }

    /// Enters a job under the lock, so a job that was taken out is not entered any more.
    fn enter(&self, state: &State) -> Option<Arc<Job>> {
        let job = state.jobs.iter().find(|job| job.has_pieces())?;
        job.enter();
        Some(Arc::clone(job))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Threads {
    /// Tells helpers to end. Does not wait for them.
    fn drop(&mut self) {
        if let Some(queue) = self.helpers.get() {
            let state = queue.state();
            queue.closed.store(true, Relaxed);
            drop(state);
            queue.called.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::Barrier,
    };

    use super::*;

    #[test]
    fn each_piece_runs_once() {
        for count in [1, 2, 5] {
            let threads = Threads::new(count);
            for pieces in [0, 1, 2, 100, 1000] {
                let seen: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                threads.run(pieces, |piece| {
                    seen[piece].fetch_add(1, Relaxed);
                });
                assert!(seen.iter().all(|times| times.load(Relaxed) == 1));
            }
        }
    }

    #[test]
    fn pieces_run_beside_each_other() {
        let (threads, both) = (Threads::new(2), Barrier::new(2));
        threads.run(2, |_| {
            both.wait();
        });
    }

    #[test]
    fn a_call_goes_on_while_all_helpers_are_busy() {
        let threads = Threads::new(2);
        let (inside, done) = (Barrier::new(3), Barrier::new(3));
        thread::scope(|scope| {
            // A caller and the only helper are both inside pieces.
            scope.spawn(|| {
                threads.run(2, |_| {
                    inside.wait();
                    done.wait();
                });
            });
            inside.wait();
            let count = AtomicUsize::new(0);
            threads.run(50, |_| {
                count.fetch_add(1, Relaxed);
            });
            assert_eq!(count.load(Relaxed), 50);
            done.wait();
        });
    }

    #[test]
    fn a_panic_comes_back_and_the_next_call_works() {
        let threads = Threads::new(3);
        for panicking in [0, 7, 99] {
            let run = || threads.run(100, |piece| assert!(piece != panicking, "piece {piece}"));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        }
        threads.run(100, |_| ());
    }
}
