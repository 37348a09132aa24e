//! The suite's words about itself. One binary, which links once.

mod debug;
mod failing_transfers;
mod manual;
mod trace_events;
