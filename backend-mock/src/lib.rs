#![doc = include_str!("../README.md")]

mod allocation;
mod backend;
mod buffer;
mod builder;
mod compute;
mod debug;
mod device;
mod engine;
mod event;
mod explore;
mod fault;
mod finding;
mod foreign;
mod host;
mod host_kinds;
mod ipc;
mod judge;
mod launch;
mod limits;
mod panics;
mod peer;
mod poison;
mod pool;
mod profile;
pub mod program;
mod properties;
mod report;
mod rng;
mod schedule;
mod shared;
mod statistics;
mod stream;
mod symbols;
mod time;
mod timing;
mod trace;

#[doc = include_str!("../TUTORIAL.md")]
pub mod tutorial {}

// The device and what it hands out.
pub use allocation::BufferId;
pub use buffer::MockBuffer;
pub use builder::Builder;
pub use device::MockDevice;
pub use event::MockEvent;
pub use foreign::MockAdopted;
pub use host::MockHostBuffer;
pub use host_kinds::MockRegistration;
pub use ipc::{MockExportable, MockOpened};
pub use stream::MockStream;
pub use symbols::MockModule;

// A user's code under many schedules, and with every call failed.
pub use explore::{Exhausted, Explore, FailedCalls, Failure, ParseReplayError, Swept, Wrong, explore, sweep};

// What drives it, and what it tells.
pub use fault::{Fault, FaultKind, FaultPlan, Fired, ParseFaultPlanError, Site};
pub use finding::{Access, Class, Code, Finding, Memory, Operation};
pub use poison::{Poison, PoisonKind};
pub use profile::{NullStream, ParseProfileError, Profile, ProfileSet, Rules, SourceRead};
pub use report::{LiveBuffer, LiveHostBuffer, LiveRegistration, Report};
pub use schedule::Schedule;
pub use statistics::{Counts, Statistics, Tally};
pub use trace::{ParseTraceError, Trace};
