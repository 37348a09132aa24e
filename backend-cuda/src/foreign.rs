//! Device memory of other code.
#![allow(unsafe_code)] // asks the driver about addresses that the callers vouch for

use std::{ffi::c_int, num::NonZeroUsize, ops::Range};

use devarray::{
    Error, Result,
    backend::{Device, ForeignMemory},
};

use crate::{
    BACKEND,
    device::CudaDevice,
    driver::{INVALID_VALUE, sys::CUpointer_attribute},
    memory::CudaBuffer,
};

/// Memory that is used and not owned: nothing is to be given back.
#[derive(Debug)]
pub struct CudaAdopted(());

// SAFETY: the address space is one for the process, so operations reach what is at the address.
unsafe impl ForeignMemory for CudaDevice {
    type Adopted = CudaAdopted;

    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(CudaBuffer, CudaAdopted)> {
        let operation = "adopt";
        let invalid = || self.context().error(operation, INVALID_VALUE);
        let mut ordinal: c_int = -1;
        self.context().call(operation, |driver| {
            let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
            // SAFETY: the attribute is an `int`; any address may be asked about.
            unsafe {
                driver.pointer_get_attribute((&raw mut ordinal).cast(), attribute, start + bytes.start as u64)
            }
        })?;
        if usize::try_from(ordinal).is_ok_and(|ordinal| ordinal != self.info().ordinal) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        // A driver answers -2 where memory is of no one device.
        let len_bytes = NonZeroUsize::new(bytes.end).ok_or_else(invalid)?;
        Ok((CudaBuffer::new(self.context(), start, len_bytes), CudaAdopted(())))
    }
}
