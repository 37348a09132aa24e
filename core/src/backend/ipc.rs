//! Memory and events that other processes open.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{
    fmt::{self, Debug},
    num::NonZeroUsize,
    ops::Range,
};

use super::Device;
use crate::Result;

/// A name of memory, or of an event, for another process: bytes defined by the backend.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "64 bytes by definition")]
pub struct IpcToken(pub [u8; 64]);

/// Memory named to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "backends make and read it")]
pub struct IpcMemory {
    /// The allocation.
    pub token: IpcToken,
    /// The start in it of the buffer that was exported.
    pub offset_bytes: i64,
    /// Bytes of that buffer.
    pub len_bytes: u64,
}

/// Sharing memory with other processes: the capability [`Ipc`](super::Capability::Ipc).
///
/// # For callers
///
/// Programs use [the module of this door](crate::ipc).
///
/// # Safety
///
/// Like [`Device`]. The buffers that [`alloc_exportable`](Self::alloc_exportable) and
/// [`open_memory`](Self::open_memory) answer keep the contract of a [`Buffer`](super::Buffer) until
/// what is answered with them is dropped, except that they are never given to
/// [`Stream::free`](super::Stream::free), and that buffers over the same memory may share bytes.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` shares nothing with other processes",
    label = "not a `Ipc`",
    note = "a backend that can implements `backend::Ipc`; code that needs it takes `D: Ipc`"
)]
pub unsafe trait Ipc: Device {
    /// Exportable memory. Dropping it frees the memory at once; core drops it when no operation
    /// uses it any more.
    type Exportable: Debug + Send + Sync + 'static;
    /// Memory of another process, opened. Dropping it closes it; core drops it when no operation
    /// uses it any more. Memory opened twice is closed twice.
    type Opened: Debug + Send + Sync + 'static;

    /// A number that no other process has.
    fn process(&self) -> u64;

    /// Allocates memory that can be exported, uninitialized, usable by every stream at once. May
    /// block.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - [`OutOfMemory`](crate::Error::OutOfMemory), and any other device error.
    fn alloc_exportable(&self, len_bytes: NonZeroUsize) -> Result<(Self::Buffer, Self::Exportable)>;

    /// Names a buffer. Some of its bytes are in use.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability, or the
    ///   memory cannot be exported.
    /// - Any other device error.
    fn export_memory(&self, buffer: &Self::Buffer, bytes: Range<usize>) -> Result<IpcMemory>;

    /// Opens memory of another process.
    ///
    /// # Errors
    ///
    /// [`Handle`](crate::Error::Handle): it is not there. Any other device error.
    ///
    /// # Safety
    ///
    /// Another process exported it from the same device, and keeps it until what is answered was
    /// dropped.
    unsafe fn open_memory(&self, memory: &IpcMemory) -> Result<(Self::Buffer, Self::Opened)>;

    /// Like [`Stream::record`](super::Stream::record), an event that can be named to other processes,
    /// and its name.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::Error::Unsupported): the device does not have the capability. Any other
    /// device error.
    fn record_exported(&self, stream: &Self::Stream) -> Result<(Self::Event, IpcToken)>;

    /// Like [`Stream::wait`](super::Stream::wait), for an event of another process.
    ///
    /// # Errors
    ///
    /// [`Handle`](crate::Error::Handle): it is not there. Any other device error.
    ///
    /// # Safety
    ///
    /// Another process made it on the same device, and has not dropped it.
    unsafe fn wait_exported(&self, stream: &Self::Stream, event: &IpcToken) -> Result<()>;
}

impl Debug for IpcToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IpcToken(")?;
        self.0[..16].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}
