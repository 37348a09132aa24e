//! Events with a time.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::time::Duration;

use devarray::{
    Result,
    backend::{Capability, Timing},
};

use super::{CudaDevice, CudaStream};
use crate::event::{CudaEvent, Kind};

// SAFETY: the event is recorded like any other; the only difference is that it also keeps a time.
unsafe impl Timing for CudaDevice {
    fn record_timed(&self, stream: &CudaStream) -> Result<CudaEvent> {
        self.check("record_timed", Capability::EventTiming)?;
        stream.raw.record_as(Kind::Timed)
    }

    fn elapsed(&self, from: &CudaEvent, to: &CudaEvent) -> Result<Option<Duration>> {
        let milliseconds = from.milliseconds_until(to)?;
        // The time is negative if the second event came first, and then it is not a duration.
        Ok(milliseconds.map(|time| Duration::try_from_secs_f64(f64::from(time) * 1e-3).unwrap_or_default()))
    }
}
