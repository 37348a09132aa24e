//! Failures: plans fail the calls that they name, every call of the library's operations fails in
//! every way, and twelve promises hold afterwards.
#![allow(clippy::unwrap_used)] // helpers of tests

mod invariants;
mod plans;
mod sweeps;
