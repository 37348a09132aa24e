//! The laws of the ledger on the fake driver, and what reaches its pool.

use std::num::NonZeroI32;

use devarray::{Array, Context, Error};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
};

use super::{ledger_laws as laws, state::Fake};

/// Runs on a fake device, which must be left as it was found.
pub(super) fn with_context(program: impl Fn(&Context<CudaDevice>)) -> Fake {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    program(&context);
    assert_eq!(context.take_errors(), []);
    assert_eq!(context.live_allocations(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
    fake
}

#[test]
fn the_ledger_keeps_its_laws() {
    with_context(laws::the_ledger_names_every_allocation);
    with_context(laws::tags_nest_and_end);
    with_context(laws::statistics_are_exact);
    with_context(laws::peak_scopes_nest_and_overlap);
    with_context(laws::a_limit_is_hard);
    with_context(laws::hooks_are_told_of_each);
    with_context(laws::a_hook_may_panic);
    with_context(laws::a_hook_may_use_the_context);
    with_context(laws::the_pool_can_be_asked_and_trimmed);
}

#[test]
fn the_pool_of_the_driver_is_told() {
    let fake = with_context(|context| {
        let fake = Fake::installed();
        assert_eq!(fake.state(|state| state.threshold), u64::MAX, "an open device keeps what is freed");
        context.set_pool_release_threshold(12_345).unwrap();
        assert_eq!(fake.state(|state| state.threshold), 12_345);
        let stream = context.stream().unwrap();
        let kept = Array::<u8, _>::zeros(&stream, &[100]).unwrap();
        drop(Array::<u8, _>::zeros(&stream, &[1000]).unwrap());
        context.trim_pool(700).unwrap();
        let pool = context.pool_statistics().unwrap();
        assert_eq!((pool.used_bytes, pool.reserved_bytes), (100, 700));
        assert_eq!((pool.peak_used_bytes, pool.peak_reserved_bytes), (1100, 1100));
        context.reset_pool_peaks().unwrap();
        let pool = context.pool_statistics().unwrap();
        assert_eq!((pool.peak_used_bytes, pool.peak_reserved_bytes), (100, 700));
        drop(kept);
    });
    assert_eq!(fake.state(|state| state.cached_bytes), 0, "closing gives everything back");
}

/// Small memory that was freed is allocated again without the driver, on its own stream alone, and
/// the pool has it back before anybody looks.
#[test]
fn small_memory_stays_with_its_stream() {
    with_context(|context| {
        let (stream, other) = (context.stream().unwrap(), context.stream().unwrap());
        let driver = context.device().driver();
        let calls = || (driver.calls(Function::MemAllocFromPoolAsync), driver.calls(Function::MemFreeAsync));
        let array = |stream| Array::<u8, _>::uninit(stream, &[1000]).unwrap();
        drop(array(&stream));
        let before = calls();
        for _ in 0..10 {
            drop(array(&stream));
        }
        assert_eq!(calls(), before);
        drop(array(&other));
        assert_eq!(calls(), (before.0 + 1, before.1), "the other stream has no such memory");
        assert_eq!(context.pool_statistics().unwrap().used_bytes, 0);
        assert_eq!(calls(), (before.0 + 1, before.1 + 2), "what both streams kept is freed");
        for used_bytes in [1000, 0] {
            let held = (used_bytes > 0).then(|| array(&stream));
            context.trim_pool(0).unwrap();
            assert_eq!(context.pool_statistics().unwrap().reserved_bytes, used_bytes);
            drop(held);
        }
    });
}

type Call<'a> = &'a dyn Fn() -> devarray::Result<()>;

#[test]
fn each_call_on_the_pool_may_fail() {
    with_context(|context| {
        let calls: [(Call<'_>, Function, u32); 4] = [
            (&|| context.pool_statistics().map(drop), Function::MemPoolGetAttribute, 4),
            (&|| context.reset_pool_peaks(), Function::MemPoolSetAttribute, 2),
            (&|| context.set_pool_release_threshold(1), Function::MemPoolSetAttribute, 1),
            (&|| context.trim_pool(0), Function::MemPoolTrimTo, 1),
        ];
        let driver = context.device().driver();
        for (call, function, times) in calls {
            for nth in 0..times {
                driver.fail(Fault::new(nth.into(), NonZeroI32::new(999).unwrap()).of(function));
                let error = call().unwrap_err();
                assert!(matches!(error, Error::Driver { code: 999, .. }), "{error}");
                assert!(driver.heal(), "call {nth} of {}", function.symbol());
                call().unwrap();
            }
        }
    });
}
