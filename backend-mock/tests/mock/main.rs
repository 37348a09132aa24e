//! Tests the promises of the simulator: it runs all legal schedules and no others, runs are reproducible, mistakes
//! are visible, and failures have types.

mod allocated_at;
mod bounded;
mod cluster;
mod cluster_peers;
mod cluster_recorded;
mod declared;
mod default_streams;
mod explore;
mod failures;
mod functions;
#[cfg(target_os = "linux")]
mod gaps;
mod gathers;
mod in_place;
mod judge_off;
mod lifetime;
mod litmus;
mod memory;
mod options;
mod orders;
mod pageable;
mod priorities;
mod profiles;
mod programs;
mod puts;
mod schedules;
mod support;
mod unified;
mod words;
