//! A device: where streams, buffers and pinned memory come from.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{fmt::Debug, num::NonZeroUsize};

use super::{Buffer, DeclaredAccess, DeviceInfo, Event, HostBuffer, MemoryInfo, Stream};
use crate::Result;

/// One device and the family of types that belong to it.
///
/// # For callers
///
/// Generic code takes `D: Device` and works with the handles of core: [`Context`](crate::Context),
/// made from a device, and the streams that it opens. Methods of this trait and of [`Stream`] are
/// for core.
///
/// # For backend authors
///
/// The associated types name no element type and no lifetime, and no method is generic. A device is
/// a handle: it may be cheap to clone, and every object made from it must keep alive the objects
/// that it needs.
///
/// # Safety
///
/// The implementor vouches for order, confinement, quiescence and progress, as the page of [this
/// module](super) states them, and for the conditions of the traits of the associated types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no device",
    label = "not a `Device`",
    note = "a backend makes devices: `devarray_mock::MockDevice::new()`, `devarray_cuda::CudaDevice::open(0)?`",
    note = "a device is taken by value, and those of these backends are cheap to clone; code for any of them takes `D: Device`"
)]
pub unsafe trait Device: Debug + Send + Sync + Sized + 'static {
    /// Device memory.
    type Buffer: Buffer;
    /// Pinned host memory.
    type HostBuffer: HostBuffer;
    /// A point in the work of a stream.
    type Event: Event;
    /// An ordered queue of work.
    type Stream: Stream<Device = Self>;

    /// The kind of the device and its capabilities. Does not synchronize. Does not call the driver.
    fn info(&self) -> &DeviceInfo;

    /// Memory free and in total, now. Does not synchronize.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](crate::Error::DeviceLost) or [`Driver`](crate::Error::Driver): the driver
    /// could not say.
    fn memory(&self) -> Result<MemoryInfo>;

    /// Opens a stream that is ordered with no other: neither with a default stream nor with the
    /// host.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost) or
    /// [`Driver`](crate::Error::Driver): no stream was opened.
    fn open_stream(&self) -> Result<Self::Stream>;

    /// Allocates zeroed pinned host memory. May block for as long as the driver takes.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](crate::Error::OutOfMemory), [`DeviceLost`](crate::Error::DeviceLost) or
    /// [`Driver`](crate::Error::Driver): nothing was allocated.
    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<Self::HostBuffer>;

    /// The host is about to read these elements in place, or to write any of them, and has waited for
    /// the work that is in the way. A simulator keeps note; a device does nothing.
    fn note_host_access(&self, access: &DeclaredAccess<'_, Self::Buffer>) {
        let _ = access;
    }
}
