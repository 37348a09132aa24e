//! Memory that host and device share, and that moves between them by itself.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{num::NonZeroUsize, ops::Range};

use super::{Device, HostBuffer};
use crate::Result;

/// The place of managed memory, present or wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Location {
    /// The memory of the device that allocated it.
    Device,
    /// The memory of the host.
    Host,
}

/// A program's use of managed memory, as a hint: it does not change the values read
/// and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Mostly read: each reader may have a copy.
    ReadMostly,
    /// No longer [`ReadMostly`](Self::ReadMostly).
    NotReadMostly,
    /// Keep it there if possible.
    Prefer(Location),
    /// No longer [`Prefer`](Self::Prefer).
    NoPreference,
    /// Keep it reachable from there without faults.
    AccessedBy(Location),
    /// No longer [`AccessedBy`](Self::AccessedBy).
    NotAccessedBy(Location),
}

/// Memory at one address for host and device, which moves between them on demand.
///
/// Declared as [`Capability::ManagedMemory`](super::Capability::ManagedMemory) only where the host
/// may touch one such memory while the device works on another.
///
/// # Safety
///
/// Like [`Device`]; [`ManagedBuffer`](Self::ManagedBuffer) keeps the contract of a [`HostBuffer`],
/// and the buffer that [`managed_buffer`](Self::managed_buffer) answers keeps the contract of a mapped one
/// ([`MapHost`](super::MapHost)).
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` has no managed memory",
    label = "not a `ManagedMemory`",
    note = "a backend that can implements `backend::ManagedMemory`; code that needs it takes `D: ManagedMemory`"
)]
pub unsafe trait ManagedMemory: Device {
    /// Managed memory, as the host holds it. Dropping one frees it; core drops it only when no
    /// operation uses it any more.
    type ManagedBuffer: HostBuffer;

    /// Allocates zeroed managed memory. All live managed memory together is never more than the
    /// device has free: memory that does not fit would have to move on every use.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device has no managed memory.
    /// - [`OutOfMemory`](crate::Error::OutOfMemory): less is free. Any other device error.
    fn alloc_managed(&self, len_bytes: NonZeroUsize) -> Result<Self::ManagedBuffer>;

    /// Returns the same memory as the device knows it. Core asks once for each.
    ///
    /// # Errors
    ///
    /// Any device error.
    fn managed_buffer(&self, memory: &Self::ManagedBuffer) -> Result<Self::Buffer>;

    /// Moves bytes of managed memory, in stream order. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued.
    ///
    /// # Safety
    ///
    /// The bytes lie inside the buffer, which is of managed memory. The memory is there until the
    /// operation is over.
    unsafe fn prefetch(
        &self,
        stream: &Self::Stream,
        buffer: &Self::Buffer,
        bytes: Range<usize>,
        to: Location,
    ) -> Result<()>;

    /// Tells the device about the use of bytes of managed memory. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Nothing changed.
    ///
    /// # Safety
    ///
    /// The bytes lie inside the buffer, which is of managed memory.
    unsafe fn advise(&self, buffer: &Self::Buffer, bytes: Range<usize>, advice: Advice) -> Result<()>;
}
