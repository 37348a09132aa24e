//! What the simulator promises: legal schedules and all of them, reproducible runs, visible mistakes, typed failures.

mod explore;
mod litmus;
mod programs;
mod support;
