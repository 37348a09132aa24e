//! Threads that do pieces of work for a caller who waits for each.
//!
//! The caller decides what is done and in which order it hears of it; the threads only decide who does a piece. So a
//! program runs the same with any number of them.
//!
//! They are kept, asleep, from one call to the next: starting one takes tens of microseconds. Waking one takes up to as
//! long, of who wakes it and until it runs, and a piece is copied in a few hundred. So a caller wakes one thread at most,
//! which wakes others; a thread that runs out of work looks out for more for a while before it sleeps; and a caller does what nobody
//! has begun.

use std::{
    any::Any,
    collections::VecDeque,
    fmt, hint,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use crate::context::lock;

/// Most threads of a crew unless told: so many saturate a link, and more only sleep between pieces.
const DEFAULT_MOST: usize = 8;

/// Looks for work, or for its end, before sleeping: some tens of microseconds.
const LOOKS: usize = 2000;

/// Bytes of the stack of a thread, which calls nothing deep.
const STACK_BYTES: usize = 256 << 10;

/// Something that any thread can do.
pub(crate) trait Work: Send + 'static {
    fn run(self);
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

/// One piece of work, which whoever claims it does.
struct Piece<W> {
    state: Mutex<State<W>>,
    /// For who looks without the lock.
    has_ended: AtomicBool,
    ended: Condvar,
}

enum State<W> {
    Waiting(W),
    Claimed,
    Ended(Result<(), Box<dyn Any + Send>>),
}

/// A piece of work in the hands of a crew. When this is gone, no thread does it any more: dropping waits.
#[must_use = "dropping a ticket takes the work back"]
pub(crate) struct Ticket<W: Work>(Option<Arc<Piece<W>>>);

impl<W: Work> Crew<W> {
    /// Has a piece done by some thread. Does not block.
    pub(crate) fn give(&self, work: W) -> Ticket<W> {
        let ticket = Ticket::new(work);
        let mut queue = lock(&self.shared.queue);
        if queue.asleep + queue.looking <= queue.pieces.len() && queue.threads < queue.most() {
            self.start(&mut queue);
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

    /// One thread more, or none if the system has none to give: the others do the work, or the caller.
    fn start(&self, queue: &mut Queue<W>) {
        let shared = Arc::clone(&self.shared);
        let builder = thread::Builder::new().name("devarray-transfer".to_owned()).stack_size(STACK_BYTES);
        if let Ok(thread) = builder.spawn(move || shared.help()) {
            queue.threads += 1;
            let mut threads = lock(&self.threads);
            threads.retain(|thread| !thread.is_finished());
            threads.push(thread);
        }
    }
}

impl<W> Queue<W> {
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
            if let Some(piece) = queue.pieces.pop_front() {
                self.has_pieces.store(!queue.pieces.is_empty(), Ordering::Relaxed);
                self.call(queue, 2);
                piece.help();
                queue = self.look();
            } else {
                queue.asleep += 1;
                queue = wait(&self.called, queue);
                queue.asleep -= 1;
                queue.called = queue.called.saturating_sub(1);
            }
        }
        queue.threads -= 1;
    }

    /// Wakes up to so many threads, if there are pieces that nobody comes for.
    fn call(&self, mut queue: MutexGuard<'_, Queue<W>>, most: usize) {
        let uncalled = queue.pieces.len().saturating_sub(queue.called + queue.looking);
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
        if queue.pieces.is_empty() {
            queue.looking += 1;
            drop(queue);
            look_until(&self.has_pieces, Ordering::Relaxed);
            queue = lock(&self.queue);
            queue.looking -= 1;
        }
        queue
    }
}

impl<W: Work> Piece<W> {
    /// The work, unless somebody else has it.
    fn claim(&self) -> Option<W> {
        let mut state = lock(&self.state);
        if !matches!(*state, State::Waiting(_)) {
            return None;
        }
        match std::mem::replace(&mut *state, State::Claimed) {
            State::Waiting(work) => Some(work),
            State::Claimed | State::Ended(_) => None,
        }
    }

    /// Does the work for whoever waits for it.
    fn help(&self) {
        if let Some(work) = self.claim() {
            let end = catch_unwind(AssertUnwindSafe(|| work.run()));
            *lock(&self.state) = State::Ended(end);
            self.has_ended.store(true, Ordering::Release);
            self.ended.notify_one();
        }
    }

    /// Blocks until the thread that claimed the work is done with it.
    fn wait(&self) -> Result<(), Box<dyn Any + Send>> {
        look_until(&self.has_ended, Ordering::Acquire);
        let mut state = lock(&self.state);
        loop {
            match std::mem::replace(&mut *state, State::Claimed) {
                State::Ended(end) => return end,
                other => *state = other,
            }
            state = wait(&self.ended, state);
        }
    }
}

impl<W: Work> Ticket<W> {
    /// Work that nobody else was told of.
    pub(crate) fn new(work: W) -> Self {
        let state = Mutex::new(State::Waiting(work));
        Self(Some(Arc::new(Piece { state, has_ended: AtomicBool::new(false), ended: Condvar::new() })))
    }

    /// Blocks until the work is done. Does it, if nobody has begun.
    ///
    /// # Panics
    ///
    /// With what the work panicked with.
    pub(crate) fn finish(mut self) {
        let Some(piece) = self.0.take() else { return };
        if let Some(work) = piece.claim() {
            work.run();
        } else if let Err(panic) = piece.wait() {
            resume_unwind(panic);
        }
    }
}

impl<W: Work> Drop for Ticket<W> {
    /// Takes the work back, or waits for the thread that has begun.
    fn drop(&mut self) {
        if let Some(piece) = self.0.take()
            && piece.claim().is_none()
        {
            // A panic of work that nobody wants any more was told of by the panic hook.
            let _ = piece.wait();
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

/// Returns when the flag is set, or after a while.
fn look_until(flag: &AtomicBool, ordering: Ordering) {
    for _ in 0..LOOKS {
        if flag.load(ordering) {
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
