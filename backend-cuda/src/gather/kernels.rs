//! The kernels, loaded on first use and launched with their parameter by value.
#![allow(unsafe_code)] // loads a module and launches from it

use std::{
    collections::BTreeMap,
    ffi::{CStr, c_void},
    ptr,
    sync::Mutex,
};

use super::{
    params::{BLOCK_ELEMENTS, Params, THREADS},
    told::Told,
};
use crate::{
    driver::{Answer, Driver, sys},
    handle::{Handle, locked},
};

/// The text, which ends with a zero.
pub const IMAGE: &str = concat!(include_str!("../../kernels/gathers/by_index.ptx"), "\0");

/// A kernel, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel(pub &'static CStr);

impl Kernel {
    /// Notes the last of the indices that name one place.
    pub const LAST_OF_EACH: Self = Self(c"last_of_each");

    /// Picks elements of this many bytes.
    pub fn take(width: u32) -> Self {
        Self(match width {
            1 => c"take_1",
            2 => c"take_2",
            4 => c"take_4",
            8 => c"take_8",
            _ => c"take_16",
        })
    }

    /// Puts elements of this many bytes.
    pub fn put(width: u32) -> Self {
        Self(match width {
            1 => c"put_1",
            2 => c"put_2",
            4 => c"put_4",
            8 => c"put_8",
            _ => c"put_16",
        })
    }
}

/// What a context has of gathers.
#[derive(Debug, Default)]
pub(crate) struct Gathers {
    /// Whom the device tells of indices.
    pub(crate) told: Told,
    loaded: Mutex<Loaded>,
}

#[derive(Debug, Default)]
struct Loaded {
    module: Option<Handle<sys::CUmod_st>>,
    functions: BTreeMap<Kernel, Handle<sys::CUfunc_st>>,
}

impl Gathers {
    /// Launches a kernel on a stream, whose context is bound. Does not synchronize.
    pub(super) fn launch(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        kernel: Kernel,
        params: &Params,
    ) -> Answer {
        let function = self.function(driver, kernel)?;
        let mut arguments = [ptr::from_ref(params).cast_mut().cast::<c_void>()];
        let grid = params.total.div_ceil(BLOCK_ELEMENTS);
        // SAFETY: the kernel has one parameter, of the size of the block, which the driver copies
        // before it returns. It touches what the operation proves that it may, and the memory of
        // winners; stream and function are of one context.
        unsafe {
            driver.launch_kernel(
                function.raw(),
                grid,
                1,
                1,
                THREADS,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
    }

    fn function(&self, driver: &Driver, kernel: Kernel) -> Answer<Handle<sys::CUfunc_st>> {
        let mut loaded = locked(&self.loaded);
        if let Some(function) = loaded.functions.get(&kernel) {
            return Ok(*function);
        }
        let module = if let Some(module) = loaded.module {
            module
        } else {
            let mut module = ptr::null_mut();
            // SAFETY: the image is text that ends with a zero; the pointer is to a local.
            unsafe { driver.module_load_data(&raw mut module, IMAGE.as_ptr().cast()) }?;
            *loaded.module.insert(Handle::new(module))
        };
        let mut function = ptr::null_mut();
        // SAFETY: the module is of the bound context; the name ends with a zero; the pointer is to
        // a local.
        unsafe { driver.module_get_function(&raw mut function, module.raw(), kernel.0.as_ptr()) }?;
        loaded.functions.insert(kernel, Handle::new(function));
        Ok(Handle::new(function))
    }

    /// Gives everything back. Nothing of the context runs any more.
    pub(crate) fn close(&self, driver: &Driver) -> Answer {
        let module = locked(&self.loaded).module.take();
        // SAFETY: the module is of this context, and no work is left that could use it.
        let unloaded = module.map_or(Ok(()), |module| unsafe { driver.module_unload(module.raw()) });
        unloaded.and(self.told.close(driver))
    }
}
