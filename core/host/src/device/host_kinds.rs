//! Kinds of host memory: to this device they are all the same.
#![allow(unsafe_code)] // vouches for the contracts of host memory

use std::{num::NonZeroUsize, ops::Range};

use devarray::{
    Result,
    backend::{Advice, AllocHost, Device as _, HostFlags, Location, ManagedMemory, MapHost, RegisterHost},
};

use super::HostDevice;
use crate::{HostMemory, HostStream, memory::DeviceMemory};

// SAFETY: as for `alloc_host`. The processor caches all memory, whatever the flags ask for.
unsafe impl AllocHost for HostDevice {
    fn alloc_host_as(&self, len_bytes: NonZeroUsize, _: HostFlags) -> Result<HostMemory> {
        self.alloc_host(len_bytes)
    }
}

// SAFETY: the buffer is the memory itself.
unsafe impl MapHost for HostDevice {
    fn map_host(&self, memory: &HostMemory) -> Result<DeviceMemory> {
        Ok(memory.as_device())
    }
}

// SAFETY: nothing needs to be done.
unsafe impl RegisterHost for HostDevice {
    type Registration = ();

    unsafe fn register_host(&self, _: *mut u8, _: NonZeroUsize) -> Result<()> {
        Ok(())
    }

    fn unregister_host(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

// SAFETY: the buffer is the memory itself, which moves nowhere.
unsafe impl ManagedMemory for HostDevice {
    type ManagedBuffer = HostMemory;

    fn alloc_managed(&self, len_bytes: NonZeroUsize) -> Result<HostMemory> {
        HostMemory::alloc(&self.shared.room, "alloc_managed", len_bytes.get())
    }

    fn managed_buffer(&self, memory: &HostMemory) -> Result<DeviceMemory> {
        Ok(memory.as_device())
    }

    unsafe fn prefetch(&self, _: &HostStream, _: &DeviceMemory, _: Range<usize>, _: Location) -> Result<()> {
        Ok(())
    }

    unsafe fn advise(&self, _: &DeviceMemory, _: Range<usize>, _: Advice) -> Result<()> {
        Ok(())
    }
}
