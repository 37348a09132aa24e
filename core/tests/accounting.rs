//! The ledger on the simulator: its laws under every schedule, failures of calls, and what it
//! reports in the end.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "accounting/laws.rs"]
mod laws;
use super::schedules;
use std::sync::{Arc, Mutex};

use devarray::{
    Array, Context, Error, ManagedArray, MappedArray, PinnedLimits,
    backend::{Capabilities, Capability},
    memory::{AllocationRecord, AllocationState, MemoryHook, MemoryKind, MemoryLimit, tagged},
};
use devarray_mock::{MockDevice, Schedule, Site};
use schedules::everywhere;

/// The memory of each device.
const MEMORY_BYTES: usize = 1 << 24;

laws! { MEMORY_BYTES:
    the_ledger_names_every_allocation
    tags_nest_and_end
    statistics_are_exact
    peak_scopes_nest_and_overlap
    a_limit_is_hard
    hooks_are_told_of_each
    a_hook_may_panic
    a_hook_may_use_the_context
    the_pool_can_be_asked_and_trimmed
}

fn planned(operation: &'static str) -> Error {
    Error::Driver { backend: "mock", operation, code: 999, name: "PLANNED".into() }
}

#[test]
fn what_failed_to_be_allocated_is_in_no_ledger() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let calls: [(Site, &dyn Fn() -> devarray::Result<()>); 5] = [
        (Site::Alloc, &|| Array::<u8, _>::zeros(&stream, &[4]).map(drop)),
        (Site::AllocHost, &|| context.pinned::<u8>(4).map(drop)),
        (Site::MapHost, &|| MappedArray::<u8, _>::zeros(&context, &[4]).map(drop)),
        (Site::AllocManaged, &|| ManagedArray::<u8, _>::zeros(&context, &[4]).map(drop)),
        (Site::RegisterHost, &|| context.with_pinned(&mut [0_u8; 4], |_| ())),
    ];
    for (site, call) in calls {
        device.fail_next(site, planned("made to fail"));
        assert_eq!(call(), Err(planned("made to fail")), "{site:?}");
        assert_eq!(context.live_allocations(), [], "{site:?}");
        assert_eq!(call(), Ok(()), "{site:?}");
        assert_eq!(context.live_allocations(), [], "{site:?}");
    }
    // A fill that fails, after the allocation was made.
    device.fail_next(Site::Fill, planned("fill"));
    assert!(Array::<u8, _>::zeros(&stream, &[4]).is_err());
    assert_eq!(context.live_allocations(), []);
}

#[test]
fn tags_concern_their_thread_alone() {
    let context = Context::new(MockDevice::new()).unwrap();
    let stream = context.stream().unwrap();
    let make = || Array::<u8, _>::zeros(&stream, &[1]).unwrap();
    let _held =
        tagged("here", || std::thread::scope(|threads| [make(), threads.spawn(make).join().unwrap()]));
    let tags: Vec<_> = context.live_allocations().iter().map(|record| record.tag).collect();
    assert_eq!(tags, [Some("here"), None]);
}

#[test]
fn memory_that_cannot_be_freed_stays_in_the_ledger() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let array = Array::<u8, _>::zeros(&stream, &[40]).unwrap();
    device.fail_next(Site::Free, planned("free"));
    drop(array);
    assert_eq!(context.take_errors(), [planned("free")]);
    let lost = context.live_allocations()[0];
    assert_eq!((lost.len_bytes, lost.state), (40, AllocationState::Lost));
    assert!(lost.to_string().ends_with(", which could not be freed"), "{lost}");
    // It counts against a limit, since it is lost for good.
    context.set_memory_limit(MemoryLimit::Bytes(50)).unwrap();
    assert!(Array::<u8, _>::zeros(&stream, &[11]).is_err());
    let _ = Array::<u8, _>::zeros(&stream, &[10]).unwrap();
    assert_eq!(context.memory_statistics().of(MemoryKind::Device).live_bytes, 40);
    // Kinds that were never used are not named.
    let shown = format!("{:?}", context.memory_statistics());
    assert_eq!(shown, "MemoryStatistics of live bytes {Device: 40}");
}

