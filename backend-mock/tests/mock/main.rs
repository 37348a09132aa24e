//! What the simulator promises: legal schedules and all of them, reproducible runs, visible mistakes, typed failures.

mod explore;
mod failures;
mod lifetime;
mod litmus;
mod memory;
mod priorities;
mod programs;
mod schedules;
mod support;
