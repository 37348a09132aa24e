//! Device memory, and pinned host memory.
#![allow(unsafe_code)] // frees pinned memory; vouches for the contract of the traits

use std::{fmt, num::NonZeroUsize, sync::Arc};

use devarray::{
    Result,
    backend::{Buffer, HostBuffer, HostFlags},
};

use crate::{
    context::Context,
    driver::{OUT_OF_MEMORY, out_of_memory, sys, sys::CUdeviceptr},
    handle::Handle,
};

/// Device memory from the stream-ordered pool of a device.
///
/// An operation frees it, not a drop: see [`Buffer`]. A buffer over memory that was mapped or
/// adopted is not freed at all.
///
/// The stream on which it is freed keeps the last 8 blocks of at most 1 MiB, and allocates them
/// again without the driver. They count as free: they go back to the pool when it is queried or
/// trimmed, and when memory is short.
pub struct CudaBuffer {
    address: CUdeviceptr,
    len_bytes: NonZeroUsize,
    /// Keeps the device open.
    context: Arc<Context>,
    /// Whether it is memory of the device's pool.
    is_of_pool: bool,
}

impl CudaBuffer {
    pub(crate) fn new(context: &Arc<Context>, address: CUdeviceptr, len_bytes: NonZeroUsize) -> Self {
        Self { address, len_bytes, context: Arc::clone(context), is_of_pool: false }
    }

    /// A buffer over memory of the device's pool.
    pub(crate) fn of_pool(context: &Arc<Context>, address: CUdeviceptr, len_bytes: NonZeroUsize) -> Self {
        Self { is_of_pool: true, ..Self::new(context, address, len_bytes) }
    }

    /// Whether other devices reach the memory that [reach into](Context::reach_into) this one. Memory that
    /// other code allocated may be open to its own device alone.
    pub(crate) fn is_of_pool(&self) -> bool {
        self.is_of_pool
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn nonzero_len_bytes(&self) -> NonZeroUsize {
        self.len_bytes
    }
}

// SAFETY: the fields never change. The pool gives out ranges that do not overlap, and takes one
// back only by `Stream::free`. "Any address … returned by one of the memory allocation routines
// from the driver or runtime API is always aligned to at least 256 bytes" (CUDA C++ Programming
// Guide, "Device Memory Accesses").
unsafe impl Buffer for CudaBuffer {
    fn len_bytes(&self) -> usize {
        self.len_bytes.get()
    }

    fn address(&self) -> u64 {
        self.address
    }
}

/// Page-locked host memory that the device itself reads and writes.
#[derive(Debug)]
pub struct CudaHostBuffer {
    start: Handle<u8>,
    len_bytes: NonZeroUsize,
    flags: HostFlags,
    context: Arc<Context>,
}

impl CudaHostBuffer {
    pub(crate) fn alloc(context: &Arc<Context>, len_bytes: NonZeroUsize, flags: HostFlags) -> Result<Self> {
        let bits = [
            (flags.portable, sys::CU_MEMHOSTALLOC_PORTABLE),
            (flags.mapped, sys::CU_MEMHOSTALLOC_DEVICEMAP),
            (flags.write_combined, sys::CU_MEMHOSTALLOC_WRITECOMBINED),
        ];
        let bits = bits.iter().filter(|(wanted, _)| *wanted).fold(0, |bits, (_, bit)| bits | bit);
        let allocated = context.bind().and_then(|driver| driver.alloc_host(len_bytes.get(), bits));
        let start = allocated.map_err(|failure| match failure {
            OUT_OF_MEMORY => out_of_memory("alloc_host", len_bytes.get(), None),
            _ => context.error("alloc_host", failure),
        })?;
        Ok(Self { start: Handle::new(start.cast()), len_bytes, flags, context: Arc::clone(context) })
    }

    /// The flags of its allocation.
    #[must_use]
    pub fn flags(&self) -> HostFlags {
        self.flags
    }
}

// SAFETY: it is zeroed when allocated, page-aligned, only reached through a raw pointer, and only
// freed by drop.
unsafe impl HostBuffer for CudaHostBuffer {
    fn len_bytes(&self) -> usize {
        self.len_bytes.get()
    }

    fn as_ptr(&self) -> *mut u8 {
        self.start.raw()
    }
}

impl Drop for CudaHostBuffer {
    fn drop(&mut self) {
        self.context.release("free_host", |driver| {
            // SAFETY: allocated by `alloc`, freed once; core drops it only when no operation uses
            // it.
            unsafe { driver.mem_free_host(self.start.raw().cast()) }
        });
    }
}

impl fmt::Debug for CudaBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, len_bytes, context, .. } = self;
        write!(f, "CudaBuffer({len_bytes} bytes at {address:#x} on {context:?})")
    }
}
