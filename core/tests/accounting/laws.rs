//! Laws of the ledger of every backend's context. They are generic over the device; each is a test
//! of the simulator, of the fake driver, and of hardware.

use std::{
    panic::{AssertUnwindSafe, Location, catch_unwind},
    sync::{Arc, Mutex},
};

use devarray::{
    Array, Context, Device, Error, ManagedArray, MappedArray,
    backend::{ManagedMemory, MapHost, PoolControl, RegisterHost},
    memory::{AllocationRecord, KindStatistics, MemoryHook, MemoryKind, MemoryLimit, PeakScope, tagged},
};

/// Every kind of memory, and control of the pool.
pub(crate) trait AllKinds: MapHost + RegisterHost + ManagedMemory + PoolControl {}
impl<D: MapHost + RegisterHost + ManagedMemory + PoolControl> AllKinds for D {}

/// The kind, bytes, tag and line of every live allocation.
fn live<D: Device>(context: &Context<D>) -> Vec<(MemoryKind, usize, Option<&'static str>, u32)> {
    let told = |record: &AllocationRecord| {
        assert_eq!(record.location.file(), file!());
        (record.kind, record.len_bytes, record.tag, record.location.line())
    };
    context.live_allocations().iter().map(told).collect()
}

/// The line of the caller.
#[track_caller]
fn line() -> u32 {
    Location::caller().line()
}

/// Every kind is named, with its bytes, the tag in force, and the line of the call; and it is named
/// no more when it is dropped.
pub(crate) fn the_ledger_names_every_allocation<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    assert_eq!(live(context), []);
    let (array, first) = (Array::<f32, D>::zeros(&stream, &[10]).unwrap(), line());
    let pinned = tagged("host", || (context.pinned::<u8>(100).unwrap(), line()));
    let (mapped, third) = (MappedArray::<u16, D>::zeros(context, &[20]).unwrap(), line());
    let (managed, fourth) = (ManagedArray::<u64, D>::zeros(context, &[30]).unwrap(), line());
    let all = [
        (MemoryKind::Device, 40, None, first),
        (MemoryKind::Pinned, 100, Some("host"), pinned.1),
        (MemoryKind::Mapped, 40, None, third),
        (MemoryKind::Managed, 240, None, fourth),
    ];
    assert_eq!(live(context), all);
    let mut own = vec![0_u8; 50];
    tagged("own", || {
        let due = (MemoryKind::Registered, 50, Some("own"), line() + 1);
        context.with_pinned(&mut own, |_| assert_eq!(live(context), [&all[..], &[due]].concat())).unwrap();
    });
    assert_eq!(live(context), all);
    // An array without elements is no allocation.
    let empty = Array::<f32, D>::zeros(&stream, &[0, 3]).unwrap();
    assert_eq!(live(context), all);
    drop((array, mapped, empty));
    assert_eq!(live(context), [all[1], all[3]]);
    drop((pinned, managed));
    stream.synchronize().unwrap();
    assert_eq!(live(context), []);
    // A place that was given up is taken again by another allocation.
    let again = Array::<u8, D>::zeros(&stream, &[7]).unwrap();
    assert_eq!(live(context), [(MemoryKind::Device, 7, None, line() - 1)]);
    assert_eq!(context.live_allocations()[0].number, 2);
    drop(again);
}

/// Tags nest, and end on unwind.
pub(crate) fn tags_nest_and_end<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let make = || Array::<u8, D>::zeros(&stream, &[1]).unwrap();
    let tag = |array: Array<u8, D>| {
        let tag = context.live_allocations().last().unwrap().tag;
        drop(array);
        tag
    };
    let inside = tagged("outer", || {
        let inner = tagged("inner", || tag(make()));
        let unwound = catch_unwind(AssertUnwindSafe(|| tagged("unwound", || -> () { panic!("on purpose") })));
        assert!(unwound.is_err());
        (inner, tag(make()))
    });
    assert_eq!(inside, (Some("inner"), Some("outer")));
    assert_eq!(tag(make()), None);
}

/// Counts, bytes and peaks of a kind equal sums made by hand.
pub(crate) fn statistics_are_exact<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let of = |kind| context.memory_statistics().of(kind);
    let sums = |of: KindStatistics| (of.live, of.live_bytes, of.peak_bytes, of.allocations, of.frees);
    let kept: Vec<_> = [30, 20, 10].map(|n| Array::<u8, D>::zeros(&stream, &[n]).unwrap()).into();
    drop(kept);
    let one = Array::<u8, D>::zeros(&stream, &[5]).unwrap();
    assert_eq!(sums(of(MemoryKind::Device)), (1, 5, 60, 4, 3));
    let pinned = context.pinned::<u64>(8).unwrap();
    drop(context.pinned::<u64>(2).unwrap());
    assert_eq!(sums(of(MemoryKind::Pinned)), (1, 64, 80, 2, 1));
    assert_eq!(sums(of(MemoryKind::Mapped)), (0, 0, 0, 0, 0));
    assert_eq!(context.memory_statistics().live_bytes(), 69);
    drop((one, pinned));
    assert_eq!(context.memory_statistics().live_bytes(), 0);
}

