//! The strided copy kernels of a device: modules loaded one by one, when a copy first needs them.
#![allow(unsafe_code)] // loads modules and launches from them

use std::{
    collections::BTreeMap,
    ffi::CStr,
    ptr,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use devarray::copy::Plan;

use crate::{
    driver::{Answer, Driver, Failure, LaunchAttribute, LaunchConfig, sys},
    handle::{Handle, locked},
    strided::{
        Addresses, Chosen, Kernel, Launch, MemorySpeed, Module, select_again, waits_for_the_launch_before,
    },
};

/// "Invalid image", "no binary for this GPU", "invalid PTX", "PTX of a newer version": this driver cannot run the
/// kernels on this device at all.
const UNSUITABLE: [Failure; 4] =
    [Failure::Code(200), Failure::Code(209), Failure::Code(218), Failure::Code(222)];

/// What was loaded, by name.
#[derive(Debug, Default)]
struct Loaded {
    modules: BTreeMap<Module, Handle<sys::CUmod_st>>,
    functions: BTreeMap<(Module, &'static CStr), Handle<sys::CUfunc_st>>,
}

/// The modules of one context, as far as they were needed.
#[derive(Debug)]
pub(crate) struct Strided {
    /// First number of the device's generation.
    major: u32,
    memory: MemorySpeed,
    unsuitable: AtomicBool,
    loaded: Mutex<Loaded>,
}

impl Strided {
    pub(crate) fn new(major: u32, memory: MemorySpeed) -> Self {
        Self { major, memory, unsuitable: AtomicBool::new(false), loaded: Mutex::default() }
    }

    /// The modules that were loaded.
    pub(crate) fn modules(&self) -> Vec<Handle<sys::CUmod_st>> {
        locked(&self.loaded).modules.values().copied().collect()
    }

    /// Carries out `plan` on `stream`, whose context is bound. Does not synchronize. `overlap`: launches may begin while the
    /// one before them in the stream works, which is this crate's or waited for all before it. `chosen`: of the stream's last copies.
    /// `false`: the kernels do not run on this device, and the plan is still to be carried out.
    pub(crate) fn copy(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        plan: &Plan,
        addresses: Addresses,
        overlap: bool,
        chosen: &mut Chosen,
    ) -> Answer<bool> {
        if self.unsuitable.load(Relaxed) {
            return Ok(false);
        }
        let overlap = overlap && waits_for_the_launch_before(self.major);
        let submit = |launch: &Launch| self.launch(driver, stream, launch, overlap);
        match select_again(chosen, self.memory, plan, addresses, submit) {
            Ok(()) => Ok(true),
            Err(failure) if UNSUITABLE.contains(&failure) => {
                self.unsuitable.store(true, Relaxed);
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }

    fn launch(&self, driver: &Driver, stream: sys::CUstream, launch: &Launch, overlap: bool) -> Answer {
        let function = self.function(driver, launch.kernel)?;
        let mut arguments = [launch.params.as_ptr().cast_mut()];
        if overlap {
            let attribute = LaunchAttribute::OVERLAPPING;
            let config = LaunchConfig {
                grid: [launch.grid, 1, 1],
                block: [launch.threads, 1, 1],
                shared_bytes: launch.shared_bytes,
                stream,
                attributes: &raw const attribute,
                attribute_count: 1,
            };
            // SAFETY: as below; configuration and attribute are locals that the driver reads before it returns. The launch may
            // begin before the one in front of it is done, and its image waits for that before it touches memory.
            return unsafe {
                driver.launch_kernel_ex(
                    &raw const config,
                    function.raw(),
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
        }
        // SAFETY: the kernel has one parameter, of the size of the block, which the driver copies before it returns; it
        // touches the bytes of the plan that the launch was made from, and reads between them; stream and function are of
        // one context.
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
        if let Some(function) = loaded.functions.get(&(kernel.module, kernel.name)) {
            return Ok(*function);
        }
        let module = if let Some(module) = loaded.modules.get(&kernel.module) {
            *module
        } else {
            let mut module = ptr::null_mut();
            // SAFETY: the image is an ELF file or PTX text that ends with a zero; the pointer is to a local.
            unsafe { driver.module_load_data(&raw mut module, kernel.module.image(self.major)) }?;
            loaded.modules.insert(kernel.module, Handle::new(module));
            Handle::new(module)
        };
        let mut function = ptr::null_mut();
        // SAFETY: the module is of the bound context; the name ends with a zero; the pointer is to a local.
        unsafe { driver.module_get_function(&raw mut function, module.raw(), kernel.name.as_ptr()) }?;
        loaded.functions.insert((kernel.module, kernel.name), Handle::new(function));
        Ok(Handle::new(function))
    }
}
