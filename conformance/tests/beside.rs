//! The suite's statements about itself, in one binary, which links once.

mod debug;
mod failing_transfers;
mod manual;
mod trace_events;
