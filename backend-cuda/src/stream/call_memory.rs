//! Memory that a call needs while it runs.
#![allow(unsafe_code)] // frees memory of its own

use std::num::NonZeroUsize;

use devarray::{Result, backend::Buffer};

use super::RawStream;
use crate::driver::sys::CUdeviceptr;

/// Memory in the order of the stream. Dropping it frees it behind all that was enqueued meanwhile, also if the call
/// failed. Errors of the free go to the driver's list, because what was enqueued stays so.
pub(crate) struct CallMemory<'s> {
    stream: &'s RawStream,
    operation: &'static str,
    address: CUdeviceptr,
}

impl RawStream {
    /// Allocates memory for what is enqueued while it is kept.
    pub(crate) fn call_memory(
        &self,
        operation: &'static str,
        len_bytes: NonZeroUsize,
    ) -> Result<CallMemory<'_>> {
        let address = self.alloc(len_bytes)?.address();
        Ok(CallMemory { stream: self, operation, address })
    }
}

impl CallMemory<'_> {
    pub(crate) fn address(&self) -> CUdeviceptr {
        self.address
    }
}

impl Drop for CallMemory<'_> {
    fn drop(&mut self) {
        self.stream.context().release(self.operation, |driver| {
            // SAFETY: allocated on this stream, freed once, behind all that uses it; the context is bound.
            unsafe { self.stream.free_scratch((driver, self.operation), self.address) };
            Ok(())
        });
    }
}
