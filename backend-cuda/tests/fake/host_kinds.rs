//! The fake driver's host memory: registered, mapped and managed.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::{
    ffi::{c_int, c_uint, c_void},
    num::NonZeroUsize,
};

use devarray::{
    Error,
    backend::{FreeOp, ManagedMemory, Stream},
};
use devarray_cuda::{
    CudaBuffer, CudaStream,
    driver::{Function, Table, sys},
};
use sys::{CUdeviceptr, CUstream};

use super::{
    driver::put,
    functions::{close, open},
    state::{Block, Fake, INVALID, NO_MEMORY, State, on, within},
};

/// Ranges that share a byte with one that is registered are refused, as the driver does.
unsafe extern "C" fn register(at: *mut c_void, len_bytes: usize, flags: c_uint) -> i32 {
    within(Function::MemHostRegister, |state| {
        if flags != 1 || len_bytes == 0 {
            return INVALID;
        }
        let start = at.addr();
        let taken = |(&other, &len): (&usize, &usize)| other < start + len_bytes && start < other + len;
        if state.registered.iter().any(taken) {
            return 712;
        }
        state.registered.insert(start, len_bytes);
        0
    })
}

unsafe extern "C" fn unregister(at: *mut c_void) -> i32 {
    within(Function::MemHostUnregister, |state| {
        if state.registered.remove(&at.addr()).is_none() {
            state.misuse.push("memory unregistered that is not registered".to_owned());
            return 713;
        }
        0
    })
}

/// The device's address is the host's.
unsafe extern "C" fn device_pointer(at: *mut CUdeviceptr, pointer: *mut c_void, _: c_uint) -> i32 {
    within(Function::MemHostGetDevicePointer, |state| match state.pinned_flags.get(&pointer.addr()) {
        Some(flags) if flags & 2 != 0 => put(at, pointer.addr() as u64),
        _ => INVALID,
    })
}

unsafe extern "C" fn alloc_managed(at: *mut CUdeviceptr, len_bytes: usize, flags: c_uint) -> i32 {
    within(Function::MemAllocManaged, |state| {
        if flags != 1 || len_bytes == 0 {
            return INVALID;
        }
        if len_bytes > state.total_bytes {
            return NO_MEMORY;
        }
        let mut block = Block::new(len_bytes);
        let address = block.address();
        state.managed.insert(address, block);
        put(at, address as u64)
    })
}

unsafe extern "C" fn free(at: CUdeviceptr) -> i32 {
    within(Function::MemFree, |state| {
        let at = usize::try_from(at).unwrap();
        let plain = state.plain.remove(&at).then(|| state.memory.remove(&at)).flatten();
        if plain.or_else(|| state.managed.remove(&at)).is_some() { 0 } else { INVALID }
    })
}

/// Notes a hint about managed memory.
fn hint(state: &mut State, function: Function, at: CUdeviceptr, len_bytes: usize, device: c_int) -> i32 {
    let start = usize::try_from(at).unwrap();
    let mut blocks = state.managed.iter();
    if !blocks.any(|(&first, block)| first <= start && start + len_bytes <= first + block.len_bytes) {
        state.misuse.push(format!("a hint for {len_bytes} bytes at {at:#x}, which are not managed"));
        return INVALID;
    }
    state.hints.push((function, len_bytes, device));
    0
}

unsafe extern "C" fn prefetch(at: CUdeviceptr, len_bytes: usize, device: c_int, stream: CUstream) -> i32 {
    on(stream, Function::MemPrefetchAsync, |state| {
        hint(state, Function::MemPrefetchAsync, at, len_bytes, device)
    })
}

unsafe extern "C" fn advise(at: CUdeviceptr, len_bytes: usize, _: c_uint, device: c_int) -> i32 {
    within(Function::MemAdvise, |state| hint(state, Function::MemAdvise, at, len_bytes, device))
}

pub(crate) fn table(mut table: Table) -> Table {
    table.mem_host_register = Some(register);
    table.mem_host_unregister = Some(unregister);
    table.mem_host_get_device_pointer = Some(device_pointer);
    table.mem_alloc_managed = Some(alloc_managed);
    table.mem_free = Some(free);
    table.mem_prefetch_async = Some(prefetch);
    table.mem_advise = Some(advise);
    table
}

/// All that is free may become managed, and not a byte more.
#[test]
fn managed_memory_takes_what_is_free() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let free = NonZeroUsize::new(fake.state(|state| state.total_bytes)).unwrap();
    let more = device.alloc_managed(free.checked_add(1).unwrap());
    assert!(matches!(more, Err(Error::OutOfMemory { .. })), "{more:?}");
    let all = device.alloc_managed(free).unwrap();
    // Managed memory counts, although the driver calls it free until it is used.
    assert!(device.alloc_managed(NonZeroUsize::MIN).is_err());
    drop(all);
    drop(device.alloc_managed(NonZeroUsize::MIN).unwrap());
    close(&fake, device, stream);
}

fn free_unused(stream: &CudaStream, buffer: CudaBuffer) {
    // SAFETY: of this device, and nothing uses it.
    stream.free(unsafe { FreeOp::new_unchecked(buffer) }).unwrap();
}

/// Memory that the pool keeps idle is given back for managed memory, and only then.
#[test]
fn managed_memory_takes_what_the_pool_keeps() {
    let fake = Fake::new();
    let (device, stream) = open(&fake);
    let room = 256 << 20;
    fake.state(|state| state.total_bytes = room);
    let half = NonZeroUsize::new(room / 2).unwrap();
    free_unused(&stream, stream.alloc(half).unwrap());
    let trims = || device.driver().calls(Function::MemPoolTrimTo);
    drop(device.alloc_managed(NonZeroUsize::MIN).unwrap());
    assert_eq!(trims(), 0);
    drop(device.alloc_managed(half.checked_add(1).unwrap()).unwrap());
    assert_eq!(trims(), 1);
    close(&fake, device, stream);
}
