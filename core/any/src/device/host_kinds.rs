//! Kinds of host memory.
#![allow(unsafe_code)] // implements unsafe traits by forwarding

use std::{num::NonZeroUsize, ops::Range};

use devarray::{
    Result,
    backend::{Advice, AllocHost, HostFlags, Location, ManagedMemory, MapHost, RegisterHost},
};

use super::AnyDevice;
use crate::{AnyBuffer, AnyHostBuffer, AnyManagedBuffer, AnyStream, buffer::BufferRef, stream::mixed};

each_backend!(one_of_each! {
    /// A range of host memory that an [`AnyDevice`] pinned.
    AnyRegistration: [devarray_cuda::CudaRegistration, (), devarray_mock::MockRegistration]
});

macro_rules! slow_reads {
    ({ $memory:ident } $({ $feature:tt $variant:ident $field:ident $as:ident $device:ty, $name:literal })*) => {
        match $memory {
            $(
                #[cfg(feature = $feature)]
                AnyHostBuffer::$variant(memory) => <$device as AllocHost>::note_slow_read(memory),
            )*
        }
    };
}

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl AllocHost for AnyDevice {
    #[inline]
    #[track_caller]
    fn alloc_host_as(&self, len_bytes: NonZeroUsize, flags: HostFlags) -> Result<AnyHostBuffer> {
        on_each!((Self, self, device) => device.alloc_host_as(len_bytes, flags).map(AnyHostBuffer::from))
    }

    #[inline]
    #[track_caller]
    fn note_slow_read(memory: &AnyHostBuffer) {
        each_backend!(slow_reads! { memory });
    }
}

// SAFETY: forwards to a device whose implementor vouches for it, or does nothing.
unsafe impl MapHost for AnyDevice {
    #[inline]
    #[track_caller]
    fn map_host(&self, memory: &AnyHostBuffer) -> Result<AnyBuffer> {
        on_each!((Self, self, device), (AnyHostBuffer, memory, memory) => {
            device.map_host(memory).map(AnyBuffer::from)
        }, else Err(mixed(self.backend(), "map_host")))
    }
}

// SAFETY: forwards to a device whose implementor vouches for it, or does nothing.
unsafe impl RegisterHost for AnyDevice {
    type Registration = AnyRegistration;

    #[inline]
    #[track_caller]
    unsafe fn register_host(&self, start: *mut u8, len_bytes: NonZeroUsize) -> Result<AnyRegistration> {
        on_each!((Self, self, device) => {
            // SAFETY: what the caller promises is what the device asks.
            unsafe { device.register_host(start, len_bytes) }.map(AnyRegistration::from)
        })
    }

    #[inline]
    #[track_caller]
    fn unregister_host(&self, registration: AnyRegistration) -> Result<()> {
        on_each!((Self, self, device), (AnyRegistration, registration, registration) => {
            device.unregister_host(registration)
        }, else Err(mixed(self.backend(), "unregister_host")))
    }
}

// SAFETY: forwards to a device whose implementor vouches for it, or does nothing.
unsafe impl ManagedMemory for AnyDevice {
    type ManagedBuffer = AnyManagedBuffer;

    #[inline]
    #[track_caller]
    fn alloc_managed(&self, len_bytes: NonZeroUsize) -> Result<AnyManagedBuffer> {
        on_each!((Self, self, device) => device.alloc_managed(len_bytes).map(AnyManagedBuffer::from))
    }

    #[inline]
    #[track_caller]
    fn managed_buffer(&self, memory: &AnyManagedBuffer) -> Result<AnyBuffer> {
        on_each!((Self, self, device), (AnyManagedBuffer, memory, memory) => {
            device.managed_buffer(memory).map(AnyBuffer::from)
        }, else Err(mixed(self.backend(), "managed_buffer")))
    }

    #[inline]
    #[track_caller]
    unsafe fn prefetch(
        &self,
        stream: &AnyStream,
        buffer: &AnyBuffer,
        bytes: Range<usize>,
        to: Location,
    ) -> Result<()> {
        on_each!((Self, self, device), (AnyStream, stream, stream), (BufferRef, buffer.one(), buffer) => {
            // SAFETY: what the caller promises is what the device asks.
            unsafe { device.prefetch(stream, buffer, bytes, to) }
        }, else Err(mixed(stream.backend(), "prefetch")))
    }

    #[inline]
    #[track_caller]
    unsafe fn advise(&self, buffer: &AnyBuffer, bytes: Range<usize>, advice: Advice) -> Result<()> {
        on_each!((Self, self, device), (BufferRef, buffer.one(), buffer) => {
            // SAFETY: what the caller promises is what the device asks.
            unsafe { device.advise(buffer, bytes, advice) }
        }, else Err(mixed(self.backend(), "advise")))
    }
}
