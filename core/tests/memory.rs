//! Memory of devices and hosts, and its loans. One binary: linking one for each file takes minutes.

#![allow(clippy::unwrap_used)] // helpers of tests

#[macro_use]
#[path = "schedules/each.rs"]
mod each;
#[path = "schedules/everywhere.rs"]
mod schedules;

mod accounting;
mod adopted_twice;
mod foreign;
mod host_kinds;
mod host_memory;
mod host_orders;
mod host_programs;
mod ipc;
mod limits;
mod owners;
mod peer;
mod release;
mod symbols;
mod transfer_threads;