/// A scope sees the peak since it began, whatever other scopes began, ended or were forgotten
/// meanwhile.
pub(crate) fn peak_scopes_nest_and_overlap<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let make = |n| Array::<u8, D>::zeros(&stream, &[n]).unwrap();
    let peak = |scope: &PeakScope<'_, D>| scope.peak_bytes(MemoryKind::Device);
    drop(make(1000));
    let kept = make(10);
    let outer = context.peak_scope();
    assert_eq!(peak(&outer), 10);
    drop(make(100));
    let inner = context.peak_scope();
    drop(make(50));
    assert_eq!((peak(&outer), peak(&inner)), (110, 60));
    drop(outer);
    std::mem::forget(context.peak_scope());
    drop(make(70));
    drop(kept);
    let late = context.peak_scope();
    assert_eq!((peak(&inner), peak(&late)), (80, 0));
    assert_eq!(context.memory_statistics().of(MemoryKind::Device).peak_bytes, 1000);
    drop(context.pinned::<u8>(33).unwrap());
    assert_eq!((late.peak_bytes(MemoryKind::Pinned), peak(&late)), (33, 0));
}

/// An allocation over a limit is refused. The error says so and lists the live allocations. Nothing
/// changes.
pub(crate) fn a_limit_is_hard<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let make = |n| Array::<u8, D>::zeros(&stream, &[n]);
    context.set_memory_limit(MemoryLimit::Bytes(1000)).unwrap();
    let weights = tagged("weights", || [make(400).unwrap(), make(200).unwrap()]);
    let rest = make(400).unwrap();
    let before = context.memory_statistics();
    let refused = make(1).unwrap_err();
    let Error::OutOfMemory { requested_bytes, free_bytes, total_bytes, limited, live, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!((*requested_bytes, *free_bytes, *total_bytes, *limited), (1, Some(0), Some(1000), true));
    let live: Vec<_> = live.iter().map(|of| (of.tag, of.allocations, of.len_bytes)).collect();
    assert_eq!(live, [(Some("weights"), 2, 600), (None, 1, 400)]);
    let words = "out of memory: 1 bytes requested, 0 left of a limit of 1000; live: 600 bytes in 2 weights, \
                 400 bytes in 1 untagged";
    assert!(refused.to_string().ends_with(words), "{refused}");
    assert!(refused.is_retryable());
    assert_eq!(context.memory_statistics(), before);
    assert!(make(usize::MAX / 2).is_err(), "no sum wraps around");
    drop(rest);
    drop(make(400).unwrap());
    // Memory that is over a new limit stays.
    context.set_memory_limit(MemoryLimit::Bytes(10)).unwrap();
    assert!(make(1).is_err());
    assert_eq!(weights[0].to_vec(&stream).unwrap(), [0; 400]);
    context.set_memory_limit(MemoryLimit::Fraction(0.5)).unwrap();
    let half = context.device().memory().unwrap().total_bytes / 2;
    assert!(make(half - 599).unwrap_err().to_string().contains(&format!("of a limit of {half}")));
    for nothing in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        context.set_memory_limit(MemoryLimit::Fraction(nothing)).unwrap();
        assert!(make(1).is_err(), "{nothing}");
    }
    context.set_memory_limit(MemoryLimit::Unlimited).unwrap();
    let _ = make(1).unwrap();
}

/// Notes events as text, and panics on demand.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) events: Mutex<Vec<String>>,
    panics: bool,
}

