//! Events with a simulated time.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::time::Duration;

use devarray::{
    Result,
    backend::{Capability, Timing},
};

use super::{MockDevice, event::MockEvent, stream::MockStream};
use crate::time::Stamp;

// SAFETY: the event is recorded as any other is; only that it also keeps a time is different.
unsafe impl Timing for MockDevice {
    #[track_caller]
    fn record_timed(&self, stream: &MockStream) -> Result<MockEvent> {
        self.check("record_timed", Capability::EventTiming)?;
        stream.record_stamped(Some(Stamp::default()))
    }

    /// Simulated time: one thing happens at a time, over the host and all streams. An operation
    /// takes a microsecond and a nanosecond for each 1,000 bytes that it moves, one that moves
    /// none a tenth of a microsecond, and so does a call of the host. So time depends on the
    /// schedule, and on nothing else.
    fn elapsed(&self, from: &MockEvent, to: &MockEvent) -> Result<Option<Duration>> {
        let at = |event: &MockEvent| event.stamp.as_ref().and_then(|stamp| stamp.get().copied());
        Ok(at(to).zip(at(from)).map(|(to, from)| to.saturating_sub(from)))
    }
}
