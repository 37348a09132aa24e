//! Events with a simulated time.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::time::Duration;

use devarray::{
    Result,
    backend::{Capability, Timing},
};

use super::{MockDevice, event::MockEvent, stream::MockStream};
use crate::time::Stamp;

// SAFETY: the event is recorded like any other; it only keeps a time as well.
unsafe impl Timing for MockDevice {
    #[track_caller]
    fn record_timed(&self, stream: &MockStream) -> Result<MockEvent> {
        self.check("record_timed", Capability::EventTiming)?;
        stream.record_stamped(Some(Stamp::default()))
    }

    /// Simulated time: only one thing happens at a time, on the host or any stream. An operation
    /// takes a microsecond, and a nanosecond for each 1,000 bytes that it moves. An operation that
    /// moves no bytes takes a tenth of a microsecond, and so does a call of the host. So time
    /// depends only on the schedule.
    fn elapsed(&self, from: &MockEvent, to: &MockEvent) -> Result<Option<Duration>> {
        let at = |event: &MockEvent| event.stamp.as_ref().and_then(|stamp| stamp.get().copied());
        Ok(at(to).zip(at(from)).map(|(to, from)| to.saturating_sub(from)))
    }
}
