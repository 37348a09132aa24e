//! Memory in place: a buffer is host memory.
#![allow(unsafe_code)] // vouches for the contract of memory that the host reaches

use std::ptr::NonNull;

use devarray::backend::HostReachable;

use super::HostDevice;
use crate::memory::DeviceMemory;

// SAFETY: a block is memory of the system that was zeroed at first; operations are over when their
// turns are. Memory of other code, and pages that other processes may open, are refused.
unsafe impl HostReachable for HostDevice {
    fn host_address(&self, buffer: &DeviceMemory) -> Option<NonNull<u8>> {
        if buffer.is_own() { NonNull::new(buffer.at(0)) } else { None }
    }
}
