//! Memory that is given back later and memory that is short, on the fake driver.

use std::num::NonZeroI32;

use devarray::{Array, Context, Error, memory::ReleaseLimits};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
};

use super::{accounting::with_context, release_laws as laws, state::Fake};

#[test]
fn putting_off_keeps_its_laws() {
    with_context(laws::limits_are_strict);
    with_context(laws::every_kind_counts);
    with_context(laws::deferrals_nest_and_end);
    with_context(laws::work_in_flight_is_not_disturbed);
    with_context(laws::shortage_flushes);
    with_context(laws::the_program_is_asked);
    with_context(laws::running_out_says_who_holds_what);
}

#[test]
fn the_driver_is_called_when_the_memory_is_given_back() {
    with_context(|context| {
        let stream = context.stream().unwrap();
        let driver = context.device().driver();
        let calls = || (driver.calls(Function::MemFreeAsync), driver.calls(Function::MemFreeHost));
        let before = calls();
        context.set_release_limits(ReleaseLimits::new(2, usize::MAX));
        // Too large to stay with the stream.
        drop(Array::<u8, _>::zeros(&stream, &[(1 << 20) + 1]).unwrap());
        drop(context.pinned::<u8>(10).unwrap());
        assert_eq!(calls(), before);
        drop(context.pinned::<u8>(10).unwrap());
        assert_eq!(calls(), (before.0 + 1, before.1 + 2));
    });
}

/// The context may be asked while the driver frees: no lock of it is held. The fake calls back from
/// inside the free.
#[test]
fn no_lock_is_held_while_the_driver_frees() {
    with_context(|context| {
        let fake = Fake::installed();
        let asked = context.clone();
        context.set_release_limits(ReleaseLimits::new(10, usize::MAX));
        drop([context.pinned::<u8>(1).unwrap(), context.pinned::<u8>(2).unwrap()]);
        let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let note = seen.clone();
        super::memory::on_host_free(Some(Box::new(move || {
            let live = asked.memory_statistics().live_bytes();
            note.borrow_mut().push((asked.pending_releases().count, live, asked.live_allocations().len()));
        })));
        context.release_pending();
        super::memory::on_host_free(None);
        assert_eq!(*seen.borrow(), [(1, 2, 1), (0, 0, 0)]);
        fake.assert_proper();
    });
}

/// Each driver call of making room fails once: the allocation has its answer, and the same call
/// then succeeds.
#[test]
fn each_call_of_making_room_may_fail() {
    for failing in 0.. {
        let fake = Fake::new();
        fake.state(|state| state.total_bytes = 1 << 16);
        let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
        let stream = context.stream().unwrap();
        let call = || {
            context.defer_cleanup(|| {
                drop(Array::<u8, _>::uninit(&stream, &[40_000])?);
                Array::<u8, _>::uninit(&stream, &[50_000])
            })
        };
        let driver = context.device().driver().clone();
        driver.fail(Fault::new(failing, NonZeroI32::new(999).unwrap()));
        let first = call().map(|array| array.len());
        let struck = driver.heal();
        assert!(first.is_ok() || struck, "{first:?}");
        drop(first);
        assert_eq!(context.pending_releases().count, 0);
        let told = [context.take_errors(), context.device().take_errors()].concat();
        let lost = context.live_allocations().len();
        assert!(lost <= told.len(), "call {failing}: {lost} lost, {} told", told.len());
        // The second may need the memory that a free lost.
        if !told.iter().any(|error| matches!(error, Error::Driver { operation: "free", .. })) {
            assert_eq!(call().unwrap().len(), 50_000, "call {failing}");
        }
        drop((stream, context));
        if !struck {
            assert!(failing > 10, "{failing} calls are too few for this");
            return;
        }
    }
}
