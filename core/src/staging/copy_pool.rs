//! Threads that do jobs for a caller. The caller waits for each job.
//!
//! The caller decides on the jobs and on the order of its waits. The threads decide only which
//! thread does which share. So a program gives the same results with any number of threads.
//!
//! All threads work at the oldest job that has shares left. A thread claims a share by incrementing
//! a counter, and takes the lock once per job.
//!
//! Threads sleep from one call to the next, because starting a thread takes tens of microseconds.
//! Waking a thread takes nearly as long, both for its waker and for itself; a job takes a few
//! hundred microseconds. So a caller wakes at most one thread, which wakes others. An idle thread
//! looks for work for a while before it sleeps. A caller does the shares that no thread has begun.

use std::{
    any::Any,
    collections::VecDeque,
    fmt, hint, mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use crate::lock::lock;

/// The default limit of a pool's threads: eight saturate a link, and two more keep it saturated
/// while other programs use the processors.
const DEFAULT_MOST: usize = 10;

/// The number of looks for work, or for the end of a job, before a thread sleeps: they take some
/// tens of microseconds.
const LOOKS: usize = 2000;

/// The stack size of a thread, which makes no deep calls.
const STACK_BYTES: usize = 256 << 10;

/// Work that threads can share.
pub(crate) trait Work: Send + Sync + 'static {
    /// The number of shares; at least one, always the same.
    fn shares(&self) -> usize;

    /// Does one share. Each share is asked for at most once.
    fn run(&self, share: usize);
}

/// Threads that wait for work. They start when there is enough work, and end with this pool.
pub(crate) struct CopyPool<W: Work> {
    shared: Arc<Shared<W>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared<W> {
    queue: Mutex<Queue<W>>,
    /// Whether a job waits, for threads that look without the lock.
    has_jobs: AtomicBool,
    /// Signals a new job, or a smaller limit.
    called: Condvar,
}

struct Queue<W> {
    /// Oldest first. Some may have been done by their callers already.
    jobs: VecDeque<Arc<Job<W>>>,
    threads: usize,
    /// Sleeping threads, including threads that were just called.
    asleep: usize,
    /// Called threads that are not awake yet.
    called: usize,
    /// Threads that look for work.
    looking: usize,
    /// The limit of threads; `None` before anybody set it or asked for it.
    most: Option<usize>,
    closed: bool,
}

/// One job of work. The thread that claims a share does it.
struct Job<W> {
    work: W,
    shares: usize,
    /// The number of claimed shares. It exceeds the number of shares if a thread came too late.
    claimed: AtomicUsize,
    /// The number of shares that are neither done nor taken back.
    left: AtomicUsize,
    end: Mutex<End>,
    ended: Condvar,
}

#[derive(Default)]
struct End {
    /// Whether a caller sleeps until the last share is done.
    awaited: bool,
    /// The panic of a share; if several panicked, the last.
    panic: Option<Box<dyn Any + Send>>,
}

/// A job that a pool works at. Dropping the handle waits until no thread works at it.
#[must_use = "dropping a handle takes the work back"]
pub(crate) struct JobHandle<W: Work>(Option<Arc<Job<W>>>);

impl<W: Work> CopyPool<W> {
    /// Gives a job to the idle threads. Does not block.
    pub(crate) fn give(&self, work: W) -> JobHandle<W> {
        let handle = JobHandle::new(work);
        let mut queue = lock(&self.shared.queue);
        for _ in 0..handle.0.as_ref().map_or(0, |job| job.shares) {
            let enough = queue.asleep + queue.looking > queue.unclaimed() || queue.threads >= queue.most();
            if enough || !self.start(&mut queue) {
                break;
            }
        }
        if queue.threads > 0 {
            queue.jobs.extend(handle.0.clone());
            self.shared.has_jobs.store(true, Ordering::Relaxed);
            if queue.called == 0 {
                self.shared.call(queue, 1);
            }
        }
        handle
    }

    /// The limit of threads.
    pub(crate) fn most(&self) -> usize {
        lock(&self.shared.queue).most()
    }

    /// Changes the limit. Threads beyond it end once their current work is done.
    pub(crate) fn set_most(&self, most: usize) {
        lock(&self.shared.queue).most = Some(most);
        self.shared.called.notify_all();
    }

    /// Starts one more thread. Returns `false` if the system refuses; then the other threads or the
    /// caller do the work.
    fn start(&self, queue: &mut Queue<W>) -> bool {
        let shared = Arc::clone(&self.shared);
        let builder = thread::Builder::new().name("devarray-transfer".to_owned()).stack_size(STACK_BYTES);
        let Ok(thread) = builder.spawn(move || shared.help()) else { return false };
        queue.threads += 1;
        let mut threads = lock(&self.threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        true
    }
}

impl<W: Work> Queue<W> {
    /// Shares that nobody has begun.
    fn unclaimed(&self) -> usize {
        self.jobs.iter().map(|job| job.unclaimed()).sum()
    }

    /// The oldest job with shares that nobody has begun.
    fn oldest(&mut self) -> Option<Arc<Job<W>>> {
        while self.jobs.front().is_some_and(|job| job.unclaimed() == 0) {
            self.jobs.pop_front();
        }
        self.jobs.front().cloned()
    }

