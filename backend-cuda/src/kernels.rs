//! The compiled kernels of a device: modules loaded one by one, when a copy or fill first needs
//! them, and launched with their parameters by value.
#![allow(unsafe_code)] // loads modules and launches from them

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ffi::{CStr, c_void},
    mem, ptr,
    sync::Mutex,
};

use devarray::copy::Plan;

use crate::{
    context::Context,
    driver::{Answer, Driver, INVALID_VALUE, LaunchAttribute, sys},
    handle::{Handle, locked},
    strided::{
        Addresses, JoinParams, LaunchCache, MemorySpeed, StridedLaunch, fill,
        kernel::{Kernel, Module},
        select, waits_for_the_launch_before,
    },
};

/// Modules of type `M` and their functions, as far as they were needed: loading one takes the
/// driver longer than many launches. They belong to the program, so they stay loaded.
#[derive(Debug)]
pub(crate) struct LoadedModules<M, F> {
    pub(crate) modules: BTreeMap<M, Handle<sys::CUmod_st>>,
    functions: BTreeMap<F, Handle<sys::CUfunc_st>>,
}

impl<M, F> Default for LoadedModules<M, F> {
    fn default() -> Self {
        Self { modules: BTreeMap::new(), functions: BTreeMap::new() }
    }
}

impl<M: Ord, F: Ord> LoadedModules<M, F> {
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
        let found = driver.function(module, name)?;
        self.functions.insert(function, found);
        Ok(found)
    }
}

/// The stream to launch in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue<'a> {
    /// The context of the stream is bound.
    pub(crate) driver: &'a Driver,
    pub(crate) stream: sys::CUstream,
    /// Whether a launch may begin while the previous one in the stream still runs. The previous one
    /// belongs to this crate, or has waited for all earlier work.
    pub(crate) overlap: bool,
}

/// The modules of one context, as far as they were needed.
#[derive(Debug)]
pub(crate) struct CopyKernels {
    /// The first number of the device's generation.
    major: u32,
    memory: MemorySpeed,
    loaded: Mutex<LoadedModules<Module, Kernel>>,
}

impl CopyKernels {
    pub(crate) fn new(major: u32, memory: MemorySpeed) -> Self {
        Self { major, memory, loaded: Mutex::default() }
    }

    /// The first number of the device's generation.
    pub(crate) fn major(&self) -> u32 {
        self.major
    }

    /// Unloads everything. Nothing of the context runs any more.
    pub(crate) fn close(&self, context: &Context) {
        let loaded = mem::take(&mut *locked(&self.loaded));
        for module in loaded.modules.into_values() {
            context.release("close", |driver| driver.unload(module));
        }
    }

    /// Executes `plan`. `cache` has the launches of the stream's last copies. Does not synchronize.
    pub(crate) fn copy(&self, to: Queue<'_>, plan: &Plan, at: Addresses, cache: &mut LaunchCache) -> Answer {
        select(self.memory, plan, at, cache, |launch| self.launch(to, launch, launch.params.as_ptr().0))
    }

    /// Launches a kernel for several copies. Does not synchronize.
    pub(crate) fn join(&self, to: Queue<'_>, launch: &StridedLaunch<JoinParams>) -> Answer {
        self.launch(to, launch, launch.params.as_ptr().0)
    }

    /// Repeats `pattern` over the destination of `plan` in the memory at `dst`. Does not
    /// synchronize.
    pub(crate) fn fill(&self, to: Queue<'_>, plan: &Plan, dst: u64, pattern: &[u8]) -> Answer {
        let launch = fill(plan, dst, pattern).ok_or(INVALID_VALUE)?;
        self.launch(to, &launch, ptr::from_ref(&launch.params).cast())
    }

    /// Launches with the parameters at `params`, which belong to `launch`.
    fn launch<P>(&self, to: Queue<'_>, launch: &StridedLaunch<P>, params: *const c_void) -> Answer {
        let Queue { driver, stream, overlap } = to;
        let (kernel, module) = (launch.kernel, launch.kernel.module());
        let name = kernel.name().ok_or(INVALID_VALUE)?;
        let image = module.image(self.major)?;
        // SAFETY: all images are of these two kinds.
        let function = unsafe { locked(&self.loaded).function(driver, (module, image), (kernel, name)) }?;
        let overlaps = overlap && waits_for_the_launch_before(kernel, self.major);
        let attributes: &[_] = if overlaps { &[LaunchAttribute::OVERLAPPING] } else { &[] };
        let shape = ([launch.grid, 1, 1], [launch.threads, 1, 1], launch.shared_bytes);
        // A kernel that may begin before the launch in front of it ends waits for that launch before it
        // touches memory.
        // SAFETY: stream and function are of one context. The kernel has one parameter, of the size of
        // the block. It touches the bytes of the plans of the launch, and reads between them.
        unsafe { driver.launch_with(stream, function.raw(), shape, attributes, &mut [params.cast_mut()]) }
    }
}
