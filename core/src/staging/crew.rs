//! Threads that do pieces of work for a caller who waits for each.
//!
//! The caller decides what is done and in which order it hears of it; the threads only decide who does a share of it. So a
//! program runs the same with any number of them.
//!
//! All threads work at the oldest piece that has shares left. Taking one is a step of a counter; a lock is taken once a
//! piece and thread.
//!
//! They are kept, asleep, from one call to the next: starting one takes tens of microseconds. Waking one takes up to as
//! long, of who wakes it and until it runs, and a piece is copied in a few hundred. So a caller wakes one thread at most,
//! which wakes others; a thread that runs out of work looks out for more for a while before it sleeps; and a caller does what nobody
//! has begun.

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

use crate::context::lock;

/// Most threads of a crew unless told: eight saturate a link, and two more keep it so where other programs take turns on the processors.
const DEFAULT_MOST: usize = 10;

/// Looks for work, or for its end, before sleeping: some tens of microseconds.
const LOOKS: usize = 2000;

/// Bytes of the stack of a thread, which calls nothing deep.
const STACK_BYTES: usize = 256 << 10;

/// Something that any threads can do together.
pub(crate) trait Work: Send + Sync + 'static {
    /// How many shares it has; at least one, always the same.
    fn shares(&self) -> usize;

    /// Does one of them. Each is asked for once at most.
    fn run(&self, share: usize);
}

/// Threads that wait for work. They start when there is enough of it, and end with this.
pub(crate) struct Crew<W: Work> {
    shared: Arc<Shared<W>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared<W> {
    queue: Mutex<Queue<W>>,
    /// Whether a piece waits, for who looks without the lock.
    has_pieces: AtomicBool,
    /// A piece was given, or the crew is to shrink.
    called: Condvar,
}

struct Queue<W> {
    /// Oldest first. Some may have been done by their callers already.
    pieces: VecDeque<Arc<Piece<W>>>,
    threads: usize,
    /// Those asleep, the ones called among them.
    asleep: usize,
    /// Those called that are not awake yet.
    called: usize,
    /// Those that look for work.
    looking: usize,
    /// Most threads; none if nobody asked how many there may be.
    most: Option<usize>,
    closed: bool,
}

/// One piece of work, of which whoever claims a share does it.
struct Piece<W> {
    work: W,
    shares: usize,
    /// Shares claimed; more than there are, if somebody came too late.
    claimed: AtomicUsize,
    /// Shares that are neither done nor taken back.
    left: AtomicUsize,
    end: Mutex<End>,
    ended: Condvar,
}

#[derive(Default)]
struct End {
    /// Whether somebody sleeps until the last share is done.
    awaited: bool,
    /// What a share panicked with, the last if several did.
    panic: Option<Box<dyn Any + Send>>,
}

/// A piece of work in the hands of a crew. When this is gone, no thread does it any more: dropping waits.
#[must_use = "dropping a ticket takes the work back"]
pub(crate) struct Ticket<W: Work>(Option<Arc<Piece<W>>>);

impl<W: Work> Crew<W> {
    /// Has a piece done by the threads that have time. Does not block.
    pub(crate) fn give(&self, work: W) -> Ticket<W> {
        let ticket = Ticket::new(work);
        let mut queue = lock(&self.shared.queue);
        for _ in 0..ticket.0.as_ref().map_or(0, |piece| piece.shares) {
            let enough = queue.asleep + queue.looking > queue.unclaimed() || queue.threads >= queue.most();
            if enough || !self.start(&mut queue) {
                break;
            }
        }
        if queue.threads > 0 {
            queue.pieces.extend(ticket.0.clone());
            self.shared.has_pieces.store(true, Ordering::Relaxed);
            if queue.called == 0 {
                self.shared.call(queue, 1);
            }
        }
        ticket
    }

    /// Most threads there may be.
    pub(crate) fn most(&self) -> usize {
        lock(&self.shared.queue).most()
    }

    /// Changes it. Threads beyond it end when they are done with what they do.
    pub(crate) fn set_most(&self, most: usize) {
        lock(&self.shared.queue).most = Some(most);
        self.shared.called.notify_all();
    }

    /// One thread more, or none if the system has none to give: the others do the work, or the caller. Whether there is one.
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
        self.pieces.iter().map(|piece| piece.unclaimed()).sum()
    }

    /// The oldest piece with shares that nobody has begun.
    fn oldest(&mut self) -> Option<Arc<Piece<W>>> {
        while self.pieces.front().is_some_and(|piece| piece.unclaimed() == 0) {
            self.pieces.pop_front();
        }
        self.pieces.front().cloned()
    }

    fn most(&mut self) -> usize {
        *self.most.get_or_insert_with(|| match thread::available_parallelism() {
            Ok(processors) if processors.get() > 1 => processors.get().min(DEFAULT_MOST),
            _ => 0,
        })
    }
}

