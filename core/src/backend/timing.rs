//! The time that work took, as the device saw it.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::time::Duration;

use super::Device;
use crate::Result;

/// Events that carry a time: the capability [`EventTiming`](super::Capability::EventTiming).
///
/// # For callers
///
/// Programs call [`StreamHandle::record_timed`](crate::StreamHandle::record_timed).
///
/// # For backend authors
///
/// Recording a time may cost more than recording none, so plain events have none.
///
/// # Safety
///
/// The event of [`record_timed`](Self::record_timed) is as
/// [`Stream::record`](super::Stream::record) makes it.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` cannot tell when work ran",
    label = "not a `Timing`",
    note = "a backend that can implements `backend::Timing`; code that needs it takes `D: Timing`"
)]
pub unsafe trait Timing: Device {
    /// Like [`Stream::record`](super::Stream::record), and the event keeps the time at which the
    /// stream reaches it. Does not synchronize.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::Error::Unsupported) if the device does not have the capability; else as
    /// [`Stream::record`](super::Stream::record).
    fn record_timed(&self, stream: &Self::Stream) -> Result<Self::Event>;

    /// The time from one event to another, both timed and of this device: none if the work of
    /// either is not finished, zero if the second came first. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`Event::query`](super::Event::query).
    fn elapsed(&self, from: &Self::Event, to: &Self::Event) -> Result<Option<Duration>>;
}
