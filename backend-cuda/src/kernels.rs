//! The compiled kernels of a device: modules loaded one by one, when a copy or fill first needs
//! them, and launched with their parameters by value.
#![allow(unsafe_code)] // loads modules and launches from them

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ffi::{CStr, c_void},
    ptr,
    sync::Mutex,
};

use devarray::copy::Plan;

use crate::{
    driver::{Answer, Driver, INVALID_VALUE, LaunchAttribute, LaunchConfig, sys},
    handle::{Handle, locked},
    strided::{
        Addresses, Chosen, JoinParams, Launch, MemorySpeed, fill,
        kernel::{Kernel, Module},
        select, waits_for_the_launch_before,
    },
};

/// Modules of type `M` and their functions, as far as they were needed.
#[derive(Debug)]
pub(crate) struct Loaded<M, F> {
    pub(crate) modules: BTreeMap<M, Handle<sys::CUmod_st>>,
    functions: BTreeMap<F, Handle<sys::CUfunc_st>>,
}

impl<M, F> Default for Loaded<M, F> {
    fn default() -> Self {
        Self { modules: BTreeMap::new(), functions: BTreeMap::new() }
    }
}

impl<M: Ord, F: Ord> Loaded<M, F> {
    /// A function of the bound context, loaded with its module where it is not there.
    ///
    /// # Safety
    ///
    /// `image` is an ELF file, or PTX text that ends with a zero.
    pub(crate) unsafe fn function(
        &mut self,
        driver: &Driver,
        (module, image): (M, &'static [u8]),
        (function, name): (F, &CStr),
    ) -> Answer<Handle<sys::CUfunc_st>> {
        if let Some(function) = self.functions.get(&function) {
            return Ok(*function);
        }
        let module = match self.modules.entry(module) {
            Entry::Occupied(module) => *module.get(),
            Entry::Vacant(vacant) => {
                let mut module = ptr::null_mut();
                // SAFETY: passed on to the caller; the pointer is to a local.
                unsafe { driver.module_load_data(&raw mut module, image.as_ptr().cast()) }?;
                *vacant.insert(Handle::new(module))
            }
        };
        let mut found = ptr::null_mut();
        // SAFETY: the module is of the bound context; the name ends with a zero; the pointer is to
        // a local.
        unsafe { driver.module_get_function(&raw mut found, module.raw(), name.as_ptr()) }?;
        self.functions.insert(function, Handle::new(found));
        Ok(Handle::new(found))
    }
}

/// The modules of one context, as far as they were needed.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// First number of the device's generation.
    major: u32,
    memory: MemorySpeed,
    loaded: Mutex<Loaded<Module, Kernel>>,
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
    /// launches may begin while the one in front of them works; that one is this crate's, or waited
    /// for all before it. `chosen`: the launches of the stream's last copies.
    pub(crate) fn copy(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        plan: &Plan,
        addresses: Addresses,
        overlap: bool,
        chosen: &mut Chosen,
    ) -> Answer {
        select(self.memory, plan, addresses, Some(chosen), |launch| {
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
        let (kernel, module) = (launch.kernel, launch.kernel.module());
        let name = kernel.name().ok_or(INVALID_VALUE)?;
        let image = module.image(self.major)?;
        // SAFETY: all images are of these two kinds.
        let function = unsafe { locked(&self.loaded).function(driver, (module, image), (kernel, name)) }?;
        if overlap && waits_for_the_launch_before(kernel, self.major) {
            let mut arguments = [params.cast_mut()];
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
        let sizes = [launch.grid, launch.threads, launch.shared_bytes];
        // SAFETY: the kernel has one parameter, of the size of the block; it touches the bytes of
        // the plans that the launch was made from, and reads between them; stream and function are
        // of one context.
        unsafe { driver.launch(stream, function.raw(), sizes, params) }
    }
}
