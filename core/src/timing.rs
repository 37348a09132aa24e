//! Timed events: how long the device took.

use std::{fmt, time::Duration};

use crate::{
    Result,
    backend::Timing,
    stream::{EventHandle, StreamHandle},
};

/// A point in the work of a stream, with the time at which the device reached it.
///
/// The device itself measures the time between two of them, so it does not matter when the host
/// asks:
///
/// ```
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let mut a = Array::<f32, _>::zeros(&stream, &[1000])?;
///
/// let start = stream.record_timed()?;
/// a.view_mut().fill(&stream, 1.0)?;
/// let end = stream.record_timed()?;
/// assert_eq!(end.elapsed_since(&start)?, None, "the device has not done it yet");
///
/// end.event().synchronize()?;
/// assert!(end.elapsed_since(&start)?.is_some_and(|time| !time.is_zero()));
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// Cheap to clone; clones are the same event.
pub struct TimedEvent<D: Timing>(EventHandle<D>);

impl<D: Timing> StreamHandle<D> {
    /// Captures everything submitted so far, and the time at which the device reaches this point.
    /// Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported): the device does not time events.
    /// - The device could not record an event; the stream is unchanged.
    pub fn record_timed(&self) -> Result<TimedEvent<D>> {
        self.record_with(|device, stream| device.record_timed(stream)).map(TimedEvent)
    }
}

impl<D: Timing> TimedEvent<D> {
    /// The event itself, to wait for.
    pub fn event(&self) -> &EventHandle<D> {
        &self.0
    }

    /// The time from an earlier event to this one. It is `None` while the work of either is
    /// unfinished, and zero if this one came first. The two may come from different streams. Does
    /// not synchronize.
    ///
    /// On hardware the unit is real time, good to about half a microsecond on CUDA (`cuda.h`,
    /// `cuEventElapsedTime`); a simulator has a unit of its own.
    ///
    /// # Errors
    ///
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the events belong to two
    ///   contexts.
    /// - Some of the work, or the device, failed.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Option<Duration>> {
        self.0.elapsed_since(&earlier.0, "elapsed_since", |device, from, to| device.elapsed(from, to))
    }
}

impl<D: Timing> Clone for TimedEvent<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Timing> fmt::Debug for TimedEvent<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TimedEvent").field(&self.0).finish()
    }
}
