//! Devices, as interfaces between libraries name them: for authors of doors.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{ffi::c_void, fmt};

use devarray::{ErasedView, Result, backend::ForeignMemory};

/// The device of memory, as DLPack and Arrow number it (`DLDevice`, dlpack.h; `ARROW_DEVICE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct DeviceId {
    /// The kind of memory: one of the constants of this type, or one that nobody here knows.
    pub device_type: i32,
    /// The number of the device; 0 for memory of the host.
    pub device_id: i32,
}

impl DeviceId {
    /// Memory of the host.
    pub const CPU: i32 = 1;
    /// Memory of a CUDA device.
    pub const CUDA: i32 = 2;
    /// Memory of the host, pinned for CUDA.
    pub const CUDA_HOST: i32 = 3;
    /// Memory that CUDA moves.
    pub const CUDA_MANAGED: i32 = 13;

    /// A kind and a number.
    #[must_use]
    pub const fn new(device_type: i32, device_id: i32) -> Self {
        Self { device_type, device_id }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.device_type {
            Self::CPU => "cpu",
            Self::CUDA => "cuda",
            Self::CUDA_HOST => "cuda_host",
            Self::CUDA_MANAGED => "cuda_managed",
            other => return write!(f, "(type {other}, number {})", self.device_id),
        };
        write!(f, "{kind}:{}", self.device_id)
    }
}

/// A device whose memory can go through the doors.
///
/// Other backends can implement it too: the required methods name the device, its streams and its
/// events to other code, and wait for the work of other code.
///
/// # Safety
///
/// The contract of [`ForeignMemory`] holds. Addresses are what the methods say, as long as the
/// memory is allocated. If the device [is the host's](Self::is_host), the memory holds, after a
/// wait of the host, the results of all work that was waited for. Waits for events make the order
/// that they promise.
#[diagnostic::on_unimplemented(
    message = "memory of the device `{Self}` does not go through the doors",
    note = "the features `cuda` and `mock` of devarray-interop open them for these backends"
)]
pub unsafe trait Door: ForeignMemory {
    /// The number of this device in other code.
    fn id(&self) -> DeviceId;

    /// Whether this device reaches memory of `other` at its address.
    fn reaches(&self, other: DeviceId) -> bool;

    /// Whether other code sees the memory as host memory. If so, there are no streams, and waits of
    /// the host make the order; otherwise streams do.
    fn is_host(&self) -> bool {
        false
    }

    /// The address that other code uses for an address of the device; none if it has none.
    fn address_outside(&self, address: u64) -> Option<u64> {
        Some(address)
    }

    /// Other code on the host has the elements from now on, and may write them if `write` is set.
    /// All work on them is finished.
    fn lend_to_host(&self, elements: &ErasedView<'_, Self>, write: bool) {
        let _ = (elements, write);
    }

    /// Blocks until all work that any code gave the device is finished.
    ///
    /// # Errors
    ///
    /// Any device error.
    fn finish(&self) -> Result<()>;

    /// The number of a stream of this device in interfaces; none on a device of the host.
    fn stream_number(stream: &Self::Stream) -> Option<u64>;

    /// The handle of an event, as other code has it; none on a device of the host.
    fn event_handle(event: &Self::Event) -> Option<*mut c_void>;

    /// Makes everything that is enqueued later run after an event of other code, given by its
    /// handle. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any device error.
    ///
    /// # Safety
    ///
    /// The event exists, and is of the kind that this device has.
    unsafe fn wait_for_event(stream: &Self::Stream, handle: *mut c_void) -> Result<()>;
}
