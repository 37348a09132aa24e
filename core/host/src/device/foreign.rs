//! Memory that other code allocated.
#![allow(unsafe_code)] // takes memory as its caller vouches for it

use std::{ops::Range, ptr};

use devarray::{
    Error, Result,
    backend::{ForeignMemory, ForeignStream},
};

use super::HostDevice;
use crate::{
    HostStream,
    backend::BACKEND,
    memory::{DeviceMemory, are_mapped},
};

// SAFETY: the buffer is the memory that was named. Other code has no streams of this device: its
// work on host memory is finished when it says so, just as the work here is.
unsafe impl ForeignMemory for HostDevice {
    type Adopted = ();

    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(DeviceMemory, ())> {
        let first = usize::try_from(start).ok().and_then(|start| start.checked_add(bytes.start));
        if !first.is_some_and(|first| are_mapped(first, bytes.len())) {
            return Err(unknown());
        }
        // SAFETY: passed on to the caller.
        unsafe { self.adopt_unchecked(start, bytes) }
    }

    unsafe fn adopt_unchecked(&self, start: u64, bytes: Range<usize>) -> Result<(DeviceMemory, ())> {
        let Ok(start) = usize::try_from(start) else { return Err(unknown()) };
        Ok((DeviceMemory::lent(ptr::with_exposed_provenance_mut(start), bytes.end), ()))
    }

    fn wait_for_foreign(&self, _: &HostStream, other: ForeignStream) -> Result<()> {
        known(other, "wait_for_foreign")
    }

    fn foreign_waits(&self, other: ForeignStream, stream: &HostStream) -> Result<()> {
        let _ = stream;
        known(other, "foreign_waits")
    }
}

/// The error for memory that does not exist.
fn unknown() -> Error {
    let (operation, code, name) = ("adopt", -1, "INVALID_ADDRESS".into());
    Error::Driver { backend: BACKEND, operation, code, name }
}

/// Refuses a stream that has an owner: it cannot be this device's.
fn known(other: ForeignStream, operation: &'static str) -> Result<()> {
    match other.owner() {
        Some(_) => Err(Error::DeviceMismatch { backend: BACKEND, operation }),
        None => Ok(()),
    }
}
