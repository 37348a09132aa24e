//! Events with a simulated time.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use devarray::{
    Result,
    backend::{Capability, Timing},
};

use crate::{device::MockDevice, event::MockEvent, stream::MockStream};

/// When an event was reached; nothing before.
pub(crate) type Stamp = Arc<OnceLock<Duration>>;

/// Time of a host call, besides its waits.
pub(crate) const CALL_TIME: Duration = Duration::from_nanos(100);

/// Time of an operation that moves no bytes.
const STEP_TIME: Duration = Duration::from_nanos(100);

/// Time of an operation that moves bytes, besides the bytes.
const OPERATION_TIME: Duration = Duration::from_micros(1);

/// Bytes that are moved in a nanosecond.
const BYTES_A_NANOSECOND: u64 = 1000;

/// The simulated time of an operation: a microsecond, and a nanosecond for each 1,000 bytes; a
/// tenth of a microsecond if it moves none.
pub(crate) fn time_of(len_bytes: usize) -> Duration {
    match len_bytes {
        0 => STEP_TIME,
        _ => OPERATION_TIME + Duration::from_nanos(len_bytes as u64 / BYTES_A_NANOSECOND),
    }
}

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
