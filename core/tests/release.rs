//! Memory that is given back later, and behaviour when memory is short: the laws under every
//! schedule of the simulator, and failures of calls.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "release/laws.rs"]
mod laws;
use super::schedules;
use std::panic::catch_unwind;

use devarray::{
    Array, Context, Error, ManagedArray,
    memory::{AllocationState, MemoryKind, MemoryLimit, ReleaseLimits},
};
use devarray_mock::{MockDevice, Site};
use schedules::everywhere;

/// The memory of each device.
const MEMORY_BYTES: usize = 1 << 16;

laws! { MEMORY_BYTES:
    limits_are_strict
    every_kind_counts
    deferrals_nest_and_end
    work_in_flight_is_not_disturbed
    shortage_flushes
    the_program_is_asked
    running_out_says_who_holds_what
}

fn planned() -> Error {
    Error::Driver { backend: "mock", operation: "free", code: 999, name: "PLANNED".into() }
}

fn bytes(context: &Context<MockDevice>, len: usize) -> Array<u8, MockDevice> {
    Array::zeros(&context.stream().unwrap(), &[len]).unwrap()
}

/// Fixed: a release that fails is reported, and neither stops the others nor leaves the sums wrong.
#[test]
fn a_release_that_fails_stops_no_other() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    context.defer_cleanup(|| {
        drop([bytes(&context, 1), bytes(&context, 2), bytes(&context, 3)]);
        device.fail_next(Site::Free, planned());
        context.release_pending();
        assert_eq!(context.pending_releases().count, 0);
    });
    assert_eq!(context.take_errors(), [planned()]);
    let live: Vec<_> = context.live_allocations().iter().map(|r| (r.len_bytes, r.state)).collect();
    assert_eq!(live, [(1, AllocationState::Lost)]);
    assert_eq!(context.pending_releases().len_bytes, 0);
}

#[test]
fn what_waits_in_the_end_is_given_back() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    context.set_release_limits(ReleaseLimits::new(100, usize::MAX));
    let kept = Array::full(&stream, &[3], 7_u8).unwrap();
    drop((bytes(&context, 10), context.pinned::<u8>(20).unwrap()));
    drop(ManagedArray::<u8, _>::zeros(&context, &[30]).unwrap());
    assert_eq!(context.pending_releases().count, 3);
    // After the last handle is dropped, nobody is left to give memory back later, even if an array
    // lives on.
    drop((stream, context));
    assert_eq!(device.report().buffers.len(), 1);
    assert_eq!(device.report().host_buffers, []);
    // Memory dropped after that is freed with the context.
    drop(kept);
    assert!(device.report().is_clean(), "{}", device.report());
}

#[test]
fn drops_on_other_threads_are_put_off_too() {
    let context = Context::new(MockDevice::new()).unwrap();
    let array = bytes(&context, 9);
    context.defer_cleanup(|| {
        std::thread::scope(|threads| threads.spawn(|| drop(array)).join().unwrap());
        assert_eq!(context.pending_releases().len_bytes, 9);
    });
    assert_eq!(context.pending_releases().len_bytes, 0);
}

/// Threads that allocate, drop, defer and flush at once: no deadlock occurs, and the sums are right
/// in the end.
#[test]
fn many_threads_at_once() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    context.set_release_limits(ReleaseLimits::new(5, 2000));
    context.set_memory_limit(MemoryLimit::Bytes(20_000)).unwrap();
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let context = &context;
            threads.spawn(move || {
                for round in 0..200_usize {
                    let kept = Array::full(&context.stream().unwrap(), &[1 + 7 * round % 900], 3_u8).unwrap();
                    drop(context.pinned::<u8>(1 + round).unwrap());
                    match (thread + round) % 5 {
                        0 => context.defer_cleanup(|| drop(kept)),
                        1 => context.release_pending(),
                        2 => assert!(context.live_allocations().len() < 100),
                        3 => assert!(context.peak_scope().peak_bytes(MemoryKind::Device) > 0),
                        _ => drop(kept),
                    }
                }
            });
        }
    });
    context.release_pending();
    for (kind, allocations) in [(MemoryKind::Device, 800), (MemoryKind::Pinned, 800)] {
        let sums = context.memory_statistics().of(kind);
        assert_eq!(
            (sums.live, sums.live_bytes, sums.allocations, sums.frees),
            (0, 0, allocations, allocations)
        );
    }
    assert_eq!((context.take_errors(), context.pending_releases().count), (vec![], 0));
    drop(context);
    assert!(device.report().is_clean(), "{}", device.report());
}

/// The value of a deferral's closure is forgotten, or a deferral never ends: nothing is unsound,
/// and nothing is lost in the end.
#[test]
fn forgetting_harms_nothing() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    context.defer_cleanup(|| std::mem::forget(bytes(&context, 5)));
    assert_eq!(context.pending_releases().count, 0);
    drop(bytes(&context, 6));
    assert_eq!(context.live_allocations().len(), 1);
}

/// An allocation that fails once because memory is short is tried again after a wait, and succeeds.
#[test]
fn memory_is_asked_for_once_more() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let short = Error::out_of_memory("mock", "alloc", 4, None);
    for site in [Site::Alloc, Site::AllocHost, Site::AllocManaged] {
        let call = || match site {
            Site::Alloc => Array::<u8, _>::zeros(&stream, &[4]).map(drop),
            Site::AllocHost => context.pinned::<u8>(4).map(drop),
            _ => ManagedArray::<u8, _>::zeros(&context, &[4]).map(drop),
        };
        device.fail_next(site, short.clone());
        assert_eq!(call(), Ok(()), "{site:?}");
        device.fail_next(site, short.clone());
        device.fail_next(site, short.clone());
        assert_eq!(call(), Err(short.clone()), "{site:?}: twice, and no more");
        // After an error of another kind there is no second attempt.
        device.fail_next(site, planned());
        assert_eq!(call(), Err(planned()), "{site:?}");
        assert_eq!(call(), Ok(()), "{site:?}");
    }
    assert_eq!(context.live_allocations(), []);
}

/// Making room waits for the streams of the context; a failed wait is reported, and the allocation
/// returns its own result.
#[test]
fn a_wait_that_fails_while_making_room_is_told() {
    let device = MockDevice::builder().memory_limit_bytes(100).build();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    device.fail_next(Site::Synchronize, planned());
    let error = Array::<u8, _>::zeros(&stream, &[101]).unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(context.take_errors(), [planned()]);
    let _ = Array::<u8, _>::zeros(&stream, &[100]).unwrap();
}

/// The twins: each expectation that the laws rely on, where it does not hold.
mod twins {
    use super::*;

    #[test]
    fn waiting_for_too_long_is_noticed() {
        let lax = catch_unwind(|| {
            everywhere(MEMORY_BYTES, |context| {
                context.set_release_limits(ReleaseLimits::new(11, usize::MAX));
                for _ in 0..11 {
                    drop(bytes(context, 1));
                }
                assert_eq!(context.pending_releases().count, 0);
            });
        });
        assert!(lax.is_err());
    }

    #[test]
    fn a_limit_that_is_not_flushed_for_is_noticed() {
        let held = catch_unwind(|| {
            everywhere(MEMORY_BYTES, |context| {
                context.set_memory_limit(MemoryLimit::Bytes(1000)).unwrap();
                let _held = bytes(context, 600);
                assert_eq!(bytes(context, 600).len(), 600);
            });
        });
        assert!(held.is_err());
    }
}