#[test]
fn what_is_live_in_the_end_is_told() {
    let told = Arc::new(laws::Told::default());
    let context = Context::new(MockDevice::new()).unwrap();
    context.set_memory_hook(Some(told.clone()));
    let stream = context.stream().unwrap();
    let (held, forgotten) =
        (Array::<u8, _>::zeros(&stream, &[1]).unwrap(), Array::<u8, _>::zeros(&stream, &[2]).unwrap());
    std::mem::forget(forgotten);
    drop(stream.context());
    drop(stream.clone());
    told.take();
    drop(context);
    assert!(told.take().is_empty(), "a stream is still there");
    drop(stream);
    assert_eq!(told.take(), ["closed with [1, 2]"]);
    // An array that is still there makes a context again, which then ends again.
    let context = held.context();
    drop(held);
    drop(context);
    assert_eq!(told.take(), ["-device 1", "closed with [2]"]);
}

/// Drops what it was given when it hears of something that was given back, and notes the order in
/// which it heard.
struct Drops {
    told: Mutex<Vec<&'static str>>,
    last: Mutex<Option<Box<dyn Send>>>,
}

impl MemoryHook for Drops {
    fn freed(&self, _: &AllocationRecord) {
        self.told.lock().unwrap().push("freed …");
        let last = self.last.lock().unwrap().take();
        drop(last);
        self.told.lock().unwrap().push("… freed");
    }

    fn closed(&self, live: &[AllocationRecord]) {
        assert!(live.is_empty());
        self.told.lock().unwrap().push("closed");
    }
}

/// A hook that drops the last context itself hears so when its method has returned: it holds its
/// own locks before.
#[test]
fn a_hook_that_drops_the_last_context_is_told_that_it_is_closed() {
    for others in 0..3 {
        let hook = Arc::new(Drops { told: Mutex::default(), last: Mutex::default() });
        let contexts: Vec<_> = (0..=others).map(|_| Context::new(MockDevice::new()).unwrap()).collect();
        let array = Array::<u8, _>::zeros(&contexts[0].stream().unwrap(), &[8]).unwrap();
        for context in &contexts {
            context.set_memory_hook(Some(hook.clone()));
        }
        *hook.last.lock().unwrap() = Some(Box::new(contexts));
        drop(array);
        let told = hook.told.lock().unwrap().clone();
        assert_eq!(told, [vec!["freed …", "… freed"], vec!["closed"; others + 1]].concat());
    }
}

/// The hook of a context hears of allocations that another context's hook makes in it; and a hook
/// that closes a context in `closed` ends.
#[test]
fn hooks_of_two_contexts_do_not_silence_each_other() {
    struct Allocates(Mutex<Option<Array<u8, MockDevice>>>, Mutex<usize>);
    impl MemoryHook for Allocates {
        fn allocated(&self, _: &AllocationRecord) {
            *self.1.lock().unwrap() += 1;
            if let Some(array) = &*self.0.lock().unwrap() {
                let stream = array.context().stream().unwrap();
                drop(Array::<u8, _>::zeros(&stream, &[5]).unwrap());
            }
        }
        fn closed(&self, _: &[AllocationRecord]) {
            *self.1.lock().unwrap() += 100;
            if let Some(array) = &*self.0.lock().unwrap() {
                drop(array.context()); // the last one again
            }
        }
    }
    let [(one, first), (two, second)] = [(); 2].map(|()| {
        let context = Context::new(MockDevice::new()).unwrap();
        let array = Array::<u8, _>::zeros(&context.stream().unwrap(), &[1]).unwrap();
        (context, array)
    });
    let [a, b] = [second, first].map(|array| Arc::new(Allocates(Mutex::new(Some(array)), Mutex::default())));
    one.set_memory_hook(Some(a.clone()));
    two.set_memory_hook(Some(b.clone()));
    drop(Array::<u8, _>::zeros(&one.stream().unwrap(), &[2]).unwrap());
    // The hook of `one` hears of the array and allocates in `two`. The hook of `two` hears of that
    // and allocates in `one`, whose hook runs already.
    assert_eq!([*a.1.lock().unwrap(), *b.1.lock().unwrap()], [1, 1]);
    drop(one);
    assert_eq!([*a.1.lock().unwrap(), *b.1.lock().unwrap()], [101, 1]);
    // The hook of `two` hears of the end and closes `one` again. The hook of `one` closes `two`
    // again, whose hook is being told already.
    drop(two);
    assert_eq!([*a.1.lock().unwrap(), *b.1.lock().unwrap()], [201, 101]);
    for hook in [a, b] {
        hook.0.lock().unwrap().take();
    }
}

