#![doc = include_str!("../README.md")]

pub mod checks;
mod computing;
mod difference;
mod harness;
mod oracle;
pub mod patterns;
pub mod probes;
pub mod programs;
pub mod rank_programs;
mod registry;
mod rng;
mod suite;
mod trace_events;
mod violation;
pub mod wrap;

// The suite: the laws, what runs them, and what they return.
pub use harness::Harness;
pub use registry::{
    Law, all, foreign, functions, gathers, ipc, kernels, managed, mapped, orders, peer, pool, products,
    ranks, recordings, reductions, registered, timing,
};
#[doc(hidden)]
pub use suite::again;
pub use suite::{ExpectedFailure, check_names, run};
pub use violation::{Outcome, Violation};

// The parts that checks are made of.
pub use oracle::Picture;
pub use patterns::{Pattern, Step};
pub use rng::Rng;
pub use trace_events::{TraceArgs, TraceEvent, trace_events};
pub use wrap::{Call, Instrumented, Log};
