//! The driver functions that this backend calls, each listed once, and the results of calls.
#![allow(unsafe_code)] // function pointers of the driver, and the one place that calls them

use std::{
    ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void},
    fmt,
};

use super::{Driver, LaunchConfig, MemAccess, sys};
use sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec,
    CUgraphNode, CUhostFn, CUipcEventHandle, CUipcMemHandle, CUmemPool_attribute, CUmemoryPool, CUmodule,
    CUpointer_attribute, CUstream, CUuuid,
};

/// A driver call had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The driver library has no such function; nothing was called.
    Missing(Function),
    /// The driver returned this code, which is not 0. (For a query, 600 means "not yet".)
    Code(i32),
}

/// The result of a driver call.
pub type Answer<T = ()> = Result<T, Failure>;

impl Failure {
    /// The failure of a call that returned `code`.
    fn check(code: i32) -> Answer {
        if code == 0 { Ok(()) } else { Err(Self::Code(code)) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(function) => write!(f, "the driver has no {}", function.symbol()),
            Self::Code(code) => write!(f, "the driver answered {code}"),
        }
    }
}

impl std::error::Error for Failure {}

/// Each line declares a function: its slot in [`Table`], its name in [`Function`], and its counted
/// call on [`Driver`].
///
/// All except [`Function::FuncGetParamInfo`] exist since CUDA 11.8. The symbols are those to which
/// `cuda.h` maps the plain names.
macro_rules! functions {
    ($($name:ident $method:ident = $symbol:literal ($($arg:ident: $type:ty),*);)*) => {
        /// The addresses of the driver's functions; `None` where the library lacks one.
        #[derive(Clone, Copy, Default)]
        #[non_exhaustive]
        pub struct Table {
            $(
                #[doc = concat!("`", $symbol, "`.")]
                pub $method: Option<unsafe extern "C" fn($($type),*) -> i32>,
            )*
        }

        /// A function of the driver.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Function {
            $(
                #[doc = concat!("`", $symbol, "`.")]
                $name,
            )*
        }

        impl Function {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its symbol in the driver library.
            #[must_use]
            pub const fn symbol(self) -> &'static str {
                match self {
                    $(Self::$name => $symbol,)*
                }
            }

            /// Whether the backend can work without it.
            #[must_use]
            pub const fn is_optional(self) -> bool {
                matches!(
                    self,
                    Self::FuncGetParamInfo
                        | Self::StreamBeginCapture
                        | Self::StreamEndCapture
                        | Self::StreamGetCaptureInfo
                        | Self::StreamUpdateCaptureDependencies
                        | Self::GraphInstantiate
                        | Self::GraphLaunch
                        | Self::GraphExecDestroy
                        | Self::GraphDestroy
                )
            }
        }

        impl fmt::Debug for Table {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let there = [$(self.$method.is_some()),*].iter().filter(|&&there| there).count();
                write!(f, "Table({there} of {} functions)", Function::ALL.len())
            }
        }

        impl Table {
            /// The functions of the driver library, which must be there.
            pub(super) fn load() -> Self {
                // SAFETY: this loads the library, which was found a moment ago.
                let library = unsafe { sys::culib() };
                Self {
                    $(
                        // SAFETY: the signature matches the symbol in `cuda.h`; a `CUresult` is
                        // an `unsigned int` or `int` there, which is passed and returned as `i32`
                        // is.
                        $method: unsafe { library.get::<unsafe extern "C" fn($($type),*) -> i32>($symbol.as_bytes()) }
                            .ok()
                            .map(|symbol| *symbol),
                    )*
                }
            }

            /// Whether the library has `function`.
            #[must_use]
            pub const fn has(&self, function: Function) -> bool {
                match function {
                    $(Function::$name => self.$method.is_some(),)*
                }
            }

            /// Returns the table without `function`, as if the library lacked it.
            #[must_use]
            pub const fn without(mut self, function: Function) -> Self {
                match function {
                    $(Function::$name => self.$method = None,)*
                }
                self
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the driver's own signatures")]
        impl Driver {
            $(
                #[doc = concat!("Calls `", $symbol, "`.")]
                ///
                /// # Errors
                ///
                /// The function is missing, was made to fail, or returned a code other than 0.
                ///
                /// # Safety
                ///
                /// The conditions that NVIDIA's documentation sets for the caller of this function.
                pub unsafe fn $method(&self, $($arg: $type),*) -> Answer {
                    let call = self.enter(Function::$name, self.table.$method)?;
                    // SAFETY: passed on to the caller.
                    Failure::check(unsafe { call($($arg),*) })
                }
            )*
        }
    };
}

