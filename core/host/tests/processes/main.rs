//! Ranks that are processes.
//!
//! A test starts its own executable again, once a rank: there [`started::child`] does what the test asked for.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // helpers of tests

mod environment;
mod hostile;
mod killed;
mod launchers;
mod remote;
mod started;
mod values;
