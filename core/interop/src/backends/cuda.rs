//! Devices of the CUDA backend.
#![allow(unsafe_code)] // vouches for the contract of a door

use std::ffi::c_void;

use devarray::{Device, Result};
use devarray_cuda::{CudaDevice, CudaEvent, CudaStream};

use crate::{Door, device::DeviceId};

// SAFETY: the address space is one for host and devices (CUDA C++ Programming Guide, "Unified
// Virtual Addressing"); numbers of streams and events are the driver's handles.
unsafe impl Door for CudaDevice {
    fn id(&self) -> DeviceId {
        DeviceId::new(DeviceId::CUDA, i32::try_from(self.info().ordinal).unwrap_or(i32::MAX))
    }

    fn reaches(&self, other: DeviceId) -> bool {
        match other.device_type {
            DeviceId::CUDA => other == self.id(),
            // Such memory belongs to no single device, so the number says nothing.
            DeviceId::CUDA_HOST | DeviceId::CUDA_MANAGED => true,
            _ => false,
        }
    }

    fn finish(&self) -> Result<()> {
        Self::finish(self)
    }

    fn stream_number(stream: &CudaStream) -> Option<u64> {
        Some(stream.raw().expose_provenance() as u64)
    }

    fn event_handle(event: &CudaEvent) -> Option<*mut c_void> {
        Some(event.raw().cast())
    }

    unsafe fn wait_for_event(stream: &CudaStream, handle: *mut c_void) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { stream.wait_for_foreign_event(handle.cast()) }
    }
}