impl Told {
    fn note(&self, event: String) {
        self.events.lock().unwrap().push(event);
        assert!(!self.panics, "on purpose");
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl MemoryHook for Told {
    fn allocated(&self, record: &AllocationRecord) {
        self.note(format!("+{} {}", record.kind, record.len_bytes));
    }

    fn freed(&self, record: &AllocationRecord) {
        self.note(format!("-{} {}", record.kind, record.len_bytes));
    }

    fn closed(&self, live: &[AllocationRecord]) {
        let live: Vec<_> = live.iter().map(|record| record.len_bytes).collect();
        self.note(format!("closed with {live:?}"));
    }
}

/// Each allocation and each free of each kind is reported once, in order.
pub(crate) fn hooks_are_told_of_each<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let told = Arc::new(Told::default());
    context.set_memory_hook(Some(told.clone()));
    let array = Array::<u8, D>::zeros(&stream, &[10]).unwrap();
    let mapped = MappedArray::<u8, D>::zeros(context, &[20]).unwrap();
    drop(array);
    context.with_pinned(&mut [0_u8; 30], |_| ()).unwrap();
    drop(ManagedArray::<u8, D>::zeros(context, &[40]).unwrap());
    drop(context.pinned::<u8>(50).unwrap());
    assert!(Array::<u8, D>::zeros(&stream, &[usize::MAX / 2]).is_err());
    drop(mapped);
    let due = "+device 10, +mapped 20, -device 10, +registered 30, -registered 30, +managed 40, -managed 40, \
               +pinned 50, -pinned 50, -mapped 20";
    assert_eq!(told.take().join(", "), due);
    context.set_memory_hook(None);
    drop(Array::<u8, D>::zeros(&stream, &[10]).unwrap());
    assert!(told.take().is_empty());
}

/// A panic of a hook is reported, and changes nothing else.
pub(crate) fn a_hook_may_panic<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let told = Arc::new(Told { panics: true, ..Told::default() });
    context.set_memory_hook(Some(told));
    let array = Array::from_slice(&stream, &[3], &[1, 2, 3]).unwrap();
    let pinned = context.pinned_from(&[7_u8; 4]).unwrap();
    assert_eq!((array.to_vec(&stream).unwrap(), pinned.to_vec()), (vec![1, 2, 3], vec![7; 4]));
    // A hook may also panic while a panic unwinds already.
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _held = (array, pinned);
        panic!("another");
    }));
    assert!(unwound.is_err());
    context.set_memory_hook(None);
    let errors = context.take_errors();
    let operations: Vec<_> = errors
        .iter()
        .map(|error| match error {
            Error::HookPanicked { operation, message, .. } => {
                assert_eq!(message, "on purpose");
                *operation
            }
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(operations, ["allocated", "allocated", "freed", "freed"]);
    assert_eq!(context.live_allocations(), []);
}

/// A hook may use the context, streams and arrays: no lock is held. A hook does not hear of its own
/// allocations.
pub(crate) fn a_hook_may_use_the_context<D: AllKinds>(context: &Context<D>) {
    struct Curious<D: Device>(Mutex<Option<Context<D>>>, Mutex<Vec<usize>>);
    impl<D: Device> MemoryHook for Curious<D> {
        fn allocated(&self, record: &AllocationRecord) {
            let Some(context) = self.0.lock().unwrap().clone() else { return };
            assert!(context.live_allocations().contains(record));
            let stream = context.stream().unwrap();
            let array = Array::<u8, D>::zeros(&stream, &[3]).unwrap();
            assert_eq!(array.to_vec(&stream).unwrap(), [0; 3]);
            drop(context.pinned::<u8>(4).unwrap());
            self.1.lock().unwrap().push(record.len_bytes);
        }
    }
    let hook = Arc::new(Curious(Mutex::new(Some(context.clone())), Mutex::default()));
    context.set_memory_hook(Some(hook.clone()));
    let stream = context.stream().unwrap();
    drop(Array::<u8, D>::zeros(&stream, &[10]).unwrap());
    drop(context.pinned::<u8>(20).unwrap());
    assert_eq!(*hook.1.lock().unwrap(), [10, 20]);
    context.set_memory_hook(None);
}

/// The pool keeps freed memory, reports it, and gives it back when asked to or when an allocation
/// waits for it; it never gives back memory in use.
pub(crate) fn the_pool_can_be_asked_and_trimmed<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let pool = || context.pool_statistics().unwrap();
    let (large, small) = (1 << 20, 1 << 16);
    let kept = Array::full(&stream, &[small], 7_u8).unwrap();
    stream.synchronize().unwrap();
    context.trim_pool(0).unwrap();
    let least = pool();
    assert!(least.used_bytes >= small && least.reserved_bytes >= least.used_bytes);
    context.reset_pool_peaks().unwrap();
    assert_eq!(
        (pool().peak_used_bytes, pool().peak_reserved_bytes),
        (least.used_bytes, least.reserved_bytes)
    );
    let other = Array::<u8, D>::zeros(&stream, &[large]).unwrap();
    drop(other);
    stream.synchronize().unwrap();
    assert!(pool().reserved_bytes >= large && pool().used_bytes == least.used_bytes);
    assert!(pool().peak_used_bytes >= large + small && pool().peak_reserved_bytes >= large + small);
    context.trim_pool(0).unwrap();
    assert_eq!(pool().reserved_bytes, least.reserved_bytes);
    assert_eq!(kept.to_vec(&stream).unwrap(), vec![7; small]);
    context.set_pool_release_threshold(0).unwrap();
    context.set_pool_release_threshold(usize::MAX).unwrap();
}
