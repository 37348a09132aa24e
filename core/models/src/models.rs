//! The models. Each is run under every order of its threads with few preemptions, and panics where
//! a law does not hold; the model itself panics on deadlocks and on accesses that nothing orders.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use loom::{cell::UnsafeCell, thread};

use crate::{
    Context, Error,
    backend::{Device, HostBuffer, HostFlags},
    copy_pool::{CopyPool, Work},
    memory::{AllocationRecord, Pending, hook::MemoryHook, release::ReleaseLimits},
    pinned_pool::{PinnedLimits, Source},
};

/// Runs a model.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Bytes that each share of a job writes without asking anybody.
struct Bytes(loom::sync::Arc<Vec<UnsafeCell<u8>>>);

// SAFETY: shares write to different bytes; that they do is what is shown.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    fn new(shares: usize) -> Self {
        Self(loom::sync::Arc::new((0..shares).map(|_| UnsafeCell::new(0)).collect()))
    }

    fn share(&self) -> Self {
        Self(loom::sync::Arc::clone(&self.0))
    }

    /// Their bytes, read as the caller of a copy reads them.
    fn read(&self) -> Vec<u8> {
        // SAFETY: nobody writes any more; the model panics if somebody does.
        self.0.iter().map(|byte| byte.with(|byte| unsafe { *byte })).collect()
    }

    /// Gives them to somebody else.
    fn overwrite(&self) {
        // SAFETY: nobody uses them any more; the model panics if somebody does.
        self.0.iter().for_each(|byte| byte.with_mut(|byte| unsafe { *byte = 9 }));
    }
}

impl Work for Bytes {
    fn shares(&self) -> usize {
        self.0.len()
    }

    fn run(&self, share: usize) {
        // SAFETY: nobody else has this share; the model panics if somebody does.
        self.0[share].with_mut(|byte| unsafe { *byte += 1 });
    }
}

fn pool(most: usize) -> CopyPool<Bytes> {
    let pool = CopyPool::default();
    pool.set_most(most);
    pool
}

/// Whoever finishes a job sees what every thread did of it, each share once; and the pool ends.
pub(crate) fn a_job_is_done_once_and_seen() {
    explore(3, || {
        let (pool, bytes) = (pool(1), Bytes::new(2));
        pool.give(bytes.share()).finish();
        assert_eq!(bytes.read(), [1, 1]);
    });
}

/// Two threads besides the caller.
pub(crate) fn threads_share_a_job() {
    explore(2, || {
        let (pool, bytes) = (pool(2), Bytes::new(3));
        pool.give(bytes.share()).finish();
        assert_eq!(bytes.read(), [1, 1, 1]);
    });
}

/// When a handle is dropped, no thread uses the memory any more.
pub(crate) fn a_dropped_job_is_over() {
    explore(3, || {
        let (pool, bytes) = (pool(1), Bytes::new(2));
        drop(pool.give(bytes.share()));
        assert!(bytes.read().iter().all(|&times| times <= 1));
        bytes.overwrite();
    });
}

/// Two jobs, one after the other: threads that sleep or look in between are no harm.
pub(crate) fn threads_are_kept() {
    explore(2, || {
        let (pool, bytes) = (pool(1), [Bytes::new(1), Bytes::new(1)]);
        for bytes in &bytes {
            pool.give(bytes.share()).finish();
            assert_eq!(bytes.read(), [1]);
        }
    });
}

/// Two callers at once.
pub(crate) fn callers_share_threads() {
    explore(2, || {
        let pool = loom::sync::Arc::new(pool(1));
        let other = {
            let pool = loom::sync::Arc::clone(&pool);
            thread::spawn(move || {
                let bytes = Bytes::new(1);
                pool.give(bytes.share()).finish();
                assert_eq!(bytes.read(), [1]);
            })
        };
        let bytes = Bytes::new(1);
        let handle = pool.give(bytes.share());
        handle.finish();
        assert_eq!(bytes.read(), [1]);
        other.join().expect("the other caller");
    });
}

#[derive(Debug)]
pub(crate) struct Host;

#[derive(Debug)]
pub(crate) struct Memory(usize);

impl Device for Host {
    type Buffer = ();
    type HostBuffer = Memory;
}

impl HostBuffer for Memory {
    fn len_bytes(&self) -> usize {
        self.0
    }
}

/// Counts, and changes hooks from within.
#[derive(Default)]
struct Hook {
    told: AtomicUsize,
    context: std::sync::Mutex<Option<std::sync::Weak<crate::context::ContextCore<Host>>>>,
}

impl MemoryHook for Hook {
    fn allocated(&self, _: &AllocationRecord) {
        self.told.fetch_add(1, Relaxed);
        // The lock of the test is not the model's: it is given back before the model may change
        // threads.
        let context = self.context.lock().unwrap().take();
        if let Some(core) = context.and_then(|core| core.upgrade()) {
            Context(core).set_memory_hook(None);
        }
    }
}