    fn most(&mut self) -> usize {
        *self.most.get_or_insert_with(|| match thread::available_parallelism() {
            Ok(processors) if processors.get() > 1 => processors.get().min(DEFAULT_MOST),
            _ => 0,
        })
    }
}

impl<W: Work> Shared<W> {
    /// The loop of a thread.
    fn help(&self) {
        let mut queue = lock(&self.queue);
        while !queue.closed && queue.threads <= queue.most() {
            if let Some(job) = queue.oldest() {
                self.call(queue, 2);
                job.help();
                queue = self.look();
            } else {
                self.has_jobs.store(false, Ordering::Relaxed);
                queue.asleep += 1;
                queue = wait(&self.called, queue);
                queue.asleep -= 1;
                queue.called = queue.called.saturating_sub(1);
            }
        }
        queue.threads -= 1;
    }

    /// Wakes at most `most` threads, if there are more shares than threads on their way to work.
    fn call(&self, mut queue: MutexGuard<'_, Queue<W>>, most: usize) {
        let uncalled = queue.unclaimed().saturating_sub(queue.called + queue.looking);
        let calls = uncalled.min(queue.asleep.saturating_sub(queue.called)).min(most);
        queue.called += calls;
        drop(queue);
        for _ in 0..calls {
            self.called.notify_one();
        }
    }

    /// Looks for a job for a moment, without sleeping.
    fn look(&self) -> MutexGuard<'_, Queue<W>> {
        let mut queue = lock(&self.queue);
        if queue.oldest().is_none() {
            self.has_jobs.store(false, Ordering::Relaxed);
            queue.looking += 1;
            drop(queue);
            look_until(|| self.has_jobs.load(Ordering::Relaxed));
            queue = lock(&self.queue);
            queue.looking -= 1;
        }
        queue
    }
}

impl<W: Work> Job<W> {
    /// Shares that nobody has begun.
    fn unclaimed(&self) -> usize {
        self.shares.saturating_sub(self.claimed.load(Ordering::Relaxed))
    }

    /// Does shares until all are begun.
    fn help(&self) {
        while self.unclaimed() > 0 {
            let share = self.claimed.fetch_add(1, Ordering::Relaxed);
            if share >= self.shares {
                return;
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work.run(share)))
                && let Some(unwanted) = lock(&self.end).panic.replace(panic)
            {
                // Dropping the first panic may panic itself, and then this share would never be
                // done.
                mem::forget(unwanted);
            }
            self.done(1);
        }
    }

    /// Counts shares that are done, or taken back.
    fn done(&self, shares: usize) {
        // A thread that sees 0 shares left sees the effects of all shares.
        if self.left.fetch_sub(shares, Ordering::AcqRel) == shares && lock(&self.end).awaited {
            self.ended.notify_one();
        }
    }

    /// Whether each share is done or taken back.
    fn is_over(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Blocks until no thread works at the job. Returns the panic of a share, if one panicked.
    fn wait(&self) -> Option<Box<dyn Any + Send>> {
        look_until(|| self.is_over());
        let mut end = lock(&self.end);
        end.awaited = true;
        while !self.is_over() {
            end = wait(&self.ended, end);
        }
        end.panic.take()
    }
}

impl<W: Work> JobHandle<W> {
    /// Makes a job that no thread knows yet.
    pub(crate) fn new(work: W) -> Self {
        let shares = work.shares();
        Self(Some(Arc::new(Job {
            work,
            shares,
            claimed: AtomicUsize::new(0),
            left: AtomicUsize::new(shares),
            end: Mutex::default(),
            ended: Condvar::new(),
        })))
    }

    /// Blocks until the work is done. Does the shares that nobody has begun.
    ///
    /// # Panics
    ///
    /// Resumes the panic of the work.
    pub(crate) fn finish(mut self) {
        let Some(job) = self.0.take() else { return };
        job.help();
        if let Some(panic) = job.wait() {
            resume_unwind(panic);
        }
    }
}

impl<W: Work> Drop for JobHandle<W> {
    /// Takes back the shares that nobody has begun, and waits for threads that have begun one.
    fn drop(&mut self) {
        if let Some(job) = self.0.take() {
            let claimed = job.claimed.swap(job.shares, Ordering::Relaxed);
            job.done(job.shares.saturating_sub(claimed));
            // The panic hook has reported a panic in work that nobody wants any more.
            drop(job.wait());
        }
    }
}

impl<W: Work> Default for CopyPool<W> {
    fn default() -> Self {
        let queue = Queue {
            jobs: VecDeque::new(),
            threads: 0,
            asleep: 0,
            called: 0,
            looking: 0,
            most: None,
            closed: false,
        };
        let (has_jobs, called) = (AtomicBool::new(false), Condvar::new());
        let shared = Shared { queue: Mutex::new(queue), has_jobs, called };
        Self { shared: Arc::new(shared), threads: Mutex::default() }
    }
}

impl<W: Work> Drop for CopyPool<W> {
    /// Ends the threads. None has work, because callers waited for each job.
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.called.notify_all();
        for thread in self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Threads catch every panic.
            let _ = thread.join();
        }
    }
}

impl<W: Work> fmt::Debug for CopyPool<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = lock(&self.shared.queue);
        f.debug_struct("CopyPool").field("threads", &queue.threads).field("most", &queue.most).finish()
    }
}

impl<W: Work> fmt::Debug for JobHandle<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle").finish_non_exhaustive()
    }
}

/// Returns when the condition holds, or after a while.
fn look_until(is_so: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if is_so() {
            break;
        }
        hint::spin_loop();
    }
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
