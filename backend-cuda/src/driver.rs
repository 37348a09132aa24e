//! The CUDA driver as one replaceable table of functions, for tests without hardware.
//!
//! Every call of this backend goes through a [`Driver`]: it counts the call, can make it fail on
//! request, and returns a typed error for a symbol that the driver library lacks. The functions
//! return `i32`, because a newer driver may return a code that no enum names yet. Types and
//! constants come from `cudarc`'s [`sys`].
//!
//! Programs do not need this module: [`CudaDevice::open`](crate::CudaDevice::open) loads the driver
//! by itself. The module is public for tests: they count calls, make each call fail in turn, and
//! replace the table with a driver of their own.
#![allow(unsafe_code)] // loads the driver library, reads the text the driver returns, and launches

mod code;
mod fault;
mod table;
mod types;

use std::{
    any::Any,
    collections::BTreeMap,
    ffi::{CStr, c_uint, c_void},
    fmt, ptr,
    sync::{Arc, Mutex, OnceLock, Weak},
};

pub use cudarc::driver::sys;
use devarray::{Error, Result};

use crate::{
    cublaslt,
    handle::{Handle, locked},
    nccl,
};
use fault::Calls;

pub(crate) use code::{
    BACKEND, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, NOT_READY, OUT_OF_MEMORY, out_of_memory, unavailable,
};
pub use fault::Fault;
pub use table::{Answer, Failure, Function, Table};
pub(crate) use types::{CaptureEdges, CaptureMode, DYNAMIC_SHARED};
pub use types::{LaunchAttribute, LaunchConfig, MemAccess};

/// The open contexts, by ordinal. Their type belongs to a higher floor, and only that floor looks
/// into them. They are kept here because they belong to one driver.
pub(crate) type Contexts = Mutex<BTreeMap<usize, Weak<dyn Any + Send + Sync>>>;

/// The functions of a CUDA driver, their call counts, and the contexts open through them.
pub struct Driver {
    table: Table,
    calls: Calls,
    errors: Mutex<Vec<Error>>,
    cublaslt: OnceLock<cublaslt::Table>,
    nccl: OnceLock<nccl::Table>,
    /// Whether it is the driver of this machine, with which this machine's libraries work.
    is_real: bool,
    pub(crate) contexts: Contexts,
}

impl Driver {
    /// The driver of this machine, loaded once per process.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`]: there is no driver library. The next call looks again.
    pub fn load() -> Result<Arc<Self>> {
        static LOADED: OnceLock<Arc<Driver>> = OnceLock::new();
        if let Some(driver) = LOADED.get() {
            return Ok(Arc::clone(driver));
        }
        // SAFETY: loads the driver library, whose initializers are NVIDIA's and may run in any
        // process.
        if !unsafe { sys::is_culib_present() } {
            return Err(unavailable("no CUDA driver library (libcuda.so.1, nvcuda.dll) was found"));
        }
        let load = || Arc::new(Self { is_real: true, ..Self::with_table(Table::load()) });
        Ok(Arc::clone(LOADED.get_or_init(load)))
    }

    /// Makes a driver of other functions, such as a test's.
    ///
    /// Devices that are opened through it are not shared with any other `Driver`.
    ///
    /// # Safety
    ///
    /// Each function follows NVIDIA's documentation of the function that it stands for, or returns
    /// a code other than 0 and has no effect.
    #[must_use]
    pub unsafe fn new(table: Table) -> Arc<Self> {
        Arc::new(Self::with_table(table))
    }

    fn with_table(table: Table) -> Self {
        Self {
            table,
            calls: Calls::new(),
            errors: Mutex::default(),
            cublaslt: OnceLock::new(),
            nccl: OnceLock::new(),
            is_real: false,
            contexts: Mutex::default(),
        }
    }

    /// A driver of other functions, with a cuBLASLt that goes with it.
    ///
    /// # Safety
    ///
    /// The conditions of [`new`](Self::new); and the functions of the library follow NVIDIA's
    /// documentation, with contexts, streams and memory of this driver.
    #[must_use]
    pub unsafe fn with_cublaslt(table: Table, cublaslt: cublaslt::Table) -> Arc<Self> {
        Arc::new(Self { cublaslt: OnceLock::from(cublaslt), ..Self::with_table(table) })
    }

    /// A driver of other functions, with an NCCL that goes with it.
    ///
    /// # Safety
    ///
    /// Like [`new`](Self::new), and the functions of the library keep to NVIDIA's documentation,
    /// with contexts, streams and memory of this driver.
    #[must_use]
    pub unsafe fn with_nccl(table: Table, nccl: nccl::Table) -> Arc<Self> {
        Arc::new(Self { nccl: OnceLock::from(nccl), ..Self::with_table(table) })
    }

