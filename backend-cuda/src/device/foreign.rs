//! Device memory and streams of other code.
#![allow(unsafe_code)] // asks the driver about addresses and streams that the callers vouch for

use std::{ffi::c_int, num::NonZeroUsize, ops::Range, ptr};

use devarray::{
    Error, Result,
    backend::{Device, ForeignMemory, ForeignStream},
};

use super::{CudaDevice, CudaStream};
use crate::{
    driver::{
        BACKEND, INVALID_VALUE,
        sys::{CUevent, CUpointer_attribute, CUstream},
    },
    memory::CudaBuffer,
};

/// Memory that is used but not owned, so nothing needs to be given back.
#[derive(Debug)]
pub struct CudaAdopted(());

/// The driver's handle for the number by which interfaces name a stream. The default streams are 1
/// and 2 (cuda.h, `CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD`). Returns an error for a stream that
/// no caller vouched for.
fn handle(operation: &'static str, stream: ForeignStream) -> Result<CUstream> {
    let name = usize::try_from(stream.name()).ok().filter(|_| stream.owner().is_none());
    let name = name.ok_or(Error::DeviceMismatch { backend: BACKEND, operation })?;
    Ok(ptr::with_exposed_provenance_mut(name))
}

impl CudaDevice {
    /// Blocks until all work is finished that any code of the process gave the device, on any
    /// stream. It is for memory that comes back from code that does not name its stream.
    ///
    /// # Errors
    ///
    /// Some of the work, or the wait itself, failed.
    pub fn finish(&self) -> Result<()> {
        self.context().call("finish", |driver| {
            // SAFETY: the context is bound.
            unsafe { driver.ctx_synchronize() }
        })
    }
}

impl CudaStream {
    /// Makes everything enqueued later run after an event of other code, given by the driver's
    /// handle. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any driver error.
    ///
    /// # Safety
    ///
    /// The event exists, and belongs to this device or another one of the process.
    pub unsafe fn wait_for_foreign_event(&self, event: CUevent) -> Result<()> {
        self.raw.wait_on("wait_for_foreign_event", event)
    }
}

// SAFETY: the address space is one for the process, so operations reach the memory at the address.
// A wait for an event, recorded on the one stream, orders the later work of the other (cuda.h,
// `cuStreamWaitEvent`).
unsafe impl ForeignMemory for CudaDevice {
    type Adopted = CudaAdopted;

    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(CudaBuffer, CudaAdopted)> {
        let operation = "adopt";
        let mut ordinal: c_int = -1;
        self.context().call(operation, |driver| {
            let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
            let first = start + bytes.start as u64;
            // SAFETY: the attribute is an `int`; any address may be asked about.
            unsafe { driver.pointer_get_attribute((&raw mut ordinal).cast(), attribute, first) }
        })?;
        if usize::try_from(ordinal).is_ok_and(|ordinal| ordinal != self.info().ordinal) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        // A driver returns -2 if memory belongs to no single device.
        // SAFETY: passed on to the caller; the device has the memory, or the driver named no device.
        unsafe { self.adopt_unchecked(start, bytes) }
    }

    unsafe fn adopt_unchecked(&self, start: u64, bytes: Range<usize>) -> Result<(CudaBuffer, CudaAdopted)> {
        let invalid = || self.context().error("adopt", INVALID_VALUE);
        let len_bytes = NonZeroUsize::new(bytes.end).ok_or_else(invalid)?;
        Ok((CudaBuffer::new(self.context(), start, len_bytes), CudaAdopted(())))
    }

    fn wait_for_foreign(&self, stream: &CudaStream, other: ForeignStream) -> Result<()> {
        let other = handle("wait_for_foreign", other)?;
        self.context().check_driver("wait", stream.context())?;
        let crossing = &self.open.crossing;
        crossing.after(self.context(), other, |event| stream.raw.wait_on("wait", event))
    }

    fn foreign_waits(&self, other: ForeignStream, stream: &CudaStream) -> Result<()> {
        let operation = "foreign_waits";
        self.context().check_driver(operation, stream.context())?;
        let other = handle(operation, other)?;
        let crossing = &stream.open.crossing;
        // The other stream exists, because whoever named it vouched for that.
        crossing
            .after(stream.context(), stream.raw.raw(), |event| self.context().wait(operation, other, event))
    }
}
