//! The checks behind the laws, for readers and authors of laws: plain generic functions that return
//! a violation.
//!
//! The [registry](crate::all) has the list; nobody calls them by hand. Each check opens a fresh
//! device, compares with the [oracle](crate::Picture), and uses only the public API, so that it
//! means the same for every backend. Automatic streams show that a backend's waits work; strict
//! streams show where core asks for waits.

#![expect(clippy::missing_errors_doc, reason = "every check returns what broke, as its first line says it")]

pub mod algebra;
pub mod between;
pub mod buffers;
pub mod copies;
pub mod errors;
pub mod events;
pub mod foreign;
pub mod functions;
pub mod gathers;
pub mod host;
pub mod ipc;
pub mod joins;
pub mod kernels;
pub mod layouts;
pub mod managed;
pub mod mapped;
pub mod memory;
pub mod orders;
pub mod peer;
pub mod pool;
pub mod products;
pub mod programs;
pub mod ranks;
pub mod recordings;
pub mod reductions;
pub mod registered;
pub mod regressions;
mod shown;
pub mod streams;
pub mod timing;
pub mod transfers;
