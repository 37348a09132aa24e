//! Kinds of host memory that a device reaches by itself, beside the plain pinned memory of every
//! device.
#![allow(unsafe_code)] // declares unsafe traits; performs no unsafe operation

use std::{fmt::Debug, num::NonZeroUsize};

use super::Device;
use crate::Result;

/// Further properties of pinned memory.
///
/// ```
/// use devarray::backend::HostFlags;
///
/// let flags = HostFlags::new().portable().write_combined();
/// assert!(flags.portable && flags.write_combined && !flags.mapped);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct HostFlags {
    /// Pinned for every device of the backend, not only for the one that allocates it.
    pub portable: bool,
    /// The device may have a buffer over it ([`MapHost`]).
    pub mapped: bool,
    /// The host writes it fast and reads it slowly: for data that only goes to the device.
    pub write_combined: bool,
}

impl HostFlags {
    /// No flags.
    #[must_use]
    pub const fn new() -> Self {
        Self { portable: false, mapped: false, write_combined: false }
    }

    /// With [`portable`](Self#structfield.portable).
    #[must_use]
    pub const fn portable(self) -> Self {
        Self { portable: true, ..self }
    }

    /// With [`mapped`](Self#structfield.mapped).
    #[must_use]
    pub const fn mapped(self) -> Self {
        Self { mapped: true, ..self }
    }

    /// With [`write_combined`](Self#structfield.write_combined).
    #[must_use]
    pub const fn write_combined(self) -> Self {
        Self { write_combined: true, ..self }
    }
}

/// Pinned memory with flags: all of them are honoured, or refused.
///
/// # Safety
///
/// Like [`Device`], and what [`HostBuffer`](super::HostBuffer) asks of the memory.
pub unsafe trait AllocHost: Device {
    /// Allocates zeroed pinned host memory as `flags` say. May block for as long as the driver
    /// takes.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device has no
    ///   [`MappedMemory`](super::Capability::MappedMemory) or
    ///   [`WriteCombinedMemory`](super::Capability::WriteCombinedMemory) and `flags` ask for it.
    /// - The errors of [`Device::alloc_host`].
    fn alloc_host_as(&self, len_bytes: NonZeroUsize, flags: HostFlags) -> Result<Self::HostBuffer>;

    /// The host is about to read memory that was allocated write-combined. A simulator keeps note;
    /// a device does nothing.
    fn note_slow_read(memory: &Self::HostBuffer) {
        let _ = memory;
    }
}

/// Pinned memory that the device reads and writes in place.
///
/// # Safety
///
/// The buffer that [`map_host`](Self::map_host) answers is the memory it was made from: what one
/// side writes the other reads, once an event or a wait puts the two in order. It may be used until
/// that memory is dropped, and keeps [`Buffer`](super::Buffer)'s contract until then, except that
/// it is never given to [`Stream::free`](super::Stream::free).
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` cannot map host memory",
    label = "not a `MapHost`",
    note = "a backend that can implements `backend::MapHost`; code that needs it takes `D: MapHost`"
)]
pub unsafe trait MapHost: AllocHost {
    /// A buffer over pinned memory that was allocated [mapped](HostFlags::mapped). Core asks again
    /// for the same memory only when nothing uses the buffer it had.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::Error::Unsupported): the memory was not allocated so. Any other
    /// device error.
    fn map_host(&self, memory: &Self::HostBuffer) -> Result<Self::Buffer>;
}

/// Pinning host memory that exists already, for a while.
///
/// # Safety
///
/// Registering changes neither the memory's content nor the effect of copies; it only makes them
/// faster. After [`unregister_host`](Self::unregister_host), failed or not, the memory may be
/// freed.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` cannot page-lock memory that is there",
    label = "not a `RegisterHost`",
    note = "a backend that can implements `backend::RegisterHost`; code that needs it takes `D: RegisterHost`"
)]
pub unsafe trait RegisterHost: Device {
    /// A range that is pinned. Dropping one does nothing to the device.
    type Registration: Debug + Send + Sync + 'static;

    /// Pins `len_bytes` bytes from `start` on. A range that is already pinned, by any code, is not
    /// pinned again: its registration is empty, and ending it does nothing.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::Error::Unsupported): the device has no
    /// [`RegisteredMemory`](super::Capability::RegisteredMemory). Out of memory, and any other
    /// device error: nothing was pinned.
    ///
    /// # Safety
    ///
    /// The bytes are allocated, and stay so until the registration was given back.
    unsafe fn register_host(&self, start: *mut u8, len_bytes: NonZeroUsize) -> Result<Self::Registration>;

    /// Ends the pinning. No operation uses the memory any more. A call that fails is tried once
    /// more.
    ///
    /// # Errors
    ///
    /// The memory stays pinned for good, which wastes it but does not endanger its users.
    fn unregister_host(&self, registration: Self::Registration) -> Result<()>;
}
