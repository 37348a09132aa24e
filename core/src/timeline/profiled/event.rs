//! Events of a profiled device: timed events, and their place in the timeline.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

use std::{fmt, sync::Arc, time::Instant};

use super::log::{Log, Place};
use crate::{
    Result,
    backend::{Event, Quiesced, Timing},
};

/// An event of a [`Profiled`](super::Profiled) device.
pub struct ProfiledEvent<D: Timing> {
    pub(super) event: Arc<D::Event>,
    pub(super) log: Arc<Log<D>>,
    pub(super) device: Arc<D>,
    /// The record of the event; `None` if it was not recorded.
    pub(super) place: Option<Place>,
}

// SAFETY: every method forwards to an event whose implementor vouches for it.
unsafe impl<D: Timing> Event for ProfiledEvent<D> {
    fn query(&self) -> Result<bool> {
        self.event.query()
    }

    fn synchronize(&self) -> Quiesced {
        let called = Instant::now();
        let end = self.event.synchronize();
        self.log.waited(&self.device, called, "sync_event", self.place);
        end
    }
}

impl<D: Timing> fmt::Debug for ProfiledEvent<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfiledEvent").field("event", &self.event).field("place", &self.place).finish()
    }
}
