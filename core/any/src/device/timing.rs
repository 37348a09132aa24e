//! Events that carry a time.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

use std::time::Duration;

use devarray::{Result, backend::Timing};

use super::AnyDevice;
use crate::{AnyEvent, AnyStream, stream::mixed};

// SAFETY: forwards to a device whose implementor vouches for it, or enqueues nothing.
unsafe impl Timing for AnyDevice {
    #[inline]
    #[track_caller]
    fn record_timed(&self, stream: &AnyStream) -> Result<AnyEvent> {
        on_each!((AnyDevice, self, device), (AnyStream, stream, stream) => {
            device.record_timed(stream).map(AnyEvent::from)
        }, else Err(mixed(stream.backend(), "record_timed")))
    }

    #[inline]
    fn elapsed(&self, from: &AnyEvent, to: &AnyEvent) -> Result<Option<Duration>> {
        on_each!((AnyDevice, self, device), (AnyEvent, from, from), (AnyEvent, to, to) => device.elapsed(from, to),
            else Err(mixed(self.backend(), "elapsed")))
    }
}
