#![doc = include_str!("../README.md")]

mod allocation;
mod backend;
mod cluster;
mod debug;
mod device;
mod engine;
mod explore;
mod fault;
mod finding;
mod judge;
mod panics;
mod poison;
mod profile;
pub mod program;
mod report;
mod rng;
mod schedule;
mod statistics;
mod time;
mod trace;
mod turns;

#[doc = include_str!("../TUTORIAL.md")]
pub mod tutorial {}

// The device and what it hands out.
pub use allocation::BufferId;
pub use device::{
    Builder, MockAdopted, MockBuffer, MockCommunicator, MockDevice, MockEvent, MockExportable,
    MockHostBuffer, MockModule, MockOpened, MockRegistration, MockStream,
};

// A user's code under many schedules, and with every call failed.
pub use cluster::{Rank, cluster};
pub use explore::{Exhausted, Explore, FailedCalls, Failure, ParseReplayError, Swept, Wrong, explore, sweep};

// The types that drive it, and the types that it returns.
pub use fault::{Fault, FaultKind, FaultPlan, Fired, ParseFaultPlanError, Site};
pub use finding::{Access, Class, Code, Finding, Memory, Operation};
pub use poison::{Poison, PoisonKind};
pub use profile::{NullStream, ParseProfileError, Profile, ProfileSet, Rules, SourceRead};
pub use report::{LiveBuffer, LiveHostBuffer, LiveRegistration, Report};
pub use schedule::Schedule;
pub use statistics::{Counts, Statistics, Tally};
pub use trace::{ParseTraceError, Trace};