const RECORD: AllocationRecord = AllocationRecord { len_bytes: 1 };

/// Hooks are set and taken away at once by two threads: then the last of them is told, or nobody
/// is.
pub(crate) fn the_last_hook_is_told() {
    explore(3, || {
        let (context, hook) = (Context::<Host>::new(), Arc::new(Hook::default()));
        let other = {
            let context = Context(Arc::clone(&context.0));
            thread::spawn(move || context.set_memory_hook(None))
        };
        context.set_memory_hook(Some(hook.clone()));
        other.join().expect("the other thread");
        let before = hook.told.load(Relaxed);
        context.0.watch.allocated(&RECORD);
        let told = hook.told.load(Relaxed) - before;
        // The context's own reference is there as long as it is set.
        assert_eq!(told, Arc::strong_count(&hook) - 1, "whoever is set is told");
    });
}

/// A hook may change hooks.
pub(crate) fn a_hook_changes_hooks() {
    explore(3, || {
        let (context, hook) = (Context::<Host>::new(), Arc::new(Hook::default()));
        *hook.context.lock().unwrap() = Some(Arc::downgrade(&context.0));
        context.set_memory_hook(Some(hook.clone()));
        let other = {
            let context = Context(Arc::clone(&context.0));
            thread::spawn(move || context.0.watch.allocated(&RECORD))
        };
        context.0.watch.allocated(&RECORD);
        other.join().expect("the other thread");
        assert!((1..=2).contains(&hook.told.load(Relaxed)));
    });
}

/// Memory of the host, as much as is counted.
struct Driver(Arc<AtomicUsize>);

impl Source<Host> for Driver {
    fn alloc(&self, len_bytes: NonZeroUsize) -> crate::Result<Memory> {
        // The driver takes its time.
        thread::yield_now();
        self.0.fetch_add(len_bytes.get(), Relaxed);
        Ok(Memory(len_bytes.get()))
    }
}

/// Threads that ask at once never hold more than the limit together, and one of them is served.
pub(crate) fn limits_hold_for_threads_together() {
    explore(3, || {
        let context = Context::<Host>::new();
        context.set_pinned_limits(PinnedLimits::new(100, 0));
        let all = Arc::new(AtomicUsize::new(0));
        let ask = |context: &Context<Host>, all: &Arc<AtomicUsize>| {
            let len_bytes = NonZeroUsize::new(60).expect("not zero");
            context.0.pinned.acquire("model", len_bytes, HostFlags::default(), &Driver(Arc::clone(all)))
        };
        let other = {
            let (context, all) = (Context(Arc::clone(&context.0)), Arc::clone(&all));
            thread::spawn(move || ask(&context, &all).map(drop))
        };
        let mine = ask(&context, &all);
        // Mine is still held, so the other one, if served, had given back before.
        let held = context.host_memory_statistics().pinned_bytes;
        assert!(held <= 100, "{held} bytes are held");
        let other = other.join().expect("the other thread");
        assert!(mine.is_ok() || other.is_ok());
        assert!(matches!(&mine, Ok(_) | Err(Error::Limited)));
        drop(mine);
        assert_eq!(context.host_memory_statistics().pinned_bytes, 0);
    });
}

/// Memory that waits for the end of a call does not stay behind when it has ended.
pub(crate) fn nothing_is_put_off_for_good() {
    explore(3, || {
        let (context, dropped) = (Context::<Host>::new(), Arc::new(()));
        let other = {
            let (context, owner) = (Context(Arc::clone(&context.0)), Arc::clone(&dropped));
            thread::spawn(move || {
                if context.0.releases.is_deferring() {
                    drop(context.0.releases.defer(Pending::Owner(Box::new(owner)), 1));
                }
            })
        };
        context.defer_cleanup(thread::yield_now);
        other.join().expect("the other thread");
        assert_eq!((context.pending_releases().count, Arc::strong_count(&dropped)), (0, 1));
    });
}

/// Limits are set and taken away at once by two threads: what is asked without the lock is what
/// the lock protects.
pub(crate) fn limits_of_releases_are_seen() {
    explore(3, || {
        let context = Context::<Host>::new();
        let other = {
            let context = Context(Arc::clone(&context.0));
            thread::spawn(move || context.set_release_limits(ReleaseLimits::default()))
        };
        context.set_release_limits(ReleaseLimits::new(4, 100));
        other.join().expect("the other thread");
        let asked = context.0.releases.is_deferring();
        let waits = context.0.releases.defer(Pending::Owner(Box::new(())), 1).is_none();
        assert_eq!(asked, waits);
    });
}