#[test]
fn nothing_is_live_in_the_end_of_a_program_that_forgets_nothing() {
    let told = Arc::new(laws::Told::default());
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    context.set_memory_hook(Some(told.clone()));
    laws::the_ledger_names_every_allocation(&context);
    told.take();
    drop(context);
    assert_eq!(told.take(), ["closed with []"]);
    assert!(device.report().is_clean());
}

#[test]
fn a_pool_that_is_not_declared_is_refused_by_name() {
    let device = MockDevice::builder().capabilities(Capabilities::default()).build();
    let context = Context::new(device).unwrap();
    let refused = [
        context.pool_statistics().map(drop),
        context.reset_pool_peaks(),
        context.set_pool_release_threshold(0),
        context.trim_pool(0),
    ];
    for refused in refused {
        let missing = Capability::MemoryPool;
        assert!(matches!(refused, Err(Error::Unsupported { capability, .. }) if capability == missing));
    }
}

#[test]
fn calls_on_the_pool_that_fail_change_nothing() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    drop(Array::<u8, _>::zeros(&stream, &[100]).unwrap());
    stream.synchronize().unwrap();
    let before = context.pool_statistics().unwrap();
    let calls: [&dyn Fn() -> devarray::Result<()>; 4] = [
        &|| context.pool_statistics().map(drop),
        &|| context.reset_pool_peaks(),
        &|| context.set_pool_release_threshold(0),
        &|| context.trim_pool(0),
    ];
    for call in calls {
        device.fail_next(Site::Pool, planned("pool"));
        assert_eq!(call(), Err(planned("pool")));
        stream.synchronize().unwrap();
        assert_eq!(context.pool_statistics().unwrap(), before);
    }
    context.set_pool_release_threshold(60).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(context.pool_statistics().unwrap().reserved_bytes, 60, "a wait gives back what is over");
}

/// The laws run on a device where the ledger is falsified: each must fail.
mod twins {
    use std::panic::catch_unwind;

    use super::*;

    /// A context whose arrays leak: each law that expects an empty ledger in the end must fail.
    #[test]
    fn a_leak_is_noticed() {
        let leaking = catch_unwind(|| {
            everywhere(MEMORY_BYTES, |context| {
                laws::statistics_are_exact(context);
                std::mem::forget(Array::<u8, _>::zeros(&context.stream().unwrap(), &[1]).unwrap());
            });
        });
        assert!(leaking.is_err());
    }

    /// One allocation more than the law knows: its sums are exact, so it must fail.
    #[test]
    fn one_allocation_more_is_noticed() {
        let more = catch_unwind(|| {
            everywhere(MEMORY_BYTES, |context| {
                drop(Array::<u8, _>::zeros(&context.stream().unwrap(), &[1]).unwrap());
                laws::statistics_are_exact(context);
            });
        });
        assert!(more.is_err());
    }

    /// A limit that is raised by one byte without the law's knowledge.
    #[test]
    fn a_limit_that_is_soft_is_noticed() {
        let soft = catch_unwind(|| {
            everywhere(MEMORY_BYTES, |context| {
                context.set_memory_limit(MemoryLimit::Bytes(1001)).unwrap();
                let stream = context.stream().unwrap();
                let full = Array::<u8, _>::zeros(&stream, &[1000]).unwrap();
                let refused = Array::<u8, _>::zeros(&stream, &[1]).is_err();
                drop(full);
                assert!(refused);
            });
        });
        assert!(soft.is_err());
    }
}

