//! Peculiarities of the CPU as a device.
#![allow(clippy::unwrap_used)] // helpers of tests

mod collectives;
mod collectives_recorded;
mod collectives_told;
mod extremes;
mod gates;
mod gathers;
mod group;
mod in_place;
#[cfg(target_os = "linux")]
mod ipc;
mod memory;
mod order;
mod rank_programs;
mod recorded;
mod results;
mod scans;
mod threads;
