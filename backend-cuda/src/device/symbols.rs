//! The program's own modules, and their variables.
#![allow(unsafe_code)] // loads images that the callers vouch for

use std::{ffi::CString, num::NonZeroUsize, ops::Range, ptr, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Capability, DeviceSymbols},
};

use super::CudaDevice;
use crate::{
    context::Context,
    driver::{BACKEND, INVALID_VALUE, NOT_FOUND, sys},
    handle::Handle,
    memory::CudaBuffer,
};

/// The first bytes of a cubin and of a fatbin. Any other image is text, which must end with a zero
/// for the driver.
const BINARY: [&[u8]; 2] = [b"\x7fELF", &[0x50, 0xed, 0x55, 0xba]];

/// One of the program's own modules. Dropping it unloads it.
#[derive(Debug)]
pub struct CudaModule {
    raw: Handle<sys::CUmod_st>,
    context: Arc<Context>,
}

impl CudaModule {
    /// The driver's handle, to look up kernels and launch them. It is valid as long as the module.
    #[must_use]
    pub fn raw(&self) -> sys::CUmodule {
        self.raw.raw()
    }
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        // Core drops it only when none of its own operations uses it.
        self.context.release("unload_module", |driver| driver.unload(self.raw));
    }
}

// SAFETY: the driver returns the memory of a variable, which copies may use until the module is
// unloaded (cuda.h, `cuModuleGetGlobal`).
unsafe impl DeviceSymbols for CudaDevice {
    type Module = CudaModule;

    unsafe fn load_module(&self, image: &[u8]) -> Result<CudaModule> {
        let operation = "load_module";
        self.check(operation, Capability::DeviceSymbols)?;
        let is_binary = BINARY.iter().any(|magic| image.starts_with(magic));
        let text = if is_binary { CString::default() } else { self.context().text(operation, image)? };
        let start = if is_binary { image.as_ptr() } else { text.as_ptr().cast() };
        let mut raw = ptr::null_mut();
        self.context().call(operation, |driver| {
            // SAFETY: the pointer is to a local of the right type; the image is whole, as the
            // caller vouches, or ends with a zero.
            unsafe { driver.module_load_data(&raw mut raw, start.cast()) }
        })?;
        Ok(CudaModule { raw: Handle::new(raw), context: Arc::clone(self.context()) })
    }

    fn symbol(&self, module: &CudaModule, name: &str) -> Result<(u64, usize)> {
        let operation = "symbol";
        self.context().check_driver(operation, &module.context)?;
        let name = self.context().text(operation, name.as_bytes())?;
        self.context().bound(operation)?.variable(module.raw, &name).map_err(|failure| match failure {
            NOT_FOUND => {
                let reason = "the module has no variable of this name";
                Error::Handle { backend: BACKEND, operation, reason }
            }
            failure => self.context().error(operation, failure),
        })
    }

    fn symbol_buffer(&self, _: &CudaModule, start: u64, bytes: Range<usize>) -> Result<CudaBuffer> {
        let len_bytes = NonZeroUsize::new(bytes.end);
        let len_bytes = len_bytes.ok_or_else(|| self.context().error("symbol", INVALID_VALUE))?;
        Ok(CudaBuffer::new(self.context(), start, len_bytes))
    }
}