/// Requests of about one size share kept memory. Where nothing is kept, nothing is rounded.
#[test]
fn a_request_takes_idle_memory_that_is_a_little_larger() {
    for (most_idle, idle, reuses) in [(10_240, 10_240, 1), (0, 0, 0)] {
        let context = Context::new(MockDevice::new()).unwrap();
        context.set_pinned_limits(PinnedLimits::new(1 << 20, most_idle));
        drop(context.pinned::<u8>(10_000).unwrap());
        assert_eq!(context.host_memory_statistics().idle_bytes, idle);
        let _held = context.pinned::<u8>(10_200).unwrap();
        let statistics = context.host_memory_statistics();
        assert_eq!((statistics.reuses, statistics.pinned_bytes == 10_200), (reuses, most_idle == 0));
    }
    // 10,240 bytes are 12.5 % more than 9,103 bytes, and slightly more than 12.5 % above 9,102.
    for (len_bytes, reuses) in [(9103, 1), (9102, 0), (5000, 0)] {
        let context = Context::new(MockDevice::new()).unwrap();
        context.set_pinned_limits(PinnedLimits::new(1 << 20, 10_240));
        drop(context.pinned::<u8>(10_240).unwrap());
        let _held = context.pinned::<u8>(len_bytes).unwrap();
        assert_eq!(context.host_memory_statistics().reuses, reuses, "{len_bytes} bytes");
    }
}

/// Idle memory stays as long as everything fits, to the byte.
#[test]
fn idle_memory_makes_room_only_where_it_must() {
    for (total, idle) in [(10_240 + 4096, 10_240), (10_240 + 4095, 0)] {
        let context = Context::new(MockDevice::new()).unwrap();
        context.set_pinned_limits(PinnedLimits::new(total, 10_240));
        drop(context.pinned::<u8>(10_240).unwrap());
        let _held = context.pinned::<u8>(4096).unwrap();
        assert_eq!(context.host_memory_statistics().idle_bytes, idle, "of {total} bytes");
    }
}

/// The holders of pinned memory are named when a limit refuses more of it.
#[test]
fn a_refusal_of_pinned_memory_names_its_holders() {
    let context = Context::new(MockDevice::new()).unwrap();
    context.set_pinned_limits(PinnedLimits::new(10_000, 0));
    let _held = tagged("images", || context.pinned::<u8>(8000)).unwrap();
    let refused = context.pinned::<u8>(8000).map(drop).unwrap_err();
    let Error::OutOfMemory { limited: true, live, .. } = refused else { panic!("{refused}") };
    assert_eq!(
        live.iter().map(|live| (live.tag, live.len_bytes)).collect::<Vec<_>>(),
        [(Some("images"), 8000)]
    );
}

/// Pinned memory that was given up in use is waited for before an allocation fails, whether the
/// device's memory or the program's limit is short.
#[test]
fn what_is_in_use_is_waited_for_before_memory_is_short() {
    for limited in [false, true] {
        let device = MockDevice::builder().host_limit_bytes(if limited { 1 << 20 } else { 10_000 });
        let device = device.schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        context.set_pinned_limits(PinnedLimits::new(if limited { 10_000 } else { usize::MAX }, 0));
        let stream = context.stream().unwrap();
        let mut array = Array::<u8, _>::zeros(&stream, &[8000]).unwrap();
        drop(array.view_mut().upload(&stream, context.pinned(8000).unwrap()).unwrap());
        drop(context.pinned::<u8>(8000).unwrap());
        // The twin: memory that is held is not given back.
        let held = context.pinned::<u8>(8000).unwrap();
        assert!(matches!(context.pinned::<u8>(8000), Err(Error::OutOfMemory { .. })));
        drop((held, array, stream, context));
        assert!(device.report().is_clean(), "{}", device.report());
    }
}
