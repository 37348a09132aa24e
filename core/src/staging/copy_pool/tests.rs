//! Each share is done once, a handle that is gone leaves no thread at work, and a panic reaches
//! the waiting caller.

mod calls;

use std::{
    collections::HashSet,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::ThreadId,
};

use super::*;

/// Work whose closure gets the number of the share to do.
struct Task {
    shares: usize,
    run: Box<dyn Fn(usize) + Send + Sync>,
}

impl Task {
    fn of(shares: usize, run: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Self { shares, run: Box::new(run) }
    }

    /// Makes work of one share.
    fn one(run: impl Fn() + Send + Sync + 'static) -> Self {
        Self::of(1, move |_| run())
    }
}

impl Work for Task {
    fn shares(&self) -> usize {
        self.shares
    }

    fn run(&self, share: usize) {
        (self.run)(share);
    }
}

fn pool(most: usize) -> CopyPool<Task> {
    let pool = CopyPool::default();
    pool.set_most(most);
    pool
}

/// A job that reports which thread began it, then runs until it is released.
struct Held {
    begun: Receiver<ThreadId>,
    go: Sender<()>,
    ended: Arc<AtomicUsize>,
}

fn held() -> (Task, Held) {
    let ((say, begun), (go, gate)) = (channel(), channel());
    let gate = Mutex::new(gate);
    let ended = Arc::new(AtomicUsize::new(0));
    let end = Arc::clone(&ended);
    let task = move || {
        say.send(thread::current().id()).expect("the test listens");
        let () = lock(&gate).recv().expect("the test lets go");
        end.fetch_add(1, Ordering::SeqCst);
    };
    (Task::one(task), Held { begun, go, ended })
}

fn counting(count: &Arc<AtomicUsize>) -> Task {
    let count = Arc::clone(count);
    Task::one(move || {
        count.fetch_add(1, Ordering::SeqCst);
    })
}

#[test]
fn each_piece_is_done_once_before_its_finish_returns() {
    for most in [0, 1, 3] {
        let pool = pool(most);
        for _ in 0..200 {
            let counts: Vec<_> = (0..20).map(|_| Arc::new(AtomicUsize::new(0))).collect();
            let handles: Vec<_> = counts.iter().map(|count| pool.give(counting(count))).collect();
            for (handle, count) in handles.into_iter().zip(&counts) {
                handle.finish();
                assert_eq!(count.load(Ordering::SeqCst), 1);
            }
        }
    }
}

#[test]
fn the_caller_does_what_no_thread_has_begun() {
    let me = thread::current().id();
    let pool = pool(1);
    let (task, held) = held();
    let begun = pool.give(task);
    assert_ne!(held.begun.recv().expect("a thread begins"), me);

    let (say, done_by) = channel();
    pool.give(Task::one(move || say.send(thread::current().id()).expect("the test listens"))).finish();
    assert_eq!(done_by.recv().expect("it was done"), me, "the only thread is held");

    held.go.send(()).expect("the job waits");
    begun.finish();
    assert_eq!(held.ended.load(Ordering::SeqCst), 1);
}

