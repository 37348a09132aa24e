//! The kernels, loaded on first use and launched with their parameter by value.
#![allow(unsafe_code)] // loads a module and launches from it

use std::{ffi::CStr, ptr, sync::Mutex};

use super::params::Params;
use crate::{
    driver::{Answer, DYNAMIC_SHARED, Driver, sys},
    handle::locked,
    kernels::LoadedModules,
    packed::packed,
};

/// The image for devices of a generation.
pub(super) fn image(major: u32) -> Answer<&'static [u8]> {
    packed!(major asynchronous "products/" "product").image()
}

/// Bytes of dynamic shared memory that a kernel may have before it is asked for.
const MOST_WITHOUT_ASKING: u32 = 48 << 10;

/// A kernel, how many blocks of how many threads, and the parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    pub(super) kernel: &'static CStr,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    /// Dynamic shared memory of a block, from generation 8 on.
    pub(super) shared_bytes: u32,
    pub(super) params: Params,
}

/// The kernels of products on a context.
#[derive(Debug)]
pub(crate) struct Products {
    /// First number of the device's generation.
    major: u32,
    loaded: Mutex<LoadedModules<(), &'static CStr>>,
}

impl Products {
    pub(crate) fn new(major: u32) -> Self {
        Self { major, loaded: Mutex::default() }
    }

    /// First number of the device's generation.
    pub(super) fn major(&self) -> u32 {
        self.major
    }

    /// Launches on a stream, whose context is bound. Does not synchronize.
    pub(super) fn launch(&self, driver: &Driver, stream: sys::CUstream, launch: Launch) -> Answer {
        let Launch { kernel, blocks, threads, shared_bytes, params } = launch;
        let shared_bytes = if self.major < 8 { 0 } else { shared_bytes };
        let image = image(self.major)?;
        // SAFETY: all images are of these two kinds.
        let function = unsafe { locked(&self.loaded).function(driver, ((), image), (kernel, kernel)) }?;
        if shared_bytes > MOST_WITHOUT_ASKING {
            let bytes = i32::try_from(shared_bytes).unwrap_or(i32::MAX);
            // SAFETY: a function of a module that is loaded.
            unsafe { driver.func_set_attribute(function.raw(), DYNAMIC_SHARED, bytes) }?;
        }
        // SAFETY: the kernel has one parameter, of the size of the block. It touches the elements of the
        // operation, which proves that it may, and the memory of sums; stream and function are of one
        // context.
        unsafe {
            driver.launch(
                stream,
                function.raw(),
                [blocks, threads, shared_bytes],
                ptr::from_ref(&params).cast(),
            )
        }
    }

    /// Gives everything back. Nothing of the context runs any more.
    pub(crate) fn close(&self, driver: &Driver) -> Answer {
        let module = locked(&self.loaded).modules.remove(&());
        module.map_or(Ok(()), |module| driver.unload(module))
    }
}
