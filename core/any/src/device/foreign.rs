//! Memory and streams of other code.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding

use std::ops::Range;

use devarray::{
    Result,
    backend::{ForeignMemory, ForeignStream},
};

use super::AnyDevice;
use crate::{AnyBuffer, AnyStream, stream::mixed};

each_backend!(one_of_each! {
    /// The record of memory that an [`AnyDevice`] uses but does not own.
    AnyAdopted: [devarray_cuda::CudaAdopted, (), devarray_mock::MockAdopted]
});

// SAFETY: forwards to a device whose implementor vouches for it, or does nothing.
unsafe impl ForeignMemory for AnyDevice {
    type Adopted = AnyAdopted;

    #[inline]
    #[track_caller]
    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(AnyBuffer, AnyAdopted)> {
        on_each!((Self, self, device) => {
            // SAFETY: what the caller promises is what the device asks.
            let (buffer, adopted) = unsafe { device.adopt(start, bytes) }?;
            Ok((buffer.into(), adopted.into()))
        })
    }

    #[inline]
    #[track_caller]
    unsafe fn adopt_unchecked(&self, start: u64, bytes: Range<usize>) -> Result<(AnyBuffer, AnyAdopted)> {
        on_each!((Self, self, device) => {
            // SAFETY: what the caller promises is what the device asks.
            let (buffer, adopted) = unsafe { device.adopt_unchecked(start, bytes) }?;
            Ok((buffer.into(), adopted.into()))
        })
    }

    #[inline]
    #[track_caller]
    fn wait_for_foreign(&self, stream: &AnyStream, other: ForeignStream) -> Result<()> {
        on_each!((Self, self, device), (AnyStream, stream, stream) => device.wait_for_foreign(stream, other),
            else Err(mixed(stream.backend(), "wait_for_foreign")))
    }

    #[inline]
    #[track_caller]
    fn foreign_waits(&self, other: ForeignStream, stream: &AnyStream) -> Result<()> {
        on_each!((Self, self, device), (AnyStream, stream, stream) => device.foreign_waits(other, stream),
            else Err(mixed(stream.backend(), "foreign_waits")))
    }
}
