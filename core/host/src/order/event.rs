//! An event: a point that was recorded.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use devarray::{
    Result,
    backend::{Event, Quiesced},
};

use super::{Flag, Point, Stamp};

/// An event of a [`HostDevice`](crate::HostDevice).
#[derive(Debug)]
pub struct HostEvent {
    pub(crate) point: Point,
    /// The time when it was over, for a timed event.
    stamp: Option<Stamp>,
    /// Keeps the flag, because other processes may still open it.
    _flag: Option<Arc<Flag>>,
}

impl HostEvent {
    pub(crate) fn new(point: Point, stamp: Option<Stamp>) -> Self {
        Self { point, stamp, _flag: None }
    }

    /// An event that other processes may wait for.
    pub(crate) fn exported(point: Point, flag: Arc<Flag>) -> Self {
        Self { point, stamp: None, _flag: Some(flag) }
    }

    /// The time between two timed events that are over.
    pub(crate) fn elapsed(&self, to: &Self) -> Option<Duration> {
        Some(to.time()?.saturating_duration_since(self.time()?))
    }

    fn time(&self) -> Option<Instant> {
        let stamp = self.stamp.as_ref().filter(|_| self.point.is_over())?;
        // The thread that notes the time may not have done so yet.
        Some(*stamp.get_or_init(Instant::now))
    }
}

// SAFETY: the turns of the point are over when it says so, and a turn that is over touches nothing.
unsafe impl Event for HostEvent {
    fn query(&self) -> Result<bool> {
        Ok(self.point.is_over())
    }

    fn synchronize(&self) -> Quiesced {
        self.point.wait();
        Quiesced::Done
    }
}
