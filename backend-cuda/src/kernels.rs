//! The compiled kernels of a device: modules loaded one by one, when a copy or fill first needs
//! them, and launched with their parameters by value.
#![allow(unsafe_code)] // loads modules and launches from them

use std::{collections::BTreeMap, ffi::c_void, ptr, sync::Mutex};

use devarray::copy::Plan;

use crate::{
    driver::{Answer, Driver, INVALID_VALUE, LaunchAttribute, LaunchConfig, sys},
    handle::{Handle, locked},
    strided::{
        Addresses, Chosen, JoinParams, Launch, MemorySpeed, fill,
        kernel::{Kernel, Module},
        select_again, waits_for_the_launch_before,
    },
};

/// What was loaded.
#[derive(Debug, Default)]
struct Loaded {
    modules: BTreeMap<Module, Handle<sys::CUmod_st>>,
    functions: BTreeMap<Kernel, Handle<sys::CUfunc_st>>,
}

/// The modules of one context, as far as they were needed.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// First number of the device's generation.
    major: u32,
    memory: MemorySpeed,
    loaded: Mutex<Loaded>,
}

impl Kernels {
    pub(crate) fn new(major: u32, memory: MemorySpeed) -> Self {
        Self { major, memory, loaded: Mutex::default() }
    }

    /// First number of the device's generation.
    pub(crate) fn major(&self) -> u32 {
        self.major
    }

    /// The modules that were loaded.
    pub(crate) fn modules(&self) -> Vec<Handle<sys::CUmod_st>> {
        locked(&self.loaded).modules.values().copied().collect()
    }

    /// Carries out `plan` on `stream`, whose context is bound. Does not synchronize. `overlap`:
    /// launches may begin while the one before them in the stream works, which is this crate's or
    /// waited for all before it. `chosen`: of the stream's last copies.
    pub(crate) fn copy(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        plan: &Plan,
        addresses: Addresses,
        overlap: bool,
        chosen: &mut Chosen,
    ) -> Answer {
        select_again(chosen, self.memory, plan, addresses, |launch| {
            self.launch(driver, stream, launch, launch.params.as_ptr().0, overlap)
        })
    }

    /// Launches a kernel for several copies on `stream`, whose context is bound. Does not
    /// synchronize. `overlap` as in [`copy`](Self::copy).
    pub(crate) fn join(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        launch: &Launch<JoinParams>,
        overlap: bool,
    ) -> Answer {
        self.launch(driver, stream, launch, launch.params.as_ptr().0, overlap)
    }

    /// Repeats `pattern` over the destination of `plan` in the memory at `dst`, on `stream`, whose
    /// context is bound. Does not synchronize.
    pub(crate) fn fill(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        plan: &Plan,
        dst: u64,
        pattern: &[u8],
    ) -> Answer {
        let launch = fill(plan, dst, pattern).ok_or(INVALID_VALUE)?;
        self.launch(driver, stream, &launch, ptr::from_ref(&launch.params).cast(), false)
    }

    /// Launches with the parameters at `params`, which are those of `launch`.
    fn launch<P>(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        launch: &Launch<P>,
        params: *const c_void,
        overlap: bool,
    ) -> Answer {
        let function = self.function(driver, launch.kernel)?;
        let mut arguments = [params.cast_mut()];
        if overlap && waits_for_the_launch_before(launch.kernel, self.major) {
            let attribute = LaunchAttribute::OVERLAPPING;
            let config = LaunchConfig {
                grid: [launch.grid, 1, 1],
                block: [launch.threads, 1, 1],
                shared_bytes: launch.shared_bytes,
                stream,
                attributes: &raw const attribute,
                attribute_count: 1,
            };
            // SAFETY: as below; configuration and attribute are locals that the driver reads before
            // it returns. The launch may begin before the one in front of it is done, and its image
            // waits for that before it touches memory.
            return unsafe {
                driver.launch_kernel_ex(
                    &raw const config,
                    function.raw(),
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
        }
        // SAFETY: the kernel has one parameter, of the size of the block, which the driver copies
        // before it returns; it touches the bytes of the plans that the launch was made from, and
        // reads between them; stream and function are of one context.
        unsafe {
            driver.launch_kernel(
                function.raw(),
                launch.grid,
                1,
                1,
                launch.threads,
                1,
                1,
                launch.shared_bytes,
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
        let module = if let Some(module) = loaded.modules.get(&kernel.module()) {
            *module
        } else {
            let mut module = ptr::null_mut();
            let image = kernel.module().image(self.major).as_ptr().cast();
            // SAFETY: the image is an ELF file or PTX text that ends with a zero; the pointer is to
            // a local.
            unsafe { driver.module_load_data(&raw mut module, image) }?;
            loaded.modules.insert(kernel.module(), Handle::new(module));
            Handle::new(module)
        };
        let name = kernel.name().ok_or(INVALID_VALUE)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is of the bound context; the name ends with a zero; the pointer is to
        // a local.
        unsafe { driver.module_get_function(&raw mut function, module.raw(), name.as_ptr()) }?;
        loaded.functions.insert(kernel, Handle::new(function));
        Ok(Handle::new(function))
    }
}
