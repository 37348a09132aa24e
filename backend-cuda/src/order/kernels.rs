//! The kernels, loaded on first use and launched with their parameter by value.
#![allow(unsafe_code)] // loads modules and launches from them

use std::{ffi::CStr, mem, ptr, sync::Mutex};

use super::params::Params;
use crate::{
    driver::{Answer, Driver, sys},
    handle::locked,
    kernels::LoadedModules,
    packed::packed,
};

/// A file of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Module {
    Sort,
    Index,
    Groups,
    Sparse,
    Found,
    Select,
}

impl Module {
    fn image(self, major: u32) -> Answer<&'static [u8]> {
        match self {
            Self::Sort => packed!(major code "orders/" "sort"),
            Self::Index => packed!(major code "orders/" "index"),
            Self::Groups => packed!(major code "orders/" "groups"),
            Self::Sparse => packed!(major code "orders/" "sparse"),
            Self::Found => packed!(major code "orders/" "found"),
            Self::Select => packed!(major code "orders/" "select"),
        }
        .image()
    }
}

/// A kernel, how many blocks of how many threads, bytes of shared memory, and the parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    pub(super) module: Module,
    pub(super) kernel: &'static CStr,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    pub(super) params: Params,
}

/// The kernels of order on a context.
#[derive(Debug)]
pub(crate) struct Orders {
    /// The first number of the device's generation.
    major: u32,
    pub(super) multiprocessors: u32,
    loaded: Mutex<LoadedModules<Module, (Module, &'static CStr)>>,
}

impl Orders {
    pub(crate) fn new(major: u32, multiprocessors: usize) -> Self {
        let multiprocessors = u32::try_from(multiprocessors.max(1)).unwrap_or(1);
        Self { major, multiprocessors, loaded: Mutex::default() }
    }

    /// Launches on a stream, whose context is bound. Does not synchronize.
    pub(super) fn launch(&self, driver: &Driver, stream: sys::CUstream, launch: &Launch) -> Answer {
        let Launch { module, kernel, blocks, threads, shared_bytes, params } = launch;
        let image = module.image(self.major)?;
        // SAFETY: all images are of these two kinds.
        let function =
            unsafe { locked(&self.loaded).function(driver, (*module, image), ((*module, kernel), kernel)) }?;
        let shape = [*blocks, *threads, *shared_bytes];
        // SAFETY: the kernel has one parameter, of the size of the block. It touches the elements of the
        // operation, which proves that it may, and the call's own memory; stream and function are of one
        // context.
        unsafe { driver.launch(stream, function.raw(), shape, ptr::from_ref(params).cast()) }
    }

    /// Gives everything back. No work of the context runs any more.
    pub(crate) fn close(&self, driver: &Driver) -> Answer {
        let loaded = mem::take(&mut *locked(&self.loaded));
        let mut closed = Ok(());
        for module in loaded.modules.into_values() {
            closed = closed.and(driver.unload(module));
        }
        closed
    }
}
