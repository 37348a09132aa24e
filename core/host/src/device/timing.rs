//! Timed events.
#![allow(unsafe_code)] // vouches for the contract of timed events

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use devarray::{Result, backend::Timing};

use super::HostDevice;
use crate::{HostEvent, HostStream};

// SAFETY: a timed event is an event like any other.
unsafe impl Timing for HostDevice {
    fn record_timed(&self, stream: &HostStream) -> Result<HostEvent> {
        Ok(stream.record_as(Some(Arc::new(OnceLock::new()))))
    }

    fn elapsed(&self, from: &HostEvent, to: &HostEvent) -> Result<Option<Duration>> {
        Ok(from.elapsed(to))
    }
}
