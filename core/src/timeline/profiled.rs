//! A device that times each of its operations.
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
    backend::{DeclaredAccess, Device, DeviceInfo, MemoryInfo, Timing},
};

/// A device that times events, and keeps a [`Timeline`] of every call that it gets.
///
/// It is used like the device that it wraps, and adds two timed events to each operation, a few
/// microseconds each on CUDA. So operations without gaps between them take a little longer, and the
/// time of a short operation is mostly the time of its events. Records are kept until
/// [`clear`](Self::clear), a few hundred bytes an operation.
///
/// Times are real. Streams use the device's clock, good to a microsecond; host calls use the
/// host's. The two clocks are aligned when the device is wrapped, to about ten microseconds. The
/// wait of a stream lasts from the time the stream reached it until the stream continued.
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

    /// The finished operations so far. Does not synchronize: wait for the streams first, because
    /// operations that still run are missing.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        let info = self.device.info();
        self.log.timeline(&self.device, format!("{} {}: {}", info.backend, info.ordinal, info.name))
    }

    /// Forgets the records so far, also of running operations, and the streams that are gone. A
    /// dropped stream without records leaves nothing.
    pub fn clear(&self) {
        self.log.clear();
    }

    /// Records later operations (`true`, the default), or leaves them out.
    pub fn set_recording(&self, on: bool) {
        self.log.set_recording(on);
    }

    /// Gives the next operation this number, and later operations the next numbers; after
    /// `u64::MAX` comes 0. By default numbers begin at 0.
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

    #[track_caller]
    fn note_host_access(&self, access: &DeclaredAccess<'_, D::Buffer>) {
        self.device.note_host_access(access);
    }
}
