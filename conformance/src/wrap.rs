//! Devices that wrap a device: test doubles around a real backend, which pass the suite themselves.

mod instrumented;

pub use instrumented::{Call, Instrumented, Log};
