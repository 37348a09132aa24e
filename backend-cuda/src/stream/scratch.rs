//! Memory of a stream for the parts of one small reduction, which operations use one after another.
#![allow(unsafe_code)] // clears and frees memory of its own

use std::num::NonZeroUsize;

use devarray::{Result, backend::Buffer};

use super::{RawStream, held::Purpose};
use crate::{driver::sys::CUdeviceptr, handle::locked};

/// The size of the memory. The first [`COUNTERS_BYTES`] are 0 between operations.
const LEN_BYTES: NonZeroUsize = NonZeroUsize::new(36 * 1024).unwrap();

/// Bytes of counters, of 4 bytes each.
pub(crate) const COUNTERS_BYTES: u64 = 4 * 1024;

/// The address, once it was needed.
pub(super) type Scratch = Option<CUdeviceptr>;

impl RawStream {
    /// The address of the memory, which is allocated on first use. Does not synchronize.
    pub(crate) fn scratch(&self) -> Result<CUdeviceptr> {
        if let Some(held) = &self.held {
            let mut held = locked(held);
            let address = held.alloc(self, (Purpose::Reductions, LEN_BYTES), Self::clear_scratch)?;
            // Operations of one call use it one after another.
            held.free(address);
            return Ok(address);
        }
        let mut scratch = locked(&self.scratch);
        if let Some(address) = *scratch {
            return Ok(address);
        }
        let address = self.alloc(LEN_BYTES)?.address();
        *scratch = Some(address);
        let cleared = self.clear_scratch(address);
        if cleared.is_err() {
            free(self, &mut scratch);
        }
        cleared.map(|()| address)
    }

    /// Clears the memory at an address where [`alloc`](Self::alloc) has just allocated it on this stream.
    fn clear_scratch(&self, address: CUdeviceptr) -> Result<()> {
        self.enqueue("reduce", |driver, stream| {
            // SAFETY: the memory was allocated a moment ago, in front of this in the stream.
            unsafe { driver.memset_d32_async(address, 0, LEN_BYTES.get() / 4, stream) }
        })
    }
}

/// Frees it: where it was not cleared, and at the end of a stream.
pub(super) fn free(stream: &RawStream, scratch: &mut Scratch) {
    if let Some(address) = scratch.take() {
        stream.context.release("free", |driver| {
            // SAFETY: allocated by `scratch`, freed once; all that uses it is in front of this in the
            // stream.
            unsafe { driver.mem_free_async(address, stream.raw()) }
        });
    }
}
