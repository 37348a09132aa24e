//! Failures: plans name the calls they say, every call of the library's operations is failed in
//! every way, and twelve promises hold afterwards.
#![allow(clippy::unwrap_used)] // helpers of tests

mod invariants;
mod plans;
mod sweeps;