functions! {
    // Finding devices.
    Init init = "cuInit" (flags: c_uint);
    DriverGetVersion driver_get_version = "cuDriverGetVersion" (version: *mut c_int);
    GetErrorName get_error_name = "cuGetErrorName" (code: i32, name: *mut *const c_char);
    DeviceGetCount device_get_count = "cuDeviceGetCount" (count: *mut c_int);
    DeviceGet device_get = "cuDeviceGet" (device: *mut CUdevice, ordinal: c_int);
    DeviceGetName device_get_name = "cuDeviceGetName" (name: *mut c_char, len: c_int, device: CUdevice);
    DeviceGetAttribute device_get_attribute = "cuDeviceGetAttribute"
        (value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    DeviceGetUuid device_get_uuid = "cuDeviceGetUuid_v2" (uuid: *mut CUuuid, device: CUdevice);
    DeviceTotalMem device_total_mem = "cuDeviceTotalMem_v2" (len_bytes: *mut usize, device: CUdevice);
    DeviceCanAccessPeer device_can_access_peer = "cuDeviceCanAccessPeer"
        (can: *mut c_int, device: CUdevice, peer: CUdevice);

    // The context.
    PrimaryCtxRetain primary_ctx_retain = "cuDevicePrimaryCtxRetain" (context: *mut CUcontext, device: CUdevice);
    PrimaryCtxRelease primary_ctx_release = "cuDevicePrimaryCtxRelease_v2" (device: CUdevice);
    CtxGetCurrent ctx_get_current = "cuCtxGetCurrent" (context: *mut CUcontext);
    CtxSetCurrent ctx_set_current = "cuCtxSetCurrent" (context: CUcontext);
    CtxSynchronize ctx_synchronize = "cuCtxSynchronize" ();
    CtxEnablePeerAccess ctx_enable_peer_access = "cuCtxEnablePeerAccess" (peer: CUcontext, flags: c_uint);

    // Memory.
    MemGetInfo mem_get_info = "cuMemGetInfo_v2" (free: *mut usize, total: *mut usize);
    DeviceGetDefaultMemPool device_get_default_mem_pool = "cuDeviceGetDefaultMemPool"
        (pool: *mut CUmemoryPool, device: CUdevice);
    MemPoolSetAttribute mem_pool_set_attribute = "cuMemPoolSetAttribute"
        (pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    MemPoolGetAttribute mem_pool_get_attribute = "cuMemPoolGetAttribute"
        (pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    MemPoolTrimTo mem_pool_trim_to = "cuMemPoolTrimTo" (pool: CUmemoryPool, keep_bytes: usize);
    MemPoolSetAccess mem_pool_set_access = "cuMemPoolSetAccess"
        (pool: CUmemoryPool, access: *const MemAccess, count: usize);
    MemAllocFromPoolAsync mem_alloc_from_pool_async = "cuMemAllocFromPoolAsync"
        (address: *mut CUdeviceptr, len_bytes: usize, pool: CUmemoryPool, stream: CUstream);
    MemFreeAsync mem_free_async = "cuMemFreeAsync" (address: CUdeviceptr, stream: CUstream);
    MemHostAlloc mem_host_alloc = "cuMemHostAlloc" (pointer: *mut *mut c_void, len_bytes: usize, flags: c_uint);
    MemFreeHost mem_free_host = "cuMemFreeHost" (pointer: *mut c_void);
    MemHostRegister mem_host_register = "cuMemHostRegister_v2"
        (pointer: *mut c_void, len_bytes: usize, flags: c_uint);
    MemHostUnregister mem_host_unregister = "cuMemHostUnregister" (pointer: *mut c_void);
    MemHostGetDevicePointer mem_host_get_device_pointer = "cuMemHostGetDevicePointer_v2"
        (address: *mut CUdeviceptr, pointer: *mut c_void, flags: c_uint);
    MemAllocManaged mem_alloc_managed = "cuMemAllocManaged"
        (address: *mut CUdeviceptr, len_bytes: usize, flags: c_uint);
    MemAlloc mem_alloc = "cuMemAlloc_v2" (address: *mut CUdeviceptr, len_bytes: usize);
    MemFree mem_free = "cuMemFree_v2" (address: CUdeviceptr);
    MemPrefetchAsync mem_prefetch_async = "cuMemPrefetchAsync"
        (address: CUdeviceptr, len_bytes: usize, to: CUdevice, stream: CUstream);
    MemGetAddressRange mem_get_address_range = "cuMemGetAddressRange_v2"
        (start: *mut CUdeviceptr, len_bytes: *mut usize, address: CUdeviceptr);
    IpcGetMemHandle ipc_get_mem_handle = "cuIpcGetMemHandle" (handle: *mut CUipcMemHandle, address: CUdeviceptr);
    IpcOpenMemHandle ipc_open_mem_handle = "cuIpcOpenMemHandle_v2"
        (address: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint);
    IpcCloseMemHandle ipc_close_mem_handle = "cuIpcCloseMemHandle" (address: CUdeviceptr);
    IpcGetEventHandle ipc_get_event_handle = "cuIpcGetEventHandle" (handle: *mut CUipcEventHandle, event: CUevent);
    IpcOpenEventHandle ipc_open_event_handle = "cuIpcOpenEventHandle"
        (event: *mut CUevent, handle: CUipcEventHandle);
    PointerGetAttribute pointer_get_attribute = "cuPointerGetAttribute"
        (value: *mut c_void, attribute: CUpointer_attribute, address: CUdeviceptr);
    MemAdvise mem_advise = "cuMemAdvise" (address: CUdeviceptr, len_bytes: usize, advice: c_uint, of: CUdevice);

    // Streams and events.
    StreamCreate stream_create = "cuStreamCreate" (stream: *mut CUstream, flags: c_uint);
    StreamDestroy stream_destroy = "cuStreamDestroy_v2" (stream: CUstream);
    StreamSynchronize stream_synchronize = "cuStreamSynchronize" (stream: CUstream);
    StreamWaitEvent stream_wait_event = "cuStreamWaitEvent" (stream: CUstream, event: CUevent, flags: c_uint);
    StreamBeginCapture stream_begin_capture = "cuStreamBeginCapture_v2" (stream: CUstream, mode: c_int);
    StreamEndCapture stream_end_capture = "cuStreamEndCapture" (stream: CUstream, graph: *mut CUgraph);
    StreamGetCaptureInfo stream_get_capture_info = "cuStreamGetCaptureInfo_v2"
        (stream: CUstream, status: *mut c_int, id: *mut c_ulonglong, graph: *mut CUgraph,
         nodes: *mut *const CUgraphNode, count: *mut usize);
    StreamUpdateCaptureDependencies stream_update_capture_dependencies = "cuStreamUpdateCaptureDependencies"
        (stream: CUstream, nodes: *mut CUgraphNode, count: usize, flags: c_uint);
    GraphInstantiate graph_instantiate = "cuGraphInstantiateWithFlags"
        (executable: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    GraphLaunch graph_launch = "cuGraphLaunch" (executable: CUgraphExec, stream: CUstream);
    GraphExecDestroy graph_exec_destroy = "cuGraphExecDestroy" (executable: CUgraphExec);
    GraphDestroy graph_destroy = "cuGraphDestroy" (graph: CUgraph);
    LaunchHostFunc launch_host_func = "cuLaunchHostFunc" (stream: CUstream, function: CUhostFn, data: *mut c_void);
    EventCreate event_create = "cuEventCreate" (event: *mut CUevent, flags: c_uint);
    EventDestroy event_destroy = "cuEventDestroy_v2" (event: CUevent);
    EventRecord event_record = "cuEventRecord" (event: CUevent, stream: CUstream);
    EventElapsedTime event_elapsed_time = "cuEventElapsedTime" (ms: *mut f32, from: CUevent, to: CUevent);
    EventQuery event_query = "cuEventQuery" (event: CUevent);
    EventSynchronize event_synchronize = "cuEventSynchronize" (event: CUevent);

    // Copies and fills.
    MemcpyDtoDAsync memcpy_dtod_async = "cuMemcpyDtoDAsync_v2"
        (dst: CUdeviceptr, src: CUdeviceptr, len_bytes: usize, stream: CUstream);
    MemcpyHtoDAsync memcpy_htod_async = "cuMemcpyHtoDAsync_v2"
        (dst: CUdeviceptr, src: *const c_void, len_bytes: usize, stream: CUstream);
    MemcpyDtoHAsync memcpy_dtoh_async = "cuMemcpyDtoHAsync_v2"
        (dst: *mut c_void, src: CUdeviceptr, len_bytes: usize, stream: CUstream);
    MemcpyPeerAsync memcpy_peer_async = "cuMemcpyPeerAsync"
        (dst: CUdeviceptr, dst_context: CUcontext, src: CUdeviceptr, src_context: CUcontext, len_bytes: usize,
         stream: CUstream);
    MemsetD8Async memset_d8_async = "cuMemsetD8Async"
        (dst: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream);
    MemsetD16Async memset_d16_async = "cuMemsetD16Async"
        (dst: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream);
    MemsetD32Async memset_d32_async = "cuMemsetD32Async"
        (dst: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);

    // Kernels.
    ModuleLoadData module_load_data = "cuModuleLoadData" (module: *mut CUmodule, image: *const c_void);
    ModuleLoadDataEx module_load_data_ex = "cuModuleLoadDataEx"
        (module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void);
    ModuleUnload module_unload = "cuModuleUnload" (module: CUmodule);
    ModuleGetGlobal module_get_global = "cuModuleGetGlobal_v2"
        (address: *mut CUdeviceptr, len_bytes: *mut usize, module: CUmodule, name: *const c_char);
    ModuleGetFunction module_get_function = "cuModuleGetFunction"
        (function: *mut CUfunction, module: CUmodule, name: *const c_char);
    LaunchKernel launch_kernel = "cuLaunchKernel"
        (function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
         block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint,
         stream: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    FuncGetAttribute func_get_attribute = "cuFuncGetAttribute"
        (value: *mut c_int, attribute: c_uint, function: CUfunction);
    FuncSetAttribute func_set_attribute = "cuFuncSetAttribute"
        (function: CUfunction, attribute: c_uint, value: c_int);
    FuncGetParamInfo func_get_param_info = "cuFuncGetParamInfo"
        (function: CUfunction, index: usize, offset_bytes: *mut usize, len_bytes: *mut usize);
    OccupancyMaxActiveBlocks occupancy_max_active_blocks = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        (blocks: *mut c_int, function: CUfunction, block_threads: c_int, shared_bytes: usize);
    LaunchKernelEx launch_kernel_ex = "cuLaunchKernelEx"
        (config: *const LaunchConfig, function: CUfunction, parameters: *mut *mut c_void, extra: *mut *mut c_void);
}