impl<W: Work> Shared<W> {
    /// The life of a thread.
    fn help(&self) {
        let mut queue = lock(&self.queue);
        while !queue.closed && queue.threads <= queue.most() {
            if let Some(piece) = queue.oldest() {
                self.call(queue, 2);
                piece.help();
                queue = self.look();
            } else {
                self.has_pieces.store(false, Ordering::Relaxed);
                queue.asleep += 1;
                queue = wait(&self.called, queue);
                queue.asleep -= 1;
                queue.called = queue.called.saturating_sub(1);
            }
        }
        queue.threads -= 1;
    }

    /// Wakes up to so many threads, if there are shares that nobody comes for.
    fn call(&self, mut queue: MutexGuard<'_, Queue<W>>, most: usize) {
        let uncalled = queue.unclaimed().saturating_sub(queue.called + queue.looking);
        let calls = uncalled.min(queue.asleep.saturating_sub(queue.called)).min(most);
        queue.called += calls;
        drop(queue);
        for _ in 0..calls {
            self.called.notify_one();
        }
    }

    /// Waits a moment for a piece, awake.
    fn look(&self) -> MutexGuard<'_, Queue<W>> {
        let mut queue = lock(&self.queue);
        if queue.oldest().is_none() {
            self.has_pieces.store(false, Ordering::Relaxed);
            queue.looking += 1;
            drop(queue);
            look_until(|| self.has_pieces.load(Ordering::Relaxed));
            queue = lock(&self.queue);
            queue.looking -= 1;
        }
        queue
    }
}

impl<W: Work> Piece<W> {
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
                // Dropping it may panic, and then this share would never be done.
                mem::forget(unwanted);
            }
            self.done(1);
        }
    }

    /// So many shares are done, or taken back.
    fn done(&self, shares: usize) {
        // Whoever sees that none is left sees what all of them did.
        if self.left.fetch_sub(shares, Ordering::AcqRel) == shares && lock(&self.end).awaited {
            self.ended.notify_one();
        }
    }

    /// Blocks until no thread is at it. What a share panicked with, if one did.
    fn wait(&self) -> Option<Box<dyn Any + Send>> {
        look_until(|| self.left.load(Ordering::Acquire) == 0);
        let mut end = lock(&self.end);
        end.awaited = true;
        while self.left.load(Ordering::Acquire) > 0 {
            end = wait(&self.ended, end);
        }
        end.panic.take()
    }
}

impl<W: Work> Ticket<W> {
    /// Work that nobody else was told of.
    pub(crate) fn new(work: W) -> Self {
        let shares = work.shares();
        Self(Some(Arc::new(Piece {
            work,
            shares,
            claimed: AtomicUsize::new(0),
            left: AtomicUsize::new(shares),
            end: Mutex::default(),
            ended: Condvar::new(),
        })))
    }

    /// Blocks until the work is done. Does what nobody has begun.
    ///
    /// # Panics
    ///
    /// With what the work panicked with.
    pub(crate) fn finish(mut self) {
        let Some(piece) = self.0.take() else { return };
        piece.help();
        if let Some(panic) = piece.wait() {
            resume_unwind(panic);
        }
    }
}

impl<W: Work> Drop for Ticket<W> {
    /// Takes back what nobody has begun, and waits for the threads that have.
    fn drop(&mut self) {
        if let Some(piece) = self.0.take() {
            let claimed = piece.claimed.swap(piece.shares, Ordering::Relaxed);
            piece.done(piece.shares.saturating_sub(claimed));
            // A panic of work that nobody wants any more was told of by the panic hook.
            drop(piece.wait());
        }
    }
}

impl<W: Work> Default for Crew<W> {
    fn default() -> Self {
        let queue = Queue {
            pieces: VecDeque::new(),
            threads: 0,
            asleep: 0,
            called: 0,
            looking: 0,
            most: None,
            closed: false,
        };
        let (has_pieces, called) = (AtomicBool::new(false), Condvar::new());
        let shared = Shared { queue: Mutex::new(queue), has_pieces, called };
        Self { shared: Arc::new(shared), threads: Mutex::default() }
    }
}

impl<W: Work> Drop for Crew<W> {
    /// Ends the threads. None of them has work: each piece was waited for.
    fn drop(&mut self) {
        lock(&self.shared.queue).closed = true;
        self.shared.called.notify_all();
        for thread in self.threads.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // They catch every panic.
            let _ = thread.join();
        }
    }
}

impl<W: Work> fmt::Debug for Crew<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = lock(&self.shared.queue);
        f.debug_struct("Crew").field("threads", &queue.threads).field("most", &queue.most).finish()
    }
}

impl<W: Work> fmt::Debug for Ticket<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

/// Returns when it is so, or after a while.
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
