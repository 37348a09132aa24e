//! Proves the whole backend on a driver of our own in host memory: what it does when things are missing or fail, which
//! calls it makes, and that its copies and fills are right, without a GPU.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../common/cases.rs"]
mod cases;

mod absence;
mod calls;
mod driver;
mod errors;
mod kernels;
mod memory;
mod results;
mod state;
mod sweep;