    /// The functions of NCCL, which is opened by the first call. If it is not found, the next call looks
    /// again.
    pub(crate) fn nccl(&self, operation: &'static str) -> Result<&nccl::Table> {
        if let Some(table) = self.nccl.get() {
            return Ok(table);
        }
        let refused = |reason| Error::Library { backend: BACKEND, operation, library: nccl::LIBRARY, reason };
        if !self.is_real {
            return Err(refused("the driver was replaced, and no library goes with it".to_owned()));
        }
        let opened = nccl::open().map_err(refused)?;
        Ok(self.nccl.get_or_init(|| opened))
    }

    /// The functions of cuBLASLt, which is opened by the first call. If it is not found, the next
    /// call looks again.
    pub(crate) fn cublaslt(&self, operation: &'static str) -> Result<&cublaslt::Table> {
        if let Some(table) = self.cublaslt.get() {
            return Ok(table);
        }
        let refused =
            |reason| Error::Library { backend: BACKEND, operation, library: cublaslt::LIBRARY, reason };
        if !self.is_real {
            return Err(refused("the driver was replaced, and no library goes with it".to_owned()));
        }
        let mut version = 0;
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.driver_get_version(&raw mut version) }
            .map_err(|failure| self.error(operation, failure))?;
        let opened = cublaslt::open(u32::try_from(version / 1000).unwrap_or(0)).map_err(refused)?;
        Ok(self.cublaslt.get_or_init(|| opened))
    }

    /// The number of calls of `function` so far, including failed calls.
    #[must_use]
    pub fn calls(&self, function: Function) -> u64 {
        self.calls.of(function)
    }

    /// The number of calls of any function so far.
    #[must_use]
    pub fn total_calls(&self) -> u64 {
        self.calls.total()
    }

    /// Sets the fault that a later call meets. It replaces an earlier fault.
    pub fn fail(&self, fault: Fault) {
        self.calls.fail(Some(fault));
    }

    /// Lets all later calls work again. Returns whether the last fault has happened.
    pub fn heal(&self) -> bool {
        self.calls.fail(None)
    }

    /// Takes the errors that no call could return: from freeing pinned memory, destroying streams
    /// and events, and closing a device. Equal errors are kept once.
    #[must_use]
    pub fn take_errors(&self) -> Vec<Error> {
        std::mem::take(&mut *locked(&self.errors))
    }

    /// Keeps an error that cannot be returned.
    pub(crate) fn report(&self, error: Error) {
        let mut errors = locked(&self.errors);
        if !errors.contains(&error) {
            errors.push(error);
        }
    }

    /// The functions that are called.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// The first function that the driver library lacks.
    pub(crate) fn missing(&self) -> Option<Function> {
        Function::ALL.iter().copied().find(|&function| !function.is_optional() && !self.table.has(function))
    }

    /// The driver's name for a code, or the number again.
    pub(crate) fn code_name(&self, code: i32) -> String {
        let mut name = ptr::null();
        // An unknown code sets no name (cuda.h, `cuGetErrorName`).
        // SAFETY: the pointer is valid for one write; any number may be asked for.
        let _ = unsafe { self.get_error_name(code, &raw mut name) };
        if name.is_null() {
            return code.to_string();
        }
        // SAFETY: the driver returned a static, zero-terminated string.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// Loads an image in the bound context. A failure has the driver's message about the image.
    ///
    /// # Safety
    ///
    /// The image is text that ends with a zero, or machine code that states its own length.
    pub(crate) unsafe fn load_logged(
        &self,
        image: *const c_void,
    ) -> Result<Handle<sys::CUmod_st>, (Failure, String)> {
        const LOG_BYTES: usize = 8_192;
        /// The address of the log and its size, which leaves room for a zero.
        const OPTIONS: [sys::CUjit_option; 2] = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut log = [0_u8; LOG_BYTES];
        let mut options = OPTIONS.map(|option| option as c_uint);
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES - 1)];
        let (mut module, values) = (ptr::null_mut(), values.as_mut_ptr());
        // SAFETY: the image is passed on to the caller; module, options and values are locals of
        // the right types; the log has the length that the driver is given.
        let loaded =
            unsafe { self.module_load_data_ex(&raw mut module, image, 2, options.as_mut_ptr(), values) };
        loaded.map(|()| Handle::new(module)).map_err(|failure| {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default();
            (failure, log.to_string_lossy().trim_end().to_owned())
        })
    }

    /// Unloads a module of the bound context. None of its kernels may still run.
    pub(crate) fn unload(&self, module: Handle<sys::CUmod_st>) -> Answer {
        // SAFETY: the module is loaded and belongs to the bound context; no work is left that could
        // use it.
        unsafe { self.module_unload(module.raw()) }
    }

    /// A function of a module that is loaded in the bound context.
    pub(crate) fn function(
        &self,
        module: Handle<sys::CUmod_st>,
        name: &CStr,
    ) -> Answer<Handle<sys::CUfunc_st>> {
        let mut function = ptr::null_mut();
        // SAFETY: the pointer is to a local of the right type; the module is loaded, its context
        // bound; the name ends with a zero.
        unsafe { self.module_get_function(&raw mut function, module.raw(), name.as_ptr()) }?;
        Ok(Handle::new(function))
    }

    /// The address and size of a variable of a module that is loaded in the bound context.
    pub(crate) fn variable(&self, module: Handle<sys::CUmod_st>, name: &CStr) -> Answer<(u64, usize)> {
        let (mut address, mut len_bytes) = (0, 0);
        // SAFETY: the pointers are to locals of the right types; the module is loaded, its context
        // bound; the name ends with a zero.
        unsafe { self.module_get_global(&raw mut address, &raw mut len_bytes, module.raw(), name.as_ptr()) }?;
        Ok((address, len_bytes))
    }

    /// Allocates zeroed, page-locked host memory with flags of `cuMemHostAlloc` in the bound
    /// context.
    pub(crate) fn alloc_host(&self, len_bytes: usize, flags: c_uint) -> Answer<*mut c_void> {
        let mut start = ptr::null_mut();
        // SAFETY: the pointer is to a local of the right type, and the context is bound.
        unsafe { self.mem_host_alloc(&raw mut start, len_bytes, flags) }?;
        // SAFETY: the driver allocated that many bytes for nobody but us.
        unsafe { start.cast::<u8>().write_bytes(0, len_bytes) };
        Ok(start)
    }

    /// Launches a kernel of one parameter, in blocks along x.
    ///
    /// # Safety
    ///
    /// `function` and `stream` belong to the bound context. The kernel has one parameter, which is at
    /// `parameter`. Whenever the kernel runs with it, it touches only memory that it may touch. The driver
    /// copies the parameter before it returns.
    pub(crate) unsafe fn launch(
        &self,
        stream: sys::CUstream,
        function: sys::CUfunction,
        [grid, threads, shared_bytes]: [u32; 3],
        parameter: *const c_void,
    ) -> Answer {
        let shape = ([grid, 1, 1], [threads, 1, 1], shared_bytes);
        // SAFETY: passed on to the caller.
        unsafe { self.launch_with(stream, function, shape, &[], &mut [parameter.cast_mut()]) }
    }

    /// Launches a kernel. Its shape: the number of blocks along x, y and z, the number of threads of
    /// a block along the same axes, and the bytes of dynamic shared memory of a block.
    ///
    /// # Safety
    ///
    /// The conditions of [`launch`](Self::launch), for a kernel whose parameters are at
    /// `parameters`.
    pub(crate) unsafe fn launch_with(
        &self,
        stream: sys::CUstream,
        function: sys::CUfunction,
        (grid, block, shared_bytes): ([u32; 3], [u32; 3], u32),
        attributes: &[LaunchAttribute],
        parameters: &mut [*mut c_void],
    ) -> Answer {
        let (parameters, none) = (parameters.as_mut_ptr(), ptr::null_mut());
        if attributes.is_empty() {
            let ([x, y, z], [u, v, w], bytes) = (grid, block, shared_bytes);
            // SAFETY: passed on to the caller.
            return unsafe {
                self.launch_kernel(function, x, y, z, u, v, w, bytes, stream, parameters, none)
            };
        }
        let attribute_count = u32::try_from(attributes.len()).unwrap_or(u32::MAX);
        let attributes = attributes.as_ptr();
        let config = LaunchConfig { grid, block, shared_bytes, stream, attributes, attribute_count };
        // SAFETY: passed on to the caller; the driver reads configuration and attributes before it
        // returns.
        unsafe { self.launch_kernel_ex(&raw const config, function, parameters, none) }
    }

    /// Counts a call, and returns the function's address, or the reason why it must not be called.
    fn enter<F>(&self, function: Function, address: Option<F>) -> Answer<F> {
        self.calls.count(function)?;
        address.ok_or(Failure::Missing(function))
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Driver({} calls)", self.total_calls())
    }
}
