//! Laws of every backend's context about memory that is given back later, and about shortage of
//! memory. They are generic over the device; each is a test of the simulator, of the fake driver,
//! and of hardware.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use devarray::{
    Array, Context, Device, Error, ManagedArray, MappedArray, PinnedLimits,
    backend::{ManagedMemory, MapHost, PoolControl, RegisterHost},
    memory::{AllocationState, MemoryHook, MemoryKind, MemoryLimit, ReleaseLimits, tagged},
};

/// Every kind of memory, and control of the pool.
pub(crate) trait AllKinds: MapHost + RegisterHost + ManagedMemory + PoolControl {}
impl<D: MapHost + RegisterHost + ManagedMemory + PoolControl> AllKinds for D {}

/// The number of allocations that wait, and their bytes.
fn pending<D: Device>(context: &Context<D>) -> (usize, usize) {
    let pending = context.pending_releases();
    (pending.count, pending.len_bytes)
}

fn bytes<D: Device>(context: &Context<D>, len: usize) -> Array<u8, D> {
    Array::zeros(&context.stream().unwrap(), &[len]).unwrap()
}

/// Kept from Numba: ten may wait; the eleventh makes all of them be given back. One byte more than
/// may wait has the same effect, and the last byte allowed does not.
pub(crate) fn limits_are_strict<D: AllKinds>(context: &Context<D>) {
    drop(bytes(context, 100));
    assert_eq!(pending(context), (0, 0), "nothing waits unless it is asked for");
    context.set_release_limits(ReleaseLimits::new(10, 10_000));
    for count in 1..=10 {
        drop(bytes(context, 10));
        assert_eq!(pending(context), (count, 10 * count));
    }
    drop(bytes(context, 10));
    assert_eq!(pending(context), (0, 0), "the eleventh");
    drop(bytes(context, 9_999));
    drop(bytes(context, 1));
    assert_eq!(pending(context), (2, 10_000), "exactly at the limit");
    drop(bytes(context, 1));
    assert_eq!(pending(context), (0, 0), "a byte more");
    drop(bytes(context, 10_001));
    assert_eq!(pending(context), (0, 0), "alone too large");
    // New limits apply at once.
    drop([bytes(context, 1), bytes(context, 2), bytes(context, 3)]);
    context.set_release_limits(ReleaseLimits::new(3, 10_000));
    assert_eq!(pending(context), (3, 6));
    context.set_release_limits(ReleaseLimits::new(2, 10_000));
    assert_eq!(pending(context), (0, 0));
    context.set_release_limits(ReleaseLimits::default());
    drop(bytes(context, 1));
    assert_eq!(pending(context), (0, 0));
}

/// Fixed: bytes of every kind count, pinned memory too; memory that the pinned pool keeps need not
/// wait; memory that the program lends for the time of a call is released at once.
pub(crate) fn every_kind_counts<D: AllKinds>(context: &Context<D>) {
    context.set_release_limits(ReleaseLimits::new(100, usize::MAX));
    drop(context.pinned::<u8>(1000).unwrap());
    assert_eq!(pending(context), (1, 1000));
    drop(MappedArray::<u8, D>::zeros(context, &[200]).unwrap());
    drop(ManagedArray::<u8, D>::zeros(context, &[30]).unwrap());
    drop(bytes(context, 4));
    assert_eq!(pending(context), (4, 1234));
    context.with_pinned(&mut [0_u8; 50], |_| ()).unwrap();
    drop(bytes(context, 0));
    assert_eq!(pending(context), (4, 1234));
    // Waiting memory is live, and is listed as waiting.
    let named: Vec<_> = context.live_allocations().iter().map(|r| (r.kind, r.len_bytes, r.state)).collect();
    let due = [
        (MemoryKind::Device, 4, AllocationState::Pending),
        (MemoryKind::Pinned, 1000, AllocationState::Pending),
        (MemoryKind::Mapped, 200, AllocationState::Pending),
        (MemoryKind::Managed, 30, AllocationState::Pending),
    ];
    assert_eq!(named, due);
    assert_eq!(context.memory_statistics().live_bytes(), 1234);
    context.release_pending();
    assert_eq!((pending(context), context.memory_statistics().live_bytes()), ((0, 0), 0));
    // Keeping it for reuse costs nothing.
    context.set_pinned_limits(PinnedLimits::new(usize::MAX, 1 << 20));
    drop(context.pinned::<u8>(1000).unwrap());
    assert_eq!(pending(context), (0, 0));
    assert!(context.host_memory_statistics().idle_bytes >= 1000);
    context.set_pinned_limits(PinnedLimits::default());
    context.set_release_limits(ReleaseLimits::default());
}

