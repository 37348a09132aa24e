//! The memory of the fake driver: allocating, copying, filling, launching.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::{
    cell::RefCell,
    ffi::{c_int, c_uchar, c_uint, c_ushort, c_void},
    ptr, slice,
    sync::Arc,
};

use devarray_cuda::driver::{Function, LaunchConfig, Table, sys};
use sys::{CUdeviceptr, CUmemPool_attribute, CUmemoryPool, CUstream};

use super::{
    driver::put,
    graphs::{self, enqueue},
    kernels::{self, Call},
    state::{Block, CURRENT, INVALID, NO_MEMORY, State, on, with, within},
};

/// The handle of the first device's pool; the next one's is one more.
const POOL: usize = 0x77;

unsafe extern "C" fn info(free: *mut usize, total: *mut usize) -> i32 {
    within(Function::MemGetInfo, |state| {
        put(free, state.total_bytes - state.used_bytes() - state.cached_bytes);
        put(total, state.total_bytes)
    })
}

unsafe extern "C" fn pool(at: *mut CUmemoryPool, device: c_int) -> i32 {
    let handle = POOL + usize::try_from(device).unwrap();
    with(Function::DeviceGetDefaultMemPool, |_| put(at, ptr::without_provenance_mut(handle)))
}

/// The device whose pool it is.
pub(crate) fn pool_device(pool: CUmemoryPool) -> Option<c_int> {
    let device = pool.addr().checked_sub(POOL)?;
    c_int::try_from(device).ok().filter(|device| *device < 3)
}

unsafe extern "C" fn pool_set(pool: CUmemoryPool, what: CUmemPool_attribute, value: *mut c_void) -> i32 {
    with(Function::MemPoolSetAttribute, |state| {
        // SAFETY: the driver takes a 64-bit number for these attributes.
        let value = unsafe { value.cast::<u64>().read() };
        match what {
            _ if pool_device(pool).is_none() => return INVALID,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => state.threshold = value,
            // These can only be reset (cuda.h).
            _ if value != 0 => return INVALID,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => state.pool_peaks.0 = state.used_bytes(),
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => {
                state.pool_peaks.1 = state.used_bytes() + state.cached_bytes;
            }
            _ => return INVALID,
        }
        0
    })
}

unsafe extern "C" fn pool_get(pool: CUmemoryPool, what: CUmemPool_attribute, value: *mut c_void) -> i32 {
    with(Function::MemPoolGetAttribute, |state| {
        let bytes = match what {
            _ if pool_device(pool).is_none() => return INVALID,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => state.used_bytes(),
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => {
                state.used_bytes() + state.cached_bytes
            }
            CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => state.pool_peaks.0,
            CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => state.pool_peaks.1,
            _ => return INVALID,
        };
        put(value.cast::<u64>(), bytes as u64)
    })
}

unsafe extern "C" fn pool_trim(pool: CUmemoryPool, keep_bytes: usize) -> i32 {
    with(Function::MemPoolTrimTo, |state| {
        // The pool holds what is allocated in any case.
        state.cached_bytes = state.cached_bytes.min(keep_bytes.saturating_sub(state.used_bytes()));
        if pool_device(pool).is_some() { 0 } else { INVALID }
    })
}

