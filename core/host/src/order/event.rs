//! A point that was recorded.
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
    /// When it was over, of a timed event.
    stamp: Option<Stamp>,
    /// Other processes may still open it.
    _flag: Option<Arc<Flag>>,
}

impl HostEvent {
    pub(crate) fn new(point: Point, stamp: Option<Stamp>) -> Self {
        Self { point, stamp, _flag: None }
    }

    /// One that other processes wait for.
    pub(crate) fn exported(point: Point, flag: Arc<Flag>) -> Self {
        Self { point, stamp: None, _flag: Some(flag) }
    }

    /// The time between two timed events that are over.
    pub(crate) fn elapsed(&self, to: &Self) -> Option<Duration> {
        Some(to.time()?.saturating_duration_since(self.time()?))
    }

    fn time(&self) -> Option<Instant> {
        let stamp = self.stamp.as_ref().filter(|_| self.point.is_over())?;
        // The thread that notes it may not have come to it.
        Some(*stamp.get_or_init(Instant::now))
    }
}

// SAFETY: what it names is over when it says so, and a turn that is over touches nothing.
unsafe impl Event for HostEvent {
    fn query(&self) -> Result<bool> {
        Ok(self.point.is_over())
    }

    fn synchronize(&self) -> Quiesced {
        self.point.wait();
        Quiesced::Done
    }
}