#[test]
fn a_dropped_ticket_takes_back_what_nobody_has_begun() {
    let pool = pool(1);
    let (task, held) = held();
    let begun = pool.give(task);
    held.begun.recv().expect("a thread begins");
    let count = Arc::new(AtomicUsize::new(0));
    drop(pool.give(counting(&count)));
    held.go.send(()).expect("the job waits");
    begun.finish();
    drop(pool);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn a_dropped_ticket_waits_for_what_a_thread_has_begun() {
    let pool = pool(2);
    let (task, held) = held();
    let handle = pool.give(task);
    held.begun.recv().expect("a thread begins");
    let go = held.go;
    thread::spawn(move || go.send(()).expect("the job waits"));
    drop(handle);
    assert_eq!(held.ended.load(Ordering::SeqCst), 1);
}

/// The twin of the test above: without the wait, the job runs on after the handle is gone.
#[test]
fn without_the_wait_a_thread_would_go_on() {
    let pool = pool(2);
    let (task, held) = held();
    let handle = pool.give(task);
    held.begun.recv().expect("a thread begins");
    mem::forget(handle);
    assert_eq!(held.ended.load(Ordering::SeqCst), 0, "it is still at work");
    held.go.send(()).expect("the job waits");
}

#[test]
fn a_panic_of_a_thread_reaches_the_caller_and_the_thread_works_on() {
    let pool = pool(1);
    let (task, held) = held();
    let failing = pool.give(Task::one(move || {
        task.run(0);
        panic!("in a thread");
    }));
    let thread = held.begun.recv().expect("a thread begins");
    held.go.send(()).expect("the job waits");
    let panic = catch_unwind(AssertUnwindSafe(|| failing.finish())).expect_err("it panicked");
    assert_eq!(panic.downcast_ref(), Some(&"in a thread"));

    let (task, held) = self::held();
    let next = pool.give(task);
    assert_eq!(held.begun.recv().expect("a thread begins"), thread, "the same one");
    held.go.send(()).expect("the job waits");
    next.finish();
}

#[test]
fn a_panic_that_nobody_waits_for_ends_with_its_ticket() {
    let pool = pool(1);
    let (task, held) = held();
    let failing = pool.give(Task::one(move || {
        task.run(0);
        panic!("in a thread");
    }));
    held.begun.recv().expect("a thread begins");
    held.go.send(()).expect("the job waits");
    drop(failing);
    assert_eq!(held.ended.load(Ordering::SeqCst), 1);
}

/// Returns when this many threads sleep and none looks for work.
fn wait_for_sleep(pool: &CopyPool<Task>, threads: usize) {
    let asleep = || {
        let queue = lock(&pool.shared.queue);
        (queue.asleep, queue.looking) == (threads, 0)
    };
    while !asleep() {
        thread::yield_now();
    }
}

/// While the only thread is asleep, it gets the next job; a second thread starts only while it
/// works.
#[test]
fn a_thread_is_started_only_where_none_has_time() {
    let pool = pool(3);
    let begin = || {
        let (task, held) = held();
        let handle = pool.give(task);
        let by = held.begun.recv().expect("a thread begins");
        (handle, held.go, by)
    };
    let (handle, go, first) = begin();
    go.send(()).expect("the job waits");
    handle.finish();
    for _ in 0..2 {
        wait_for_sleep(&pool, 1);
        let (handle, go, by) = begin();
        assert_eq!(by, first, "it was woken");
        {
            let queue = lock(&pool.shared.queue);
            assert_eq!((queue.threads, queue.asleep, queue.called), (1, 0, 0));
        }
        go.send(()).expect("the job waits");
        handle.finish();
    }
    wait_for_sleep(&pool, 1);
    let (one, go_one, by_one) = begin();
    let (two, go_two, by_two) = begin();
    assert!(by_one == first && by_two != first, "the first has no time");
    assert_eq!(lock(&pool.shared.queue).threads, 2);
    for (handle, go) in [(one, go_one), (two, go_two)] {
        go.send(()).expect("the job waits");
        handle.finish();
    }
    wait_for_sleep(&pool, 2);
}

#[test]
fn there_are_never_more_threads_than_told() {
    let pool = pool(2);
    let (tasks, held): (Vec<_>, Vec<_>) = (0..4).map(|_| held()).unzip();
    let handles: Vec<_> = tasks.into_iter().map(|task| pool.give(task)).collect();
    for held in &held[..2] {
        held.begun.recv().expect("a thread begins");
    }
    assert_eq!((lock(&pool.shared.queue).threads, lock(&pool.threads).len()), (2, 2));
    assert_eq!(format!("{pool:?}"), "CopyPool { threads: 2, most: Some(2) }");
    assert_eq!(format!("{:?}", handles[0]), "JobHandle { .. }");
    assert!(held[2].begun.try_recv().is_err() && held[3].begun.try_recv().is_err());
    pool.set_most(0);
    for held in &held {
        held.go.send(()).expect("the job waits");
    }
    for handle in handles {
        handle.finish();
    }
    for thread in lock(&pool.threads).drain(..) {
        thread.join().expect("it ends because there may be none");
    }
    assert_eq!(lock(&pool.shared.queue).threads, 0);
    let count = Arc::new(AtomicUsize::new(0));
    let jobs = lock(&pool.shared.queue).jobs.len();
    pool.give(counting(&count)).finish();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(lock(&pool.shared.queue).jobs.len(), jobs, "nobody would take it out");
}

/// The thread may be asleep or not.
#[test]
fn threads_end_with_their_pool() {
    for sleeps in [true, false] {
        let pool = pool(3);
        let (task, begun, go, _) = all_held(3);
        let handle = pool.give(task);
        assert_eq!(begun.iter().take(3).count(), 3);
        drop(go);
        handle.finish();
        if sleeps {
            wait_for_sleep(&pool, 3);
        }
        let shared = Arc::downgrade(&pool.shared);
        drop(pool);
        assert!(shared.upgrade().is_none(), "a thread still has it");
    }
}

/// A counter for each share.
fn counts(shares: usize) -> Arc<Vec<AtomicUsize>> {
    Arc::new((0..shares).map(|_| AtomicUsize::new(0)).collect())
}

fn counting_each(counts: &Arc<Vec<AtomicUsize>>) -> Task {
    let counts = Arc::clone(counts);
    Task::of(counts.len(), move |share| {
        counts[share].fetch_add(1, Ordering::SeqCst);
    })
}

#[test]
fn each_share_is_done_once_before_its_finish_returns() {
    for (most, shares) in [(0, 3), (1, 7), (3, 1), (3, 2), (4, 16)] {
        let pool = pool(most);
        for _ in 0..200 {
            let counts: Vec<_> = (0..5).map(|_| counts(shares)).collect();
            let handles: Vec<_> = counts.iter().map(|counts| pool.give(counting_each(counts))).collect();
            for (handle, counts) in handles.into_iter().zip(&counts) {
                handle.finish();
                assert!(counts.iter().all(|count| count.load(Ordering::SeqCst) == 1), "{counts:?}");
            }
        }
    }
}

/// Makes work in which every share reports that it began, then runs until it is released.
fn all_held(shares: usize) -> (Task, Receiver<ThreadId>, Sender<()>, Arc<Vec<AtomicUsize>>) {
    let ((say, begun), (go, gate)) = (channel(), channel::<()>());
    let gate = Mutex::new(gate);
    let ended = counts(shares);
    let end = Arc::clone(&ended);
    let task = Task::of(shares, move |share| {
        say.send(thread::current().id()).expect("the test listens");
        // An error releases all shares that still wait.
        let _ = lock(&gate).recv();
        end[share].fetch_add(1, Ordering::SeqCst);
    });
    (task, begun, go, ended)
}

#[test]
fn threads_do_a_piece_together() {
    let pool = pool(3);
    let (task, begun, go, ended) = all_held(3);
    let handle = pool.give(task);
    let threads: HashSet<_> = (0..3).map(|_| begun.recv().expect("a thread begins")).collect();
    assert!(threads.len() == 3 && !threads.contains(&thread::current().id()), "{threads:?}");
    drop(go);
    handle.finish();
    assert!(ended.iter().all(|count| count.load(Ordering::SeqCst) == 1));
}

#[test]
fn a_dropped_ticket_takes_back_the_shares_that_nobody_has_begun() {
    let pool = pool(2);
    let (task, begun, go, ended) = all_held(5);
    let handle = pool.give(task);
    for _ in 0..2 {
        begun.recv().expect("a thread begins");
    }
    thread::spawn(move || drop(go));
    drop(handle);
    let ended = || ended.iter().map(|count| count.load(Ordering::SeqCst)).sum::<usize>();
    let done = ended();
    assert!((2..=5).contains(&done), "the two that were begun were waited for");
    drop(pool);
    assert_eq!(ended(), done, "nobody goes on");
}

#[test]
fn a_panic_of_one_share_leaves_the_others_to_be_done() {
    for most in [0, 2] {
        let pool = pool(most);
        let counts = counts(6);
        let counted = Arc::clone(&counts);
        let handle = pool.give(Task::of(6, move |share| {
            counted[share].fetch_add(1, Ordering::SeqCst);
            assert!(share != 2, "share two");
        }));
        let panic = catch_unwind(AssertUnwindSafe(|| handle.finish())).expect_err("it panicked");
        assert_eq!(panic.downcast_ref(), Some(&"share two"));
        assert!(counts.iter().all(|count| count.load(Ordering::SeqCst) == 1), "{counts:?}");
    }
}

/// Panics when it is dropped, unless it was taken out.
struct Trap(bool);

impl Drop for Trap {
    fn drop(&mut self) {
        assert!(!self.0 || thread::panicking(), "dropped");
    }
}

#[test]
fn panics_that_panic_when_dropped_do_not_end_a_wait_early() {
    let pool = pool(1);
    let (task, held) = held();
    let first = AtomicBool::new(true);
    let handle = pool.give(Task::of(4, move |_| {
        if first.swap(false, Ordering::SeqCst) {
            task.run(0);
        } else {
            std::panic::panic_any(Trap(true));
        }
    }));
    held.begun.recv().expect("a thread begins");
    let go = held.go;
    thread::spawn(move || {
        thread::sleep(std::time::Duration::from_millis(20));
        go.send(()).expect("the share waits");
    });
    let panic = catch_unwind(AssertUnwindSafe(|| handle.finish())).expect_err("it panicked");
    assert_eq!(held.ended.load(Ordering::SeqCst), 1, "the thread was waited for");
    panic.downcast::<Trap>().expect("of a share").0 = false;
}
