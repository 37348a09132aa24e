//! Memory of a stream for algorithms of a library, which its calls use one after another.
#![allow(unsafe_code)] // frees memory of its own

use std::{num::NonZeroUsize, sync::TryLockError};

use devarray::{Result, backend::Buffer};

use super::{RawStream, held::Purpose};
use crate::{driver::sys::CUdeviceptr, handle::locked};

/// The address, once it was needed. Locked while calls that use it are enqueued.
pub(super) type Workspace = Option<CUdeviceptr>;

impl RawStream {
    /// Calls with the address of memory of `len_bytes`, always as many for a stream, which is allocated
    /// when it is first needed; with 0 if the call needs none. Does not synchronize.
    pub(crate) fn with_workspace<R>(
        &self,
        needed_bytes: usize,
        len_bytes: usize,
        call: impl FnOnce(CUdeviceptr) -> Result<R>,
    ) -> Result<R> {
        let Some(len_bytes) = NonZeroUsize::new(len_bytes).filter(|_| needed_bytes > 0) else {
            return call(0);
        };
        if let Some(held) = &self.held {
            let address = locked(held).alloc(self, (Purpose::Library, len_bytes), |_, _| Ok(()))?;
            let called = call(address);
            locked(held).free(address);
            return called;
        }
        let mut workspace = locked(&self.workspace);
        let address = match *workspace {
            Some(address) => address,
            None => *workspace.insert(self.alloc(len_bytes)?.address()),
        };
        call(address)
    }
}

/// Frees it at the end of a stream, and where memory is short, behind all that uses it. The next call
/// allocates it again. Does nothing while a call is enqueued.
pub(super) fn free(stream: &RawStream) {
    let mut workspace = match stream.workspace.try_lock() {
        Ok(workspace) => workspace,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    if let Some(address) = workspace.take() {
        stream.context.release("free", |driver| {
            // SAFETY: allocated by `with_workspace` in this stream, freed once; all that uses it is in front
            // of this in the stream.
            unsafe { driver.mem_free_async(address, stream.raw()) }
        });
    }
}
