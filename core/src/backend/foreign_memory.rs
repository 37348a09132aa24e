//! Device memory that other code allocated.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{fmt::Debug, ops::Range};

use super::{Device, ForeignStream};
use crate::Result;

/// Using device memory that somebody else owns: the capability
/// [`ForeignMemory`](super::Capability::ForeignMemory).
///
/// # For callers
///
/// [`Array::adopt`](crate::Array::adopt) and
/// [`StreamHandle::wait_for_foreign`](crate::StreamHandle::wait_for_foreign) are the calls of
/// programs.
///
/// # Safety
///
/// Like [`Device`]. Operations reach, in the buffer that [`adopt`](Self::adopt) answers, the memory
/// that was named, byte for byte. Waits between streams order what they say.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` cannot take memory that other code allocated",
    label = "not a `ForeignMemory`",
    note = "a backend that can implements `backend::ForeignMemory`; code that needs it takes `D: ForeignMemory`"
)]
pub unsafe trait ForeignMemory: Device {
    /// The device's record of memory that it uses but does not own. Core drops it when no operation
    /// uses the memory any more, and the memory's owner after it.
    type Adopted: Debug + Send + Sync + 'static;

    /// A buffer that starts at the address `start`, a multiple of 256. Its bytes `bytes`, never
    /// none, are memory that the device reaches. Bytes before them in the buffer may be
    /// anything: no operation names it.
    ///
    /// The buffer may share bytes with others of the device and is never given to
    /// [`Stream::free`](super::Stream::free); else it keeps the contract of a
    /// [`Buffer`](super::Buffer).
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - [`DeviceMismatch`](crate::Error::DeviceMismatch): the memory is of another device.
    /// - [`Driver`](crate::Error::Driver): the device knows no such memory, or another error.
    ///
    /// # Safety
    ///
    /// The memory stays allocated, at that address, until the answered buffer was dropped.
    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(Self::Buffer, Self::Adopted)>;

    /// Like [`adopt`](Self::adopt), of memory that its lender says is this device's: a driver need not
    /// be asked whose it is. Provided as `adopt`.
    ///
    /// # Errors
    ///
    /// The errors of [`adopt`](Self::adopt); that the memory is of another device, or of none, need not be
    /// noticed.
    ///
    /// # Safety
    ///
    /// Like [`adopt`](Self::adopt), and the device reaches the memory.
    unsafe fn adopt_unchecked(
        &self,
        start: u64,
        bytes: Range<usize>,
    ) -> Result<(Self::Buffer, Self::Adopted)> {
        // SAFETY: passed on to the caller.
        unsafe { self.adopt(start, bytes) }
    }

    /// Makes everything enqueued on `stream` later run after all work given to a stream of other
    /// code so far. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - [`DeviceMismatch`](crate::Error::DeviceMismatch): the name is
    ///   [owned](ForeignStream::owner) by another device. It must not reach a driver: anybody can
    ///   make one.
    /// - Any other device error. Nothing is ordered then.
    fn wait_for_foreign(&self, stream: &Self::Stream, other: ForeignStream) -> Result<()>;

    /// Makes all later work of a stream of other code run after everything enqueued on `stream` so
    /// far. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`wait_for_foreign`](Self::wait_for_foreign).
    fn foreign_waits(&self, other: ForeignStream, stream: &Self::Stream) -> Result<()>;
}