/// Kept: scopes nest, put off any amount of memory, and end on unwind. Fixed: memory over the
/// limits is given back when the outermost scope ends, and an explicit flush works inside.
pub(crate) fn deferrals_nest_and_end<D: AllKinds>(context: &Context<D>) {
    context.set_release_limits(ReleaseLimits::new(2, 1000));
    context.defer_cleanup(|| {
        for _ in 0..20 {
            drop(bytes(context, 100));
        }
        assert_eq!(pending(context), (20, 2000));
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            context.defer_cleanup(|| {
                drop(bytes(context, 100));
                panic!("on purpose");
            })
        }));
        assert!(unwound.is_err());
        assert_eq!(pending(context), (21, 2100), "the outer scope goes on");
        context.release_pending();
        assert_eq!(pending(context), (0, 0));
        drop([bytes(context, 1), bytes(context, 2), bytes(context, 3)]);
        assert_eq!(pending(context), (3, 6));
    });
    assert_eq!(pending(context), (0, 0), "three are over the limit of two");
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        context.defer_cleanup(|| {
            let _held = [bytes(context, 1), bytes(context, 2)];
            panic!("on purpose");
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(pending(context), (2, 3), "two are not");
    drop(bytes(context, 1));
    assert_eq!(pending(context), (0, 0), "and the limits hold again");
    context.set_release_limits(ReleaseLimits::default());
    context.defer_cleanup(|| drop(bytes(context, 7)));
    assert_eq!(pending(context), (0, 0), "without limits, nothing waits any longer");
}

/// Waiting memory keeps its bytes: work in flight still reads them.
pub(crate) fn work_in_flight_is_not_disturbed<D: AllKinds>(context: &Context<D>) {
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    context.set_release_limits(ReleaseLimits::new(1, usize::MAX));
    let mut copies = Vec::new();
    for round in 0..20_u32 {
        let array = Array::full(&one, &[100], round).unwrap();
        let mut copy = Array::<u32, D>::uninit(&two, &[100]).unwrap();
        copy.view_mut().copy_from(&two, &array.view()).unwrap();
        copies.push(copy);
        drop(array);
    }
    drop(one);
    for (round, copy) in (0..).zip(&copies) {
        assert_eq!(copy.to_vec(&two).unwrap(), [round; 100]);
    }
    drop(copies);
    context.set_release_limits(ReleaseLimits::default());
}

/// Fixed: waiting memory is given back when memory is short, also inside a deferral, whether the
/// device or a limit is short.
pub(crate) fn shortage_flushes<D: AllKinds>(context: &Context<D>) {
    let most = context.device().memory().unwrap().free_bytes;
    for limit in [MemoryLimit::Unlimited, MemoryLimit::Bytes(1000)] {
        context.set_memory_limit(limit).unwrap();
        let len = if limit == MemoryLimit::Unlimited { most / 3 * 2 } else { 600 };
        context.defer_cleanup(|| {
            drop(bytes(context, len));
            assert_eq!(pending(context), (1, len));
            assert_eq!(bytes(context, len).len(), len);
            assert_eq!(pending(context), (1, len), "the first was given back, the second waits");
        });
        assert_eq!(pending(context), (0, 0));
    }
    context.set_memory_limit(MemoryLimit::Unlimited).unwrap();
    context.set_pinned_limits(PinnedLimits::new(1000, 0));
    context.defer_cleanup(|| {
        drop(context.pinned::<u8>(900).unwrap());
        assert_eq!(context.pinned::<u8>(901).unwrap().len(), 901);
    });
    context.set_pinned_limits(PinnedLimits::default());
}

/// A program's cache, which it drops when memory is short.
struct Cache<D: Device>(Mutex<Vec<Array<u8, D>>>, Mutex<Vec<String>>);

impl<D: Device> MemoryHook for Cache<D> {
    fn out_of_memory(&self, error: &Error) {
        self.1.lock().unwrap().push(error.to_string());
        self.0.lock().unwrap().clear();
    }
}

/// The program is asked once, with no lock held, and the memory that it gives back is used.
pub(crate) fn the_program_is_asked<D: AllKinds>(context: &Context<D>) {
    let cache = Arc::new(Cache(Mutex::default(), Mutex::default()));
    context.set_memory_hook(Some(cache.clone()));
    context.set_memory_limit(MemoryLimit::Bytes(1000)).unwrap();
    let held = tagged("cache", || [bytes(context, 300), bytes(context, 400)]);
    cache.0.lock().unwrap().extend(held);
    // The program is also asked where giving back is put off.
    let array = context.defer_cleanup(|| bytes(context, 800));
    let asked = std::mem::take(&mut *cache.1.lock().unwrap());
    assert_eq!(asked.len(), 1);
    let words = "out of memory: 800 bytes requested, 300 left of a limit of 1000; live: 700 bytes in 2 cache";
    assert!(asked[0].ends_with(words), "{}", asked[0]);
    let stream = context.stream().unwrap();
    assert!(Array::<u8, D>::zeros(&stream, &[300]).is_err());
    assert_eq!(cache.1.lock().unwrap().len(), 1, "once for each allocation");
    assert_eq!(array.to_vec(&stream).unwrap(), [0; 800]);
    drop(array);
    context.set_memory_limit(MemoryLimit::Unlimited).unwrap();
    context.set_memory_hook(None);
}

/// An allocation that finally fails says how much memory there was and who holds it; nothing else
/// happened, and the device goes on.
pub(crate) fn running_out_says_who_holds_what<D: AllKinds>(context: &Context<D>) {
    let stream = context.stream().unwrap();
    let room = context.device().memory().unwrap();
    let weights = tagged("weights", || Array::full(&stream, &[300], 7_u8).unwrap());
    let other = tagged("other", || [bytes(context, 100), bytes(context, 400)]);
    let before = (context.memory_statistics(), context.live_allocations());
    for _ in 0..3 {
        let error = Array::<u8, D>::zeros(&stream, &[room.total_bytes + 1]).unwrap_err();
        let Error::OutOfMemory { requested_bytes, free_bytes, total_bytes, limited, live, .. } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (*requested_bytes, *total_bytes, *limited),
            (room.total_bytes + 1, Some(room.total_bytes), false)
        );
        assert!(free_bytes.is_some_and(|free| free < room.total_bytes));
        let live: Vec<_> = live.iter().map(|of| (of.tag, of.allocations, of.len_bytes)).collect();
        assert_eq!(live, [(Some("other"), 2, 500), (Some("weights"), 1, 300)]);
        assert!(error.is_retryable() && !error.is_sticky());
        assert_eq!((context.memory_statistics(), context.live_allocations()), before);
        assert_eq!(weights.to_vec(&stream).unwrap(), [7; 300]);
    }
    drop(other);
}
