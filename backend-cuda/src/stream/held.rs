//! Memory and kernels of operations that a stream captures: kept as long as the stream, since each launch uses them.

use std::{any::Any, num::NonZeroUsize, sync::Arc};

use devarray::{
    Result,
    backend::{Buffer as _, FreeOp},
};

use super::RawStream;
use crate::{driver::sys::CUdeviceptr, memory::CudaBuffer};

/// The memory, and the stream that it was allocated on.
pub(super) struct Held {
    of: Arc<RawStream>,
    all: Vec<CudaBuffer>,
    /// Not used by what is captured from now on.
    idle: Vec<(CUdeviceptr, NonZeroUsize)>,
    /// Each once.
    kernels: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Held {
    pub(super) fn new(of: &Arc<RawStream>) -> Self {
        Self { of: Arc::clone(of), all: Vec::new(), idle: Vec::new(), kernels: Vec::new() }
    }

    /// Memory of exactly this length. Earlier users of it come earlier in the graph.
    pub(super) fn alloc(&mut self, len_bytes: NonZeroUsize) -> Result<CUdeviceptr> {
        if let Some(at) = self.idle.iter().position(|&(_, len)| len == len_bytes) {
            return Ok(self.idle.swap_remove(at).0);
        }
        let buffer = self.of.alloc(len_bytes)?;
        let address = buffer.address();
        self.all.push(buffer);
        Ok(address)
    }

    /// Keeps a kernel loaded.
    pub(super) fn keep(&mut self, kernel: Arc<dyn Any + Send + Sync>) {
        // A recording makes the same few calls: the last kernels are the likely ones.
        if !self.kernels.iter().rev().any(|kept| Arc::ptr_eq(kept, &kernel)) {
            self.kernels.push(kernel);
        }
    }

    pub(super) fn free(&mut self, address: CUdeviceptr, len_bytes: NonZeroUsize) {
        self.idle.push((address, len_bytes));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for buffer in self.all.drain(..) {
            let context = Arc::clone(self.of.context());
            // SAFETY: allocated on that stream and freed once. No launch of the graph runs any more.
            let freed = self.of.free(unsafe { FreeOp::new_unchecked(buffer) });
            freed.unwrap_or_else(|error| context.driver().report(error));
        }
    }
}