/// Cached memory is not given out again: it is of the wrong size, as it were, so only trimming
/// helps.
unsafe extern "C" fn alloc(
    at: *mut CUdeviceptr,
    len_bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> i32 {
    on(stream, Function::MemAllocFromPoolAsync, |state| {
        if pool_device(pool) != Some(c_int::try_from(CURRENT.get()).unwrap() - 1) || len_bytes == 0 {
            return INVALID;
        }
        if len_bytes > state.total_bytes - state.used_bytes() - state.cached_bytes {
            return NO_MEMORY;
        }
        let mut block = Block::new(len_bytes);
        let address = block.address();
        state.memory.insert(address, block);
        let (used, cached) = (state.used_bytes(), state.cached_bytes);
        state.pool_peaks = (state.pool_peaks.0.max(used), state.pool_peaks.1.max(used + cached));
        put(at, address as u64)
    })
}

unsafe extern "C" fn free(at: CUdeviceptr, stream: CUstream) -> i32 {
    on(stream, Function::MemFreeAsync, |state| {
        let Some(block) = state.memory.remove(&usize::try_from(at).unwrap()) else {
            state.misuse.push(format!("free of {at:#x}"));
            return INVALID;
        };
        state.cached_bytes += block.len_bytes;
        0
    })
}

unsafe extern "C" fn host_alloc(at: *mut *mut c_void, len_bytes: usize, flags: c_uint) -> i32 {
    within(Function::MemHostAlloc, |state| {
        if flags > 7 || len_bytes == 0 {
            return INVALID;
        }
        if len_bytes > state.total_bytes {
            return NO_MEMORY;
        }
        let mut block = Block::new(len_bytes);
        let address = block.address();
        state.pinned.insert(address, block);
        state.pinned_flags.insert(address, flags);
        put(at, ptr::with_exposed_provenance_mut(address))
    })
}

thread_local! {
    /// Called by this thread's frees of pinned memory, with the fake's lock released.
    static ON_HOST_FREE: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

pub(crate) fn on_host_free(call: Option<Box<dyn Fn()>>) {
    ON_HOST_FREE.set(call);
}

unsafe extern "C" fn host_free(at: *mut c_void) -> i32 {
    ON_HOST_FREE.with_borrow(|call| call.iter().for_each(|call| call()));
    within(Function::MemFreeHost, |state| {
        state.pinned_flags.remove(&at.addr());
        if state.pinned.remove(&at.addr()).is_some() { 0 } else { INVALID }
    })
}

/// Copies between device ranges that must be allocated and may not overlap.
pub(crate) fn move_bytes(state: &mut State, dst: u64, src: u64, len_bytes: usize) -> i32 {
    if dst.abs_diff(src) < len_bytes as u64 {
        state.misuse.push(format!("{len_bytes} bytes at {dst:#x} and {src:#x} overlap"));
        return INVALID;
    }
    let (Some(to), Some(from)) = (state.device(dst, len_bytes, 1), state.device(src, len_bytes, 1)) else {
        return 700;
    };
    // SAFETY: both are allocated, and apart.
    unsafe { to.copy_from_nonoverlapping(from, len_bytes) };
    0
}

unsafe extern "C" fn dtod(dst: CUdeviceptr, src: CUdeviceptr, len_bytes: usize, stream: CUstream) -> i32 {
    enqueue(stream, Function::MemcpyDtoDAsync, move |state| move_bytes(state, dst, src, len_bytes))
}

unsafe extern "C" fn htod(dst: CUdeviceptr, src: *const c_void, len_bytes: usize, stream: CUstream) -> i32 {
    on(stream, Function::MemcpyHtoDAsync, |state| {
        let Some(to) = state.device(dst, len_bytes, 1) else { return 700 };
        // SAFETY: the caller vouches for the host memory.
        unsafe { to.copy_from_nonoverlapping(src.cast(), len_bytes) };
        0
    })
}

unsafe extern "C" fn dtoh(dst: *mut c_void, src: CUdeviceptr, len_bytes: usize, stream: CUstream) -> i32 {
    on(stream, Function::MemcpyDtoHAsync, |state| {
        let Some(from) = state.device(src, len_bytes, 1) else { return 700 };
        // SAFETY: the caller vouches for the host memory.
        unsafe { dst.cast::<u8>().copy_from_nonoverlapping(from, len_bytes) };
        0
    })
}

/// Repeats a value over device memory, which must be aligned to it.
fn set<T: Copy>(state: &mut State, dst: u64, value: T, count: usize) -> i32 {
    let Some(to) = state.device(dst, count * size_of::<T>(), size_of::<T>()) else { return 700 };
    let count = if state.idle { 0 } else { count };
    for i in 0..count {
        // SAFETY: allocated and aligned.
        unsafe { to.cast::<T>().wrapping_add(i).write(value) };
    }
    0
}

unsafe extern "C" fn set_8(dst: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) -> i32 {
    enqueue(stream, Function::MemsetD8Async, move |state| set(state, dst, value, count))
}

unsafe extern "C" fn set_16(dst: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream) -> i32 {
    enqueue(stream, Function::MemsetD16Async, move |state| set(state, dst, value, count))
}

unsafe extern "C" fn set_32(dst: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) -> i32 {
    enqueue(stream, Function::MemsetD32Async, move |state| set(state, dst, value, count))
}

unsafe extern "C" fn launch(
    function: sys::CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: CUstream,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> i32 {
    within(Function::LaunchKernel, |state| {
        if !state.alive(stream.addr(), "stream") {
            return 400;
        }
        let flat = (grid_y, grid_z, block_y, block_z) == (1, 1, 1, 1);
        if let Some((module, text)) = state.functions.get(&function.addr()) {
            let (module, text) = (*module, Arc::clone(text));
            // SAFETY: the kernel has one parameter.
            let parameter = unsafe { parameters.read() }.cast::<u8>();
            // SAFETY: of the size that the text declares.
            let parameter = unsafe { slice::from_raw_parts(parameter, text.parameter_bytes) }.to_vec();
            let most = state.dynamic_bytes.get(&function.addr()).copied().unwrap_or(0);
            if !flat || shared_bytes > most {
                return INVALID;
            }
            state.launched.launch(text.hash, [grid_x, shared_bytes]);
            return graphs::enqueue_in(state, stream, Function::LaunchKernel, move |state| {
                match text.follows.is_some() {
                    _ if !state.alive(module, "module") => INVALID,
                    _ if state.idle => 0,
                    true => super::products::run(&text, state, &parameter),
                    false => text.run(state, &parameter, (grid_x, block_x, shared_bytes)),
                }
            });
        }
        let is_captured =
            state.kernels.contains_key(&function.addr()) || super::gathers::has(state, function);
        if state.graphs.captures(stream.addr()) && !is_captured {
            return graphs::refuse(state, Function::LaunchKernel);
        }
        let shape = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes);
        if let Some(done) = super::programs_of::launch(state, function, shape, parameters, Vec::new()) {
            return done;
        }
        if !flat || !extra.is_null() {
            return INVALID;
        }
        // SAFETY: the kernel has one parameter.
        let params = unsafe { parameters.read() };
        if let Some(done) = super::gathers::launch(state, (stream, function), grid_x, block_x, params.cast())
        {
            return done;
        }
        start(
            state,
            (stream, Function::LaunchKernel),
            function,
            Call { grid: grid_x, threads: block_x, shared_bytes, params },
        )
    })
}

unsafe extern "C" fn launch_ex(
    config: *const LaunchConfig,
    function: sys::CUfunction,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> i32 {
    // SAFETY: the driver reads it before it returns.
    let config = unsafe { &*config };
    on(config.stream, Function::LaunchKernelEx, |state| {
        if let Some(done) = super::programs_of::launch_ex(state, config, function, parameters) {
            return done;
        }
        let flat = config.grid[1..] == [1, 1] && config.block[1..] == [1, 1];
        if !flat || !extra.is_null() || config.attribute_count != 1 {
            return INVALID;
        }
        // SAFETY: there is one.
        let attribute = unsafe { &*config.attributes };
        if (attribute.id, attribute.value[0]) != (6, 1) {
            return INVALID;
        }
        // SAFETY: the kernel has one parameter.
        let params = unsafe { parameters.read() };
        let (grid, threads) = (config.grid[0], config.block[0]);
        start(
            state,
            (config.stream, Function::LaunchKernelEx),
            function,
            Call { grid, threads, shared_bytes: config.shared_bytes, params },
        )
    })
}

/// Carries out a launch, whatever it waits for, or captures it.
fn start(
    state: &mut State,
    (stream, by): (CUstream, Function),
    function: sys::CUfunction,
    call: Call,
) -> i32 {
    let Some(&kernel) = state.kernels.get(&function.addr()) else { return 400 };
    if state.idle {
        return 0;
    }
    let launch = kernels::launch(kernel, call);
    graphs::enqueue_in(state, stream, by, move |state| kernels::run(&launch, state))
}

/// The functions of this file.
pub(crate) fn table() -> Table {
    let mut table = Table::default();
    table.mem_get_info = Some(info);
    table.device_get_default_mem_pool = Some(pool);
    table.mem_pool_set_attribute = Some(pool_set);
    table.mem_pool_get_attribute = Some(pool_get);
    table.mem_pool_trim_to = Some(pool_trim);
    table.mem_alloc_from_pool_async = Some(alloc);
    table.mem_free_async = Some(free);
    table.mem_host_alloc = Some(host_alloc);
    table.mem_free_host = Some(host_free);
    table.memcpy_dtod_async = Some(dtod);
    table.memcpy_htod_async = Some(htod);
    table.memcpy_dtoh_async = Some(dtoh);
    table.memset_d8_async = Some(set_8);
    table.memset_d16_async = Some(set_16);
    table.memset_d32_async = Some(set_32);
    table.launch_kernel = Some(launch);
    table.launch_kernel_ex = Some(launch_ex);
    table
}
