//! Devices that wrap a device, for tests of backends: test doubles around a real backend that pass
//! the suite themselves.

mod instrumented;

pub(crate) use instrumented::is_injected;
pub use instrumented::{Call, Instrumented, InstrumentedEvent, InstrumentedStream, Log};
