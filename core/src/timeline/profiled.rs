//! A device whose every operation is timed.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

mod captured;
mod captured_operations;
mod event;
mod extras;
mod log;
mod stream;

use std::{num::NonZeroUsize, sync::Arc};

pub use event::ProfiledEvent;
use log::Log;
pub use stream::ProfiledStream;

use super::Timeline;
use crate::{
    Result,
    backend::{Device, DeviceInfo, MemoryInfo, Timing},
};

/// A device that times events, and keeps a [`Timeline`] of everything it is asked for.
///
/// It is used like the device that it wraps, and adds two timed events to each operation, a few
/// microseconds each on CUDA. So operations without gaps between them take a little longer, and the
/// times of short ones are mostly times of the events. Records are kept until
/// [`clear`](Self::clear), a few hundred bytes an operation.
///
/// Times are real. Streams use the device's clock, good to a microsecond; host calls use the
/// host's. The two clocks are aligned when the device is wrapped, to about ten microseconds. A wait
/// of a stream lasts from when the stream came to it until it went on.
///
/// A launch of [recorded work](crate::recorded) that the device captures is one operation, `launch`. Its note counts
/// the captured operations: `7 operations: 4 map, 2 reduce, 1 fill`. If the device captures nothing, each operation is
/// listed, with the line of the recorded call.
///
/// Clones are one device. It has the extras of the device it wraps.
#[derive(Debug)]
pub struct Profiled<D: Timing> {
    device: Arc<D>,
    log: Arc<Log<D>>,
}

impl<D: Timing> Profiled<D> {
    /// Wraps a device. Synchronizes with a stream that it opens and drops.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::Error::Unsupported): the device does not time events. It cannot open
    /// a stream, or fails.
    pub fn new(device: D) -> Result<Self> {
        let log = Arc::new(Log::new(&device)?);
        Ok(Self { device: Arc::new(device), log })
    }

    /// The device it wraps.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The finished operations so far. Does not synchronize: wait for the streams first, or running
    /// operations are missing.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        let info = self.device.info();
        self.log.timeline(&self.device, format!("{} {}: {}", info.backend, info.ordinal, info.name))
    }

    /// Forgets the records so far, also of running operations; also the streams that are
    /// gone. Nothing is remembered of a stream that is dropped when nothing is recorded of it.
    pub fn clear(&self) {
        self.log.clear();
    }

    /// Records later operations (`true`, the default), or leaves them out.
    pub fn set_recording(&self, on: bool) {
        self.log.set_recording(on);
    }

    /// Gives the next operation this number, and later operations the next numbers; after
    /// `u64::MAX` comes 0. They count from 0 otherwise.
    pub fn number_next(&self, number: u64) {
        self.log.number_next(number);
    }
}

impl<D: Timing> Clone for Profiled<D> {
    fn clone(&self) -> Self {
        Self { device: Arc::clone(&self.device), log: Arc::clone(&self.log) }
    }
}

// SAFETY: every method forwards to a device whose implementor vouches for it.
unsafe impl<D: Timing> Device for Profiled<D> {
    type Buffer = D::Buffer;
    type HostBuffer = D::HostBuffer;
    type Event = ProfiledEvent<D>;
    type Stream = ProfiledStream<D>;

    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn memory(&self) -> Result<MemoryInfo> {
        self.device.memory()
    }

    fn open_stream(&self) -> Result<ProfiledStream<D>> {
        Ok(ProfiledStream::new(self.clone(), self.device.open_stream()?))
    }

    #[track_caller]
    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<D::HostBuffer> {
        self.device.alloc_host(len_bytes)
    }
}
