//! Proves the whole backend on a driver of our own in host memory: what it does when things are missing or fail, which
//! calls it makes, and that its copies and fills are right, without a GPU.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../common/cases.rs"]
mod cases;

#[path = "../../../core/tests/host_kinds/laws.rs"]
mod laws;
#[path = "../../../core/tests/host_kinds/numba.rs"]
mod numba;

#[path = "../../../core/tests/accounting/laws.rs"]
mod ledger_laws;
#[path = "../../../core/tests/release/laws.rs"]
mod release_laws;

mod absence;
mod accounting;
mod calls;
mod driver;
mod errors;
mod host_kinds;
mod host_laws;
mod kernels;
mod memory;
mod release;
mod results;
mod state;
mod sweep;
