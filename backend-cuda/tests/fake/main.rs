//! Proves the whole backend on a driver of our own in host memory: what it does when things are
//! missing or fail, which calls it makes, and that its copies and fills are right, without a GPU.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../common/branches.rs"]
mod branches_of;
#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/compositions.rs"]
mod compositions;
#[path = "../common/evaluate.rs"]
mod evaluate;
#[path = "../common/fast.rs"]
mod fast_of;
#[path = "../common/gathers.rs"]
mod gathers_of;
#[path = "../common/joins.rs"]
mod joins_of;
#[path = "../common/maps.rs"]
mod maps;
#[path = "../common/programs.rs"]
mod programs;
#[path = "../common/random.rs"]
mod random_of;
#[path = "../common/ranks.rs"]
mod ranks_of;
#[path = "../common/ranks_recorded.rs"]
mod ranks_recorded;
#[path = "../common/reductions.rs"]
mod reductions_of;
#[path = "../common/reports.rs"]
mod reports_of;
#[path = "../common/strata.rs"]
mod strata_of;

#[path = "../../../core/tests/interop/numba.rs"]
mod doors_numba;
#[path = "../../../core/tests/interop/symbols.rs"]
mod symbol_laws;

#[path = "../../../core/tests/host_kinds/laws.rs"]
mod laws;
#[path = "../../../core/tests/host_kinds/numba.rs"]
mod numba;

#[path = "../../../core/tests/accounting/laws.rs"]
mod ledger_laws;
#[path = "../../../core/tests/release/laws.rs"]
mod release_laws;

#[path = "../../../core/tests/debug/shown.rs"]
mod shown;

#[allow(dead_code, reason = "what launches cost is measured elsewhere")]
#[path = "../emulate/kernels.rs"]
mod emulate;
#[path = "../common/products.rs"]
mod products_of;

mod absence;
mod accounting;
mod branches;
mod calls;
mod collectives;
mod cublaslt;
mod debug;
mod divisions;
mod driver;
mod entries;
mod errors;
mod fast_products;
mod fetched;
mod foreign;
mod frozen;
mod functions;
mod gathers;
mod graphs;
mod host_kinds;
mod host_laws;
mod interop;
mod ipc;
mod joins;
mod kernels;
mod launches;
mod libraries;
mod memory;
mod nccl;
mod normalized;
mod peer;
mod products;
mod programs_of;
mod properties;
mod ptx;
mod ptx_ops;
mod random;
mod reductions;
mod release;
mod reports;
mod results;
mod shipped;
mod state;
mod strata;
mod sweep;
mod symbols;

/// Laws of an extra hold on the fake, which may use two devices, and leave nothing
/// behind.
fn laws_hold(laws: &[devarray_conformance::Law<devarray_cuda::CudaDevice>]) {
    for law in laws {
        let fake = state::Fake::new();
        let driver = fake.driver();
        let open = |ordinal| {
            let driver = driver.clone();
            move || devarray_cuda::CudaDevice::open_with(&driver, ordinal)
        };
        let harness = devarray_conformance::Harness::new(open(0)).with_second(open(1));
        assert!(law.applies(&harness), "{}", law.full_name());
        assert_eq!(law.check(&harness), Ok(()), "{}", law.full_name());
        drop(harness);
        assert_eq!(driver.take_errors(), []);
        assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new(), "{}", law.full_name());
        fake.assert_proper();
    }
}
