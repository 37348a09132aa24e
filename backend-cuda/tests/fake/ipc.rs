//! The fake driver's handles for other processes, and what the backend makes of them.
#![allow(unsafe_code)] // stands for the driver behind its C interface, and for another process

use std::{
    ffi::{c_char, c_uint},
    ptr,
};

use devarray::{
    Array, Context, Error,
    backend::{Capability, Ipc},
    ipc::{RemoteArray, RemoteEvent},
};
use devarray_cuda::{
    CudaDevice,
    driver::{Function, Table, sys},
};
use sys::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};

use super::{
    driver::put,
    laws_hold,
    state::{Block, Fake, INVALID, NO_MEMORY, within},
};

unsafe extern "C" fn alloc(at: *mut CUdeviceptr, len_bytes: usize) -> i32 {
    within(Function::MemAlloc, |state| {
        if len_bytes == 0 {
            return INVALID;
        }
        if len_bytes > state.total_bytes - state.used_bytes() - state.cached_bytes {
            return NO_MEMORY;
        }
        let mut block = Block::new(len_bytes);
        let address = block.address();
        state.memory.insert(address, block);
        state.plain.insert(address);
        put(at, address as u64)
    })
}

unsafe extern "C" fn address_range(start: *mut CUdeviceptr, len_bytes: *mut usize, at: CUdeviceptr) -> i32 {
    within(Function::MemGetAddressRange, |state| match state.block(usize::try_from(at).unwrap()) {
        Some((base, block)) => put(len_bytes, block.len_bytes) + put(start, base as u64),
        None => INVALID,
    })
}

/// A handle: a mark, and a number.
fn handle(mark: u8, number: usize) -> [c_char; 64] {
    let mut bytes = [mark; 64];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes.map(|byte| c_char::from_ne_bytes([byte]))
}

fn number(mark: u8, handle: [c_char; 64]) -> Option<usize> {
    let bytes = handle.map(|byte| byte.to_ne_bytes()[0]);
    (bytes[63] == mark).then(|| usize::from_le_bytes(bytes[..8].try_into().unwrap()))
}

unsafe extern "C" fn get_memory(at: *mut CUipcMemHandle, address: CUdeviceptr) -> i32 {
    within(Function::IpcGetMemHandle, |state| {
        let address = usize::try_from(address).unwrap();
        if !state.plain.contains(&address) {
            return INVALID;
        }
        put(at, CUipcMemHandle { reserved: handle(b'm', address) })
    })
}

/// Memory that is opened again has the same address, and is counted.
unsafe extern "C" fn open_memory(at: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint) -> i32 {
    within(Function::IpcOpenMemHandle, |state| {
        let Some(address) = number(b'm', handle.reserved).filter(|_| flags == 1) else { return INVALID };
        if !state.plain.contains(&address) {
            return 400;
        }
        *state.opened.entry(address).or_default() += 1;
        put(at, address as u64)
    })
}

unsafe extern "C" fn close_memory(address: CUdeviceptr) -> i32 {
    within(Function::IpcCloseMemHandle, |state| {
        let address = usize::try_from(address).unwrap();
        match state.opened.get_mut(&address) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => drop(state.opened.remove(&address)),
            None => {
                state.misuse.push("memory closed that is not open".to_owned());
                return INVALID;
            }
        }
        0
    })
}

unsafe extern "C" fn get_event(at: *mut CUipcEventHandle, event: CUevent) -> i32 {
    within(Function::IpcGetEventHandle, |state| {
        if !state.alive(event.addr(), "event") || !state.exported.contains(&event.addr()) {
            return INVALID;
        }
        put(at, CUipcEventHandle { reserved: handle(b'e', event.addr()) })
    })
}

unsafe extern "C" fn open_event(at: *mut CUevent, handle: CUipcEventHandle) -> i32 {
    within(Function::IpcOpenEventHandle, |state| match number(b'e', handle.reserved) {
        Some(event) if state.live.get(&event) == Some(&"event") => {
            put(at, ptr::without_provenance_mut(state.create("event")))
        }
        _ => INVALID,
    })
}

pub(crate) fn table(mut table: Table) -> Table {
    table.mem_alloc = Some(alloc);
    table.mem_get_address_range = Some(address_range);
    table.ipc_get_mem_handle = Some(get_memory);
    table.ipc_open_mem_handle = Some(open_memory);
    table.ipc_close_mem_handle = Some(close_memory);
    table.ipc_get_event_handle = Some(get_event);
    table.ipc_open_event_handle = Some(open_event);
    table
}

/// Returns the same bytes as if another process had made them: the number of the process is after the
/// backend's name.
pub(crate) fn of_another_process(mut message: Vec<u8>) -> Vec<u8> {
    let at = 8 + 8 + "cuda".len();
    assert_eq!(&message[16..at], b"cuda");
    message[at] ^= 1;
    message
}

#[test]
fn sharing_keeps_its_laws() {
    laws_hold(&devarray_conformance::ipc());
}

#[test]
fn opened_memory_is_the_same_is_counted_and_is_closed() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let mut array = Array::<u32, _>::zeros_exportable(&stream, &[3, 4]).unwrap();
    assert_eq!(fake.state(|state| state.memory.values().next().unwrap().len_bytes), 2 << 20, "whole blocks");
    array.view_mut().copy_from_slice(&stream, &(0..12).collect::<Vec<u32>>()).unwrap();
    let exported = array.export(&stream).unwrap();
    // SAFETY: this process made it itself, so it is refused.
    let own = unsafe { Array::<u32, _>::open(&stream, exported.array()) }.unwrap_err();
    assert!(matches!(own, Error::Handle { backend: "cuda", operation: "open", .. }), "{own}");
    let driver = context.device().driver();
    assert_eq!(driver.calls(Function::IpcOpenMemHandle), 0, "and the driver is not asked");

    let message = of_another_process(exported.array().to_bytes());
    let remote = RemoteArray::from_bytes(&message).unwrap();
    let row = remote.clone().with_layout(remote.layout().slice_axis(0, 1..2).unwrap()).unwrap();
    let address = array.view().address();
    // SAFETY: the memory is exported until the end.
    let one = unsafe { Array::<u32, _>::open(&stream, &remote) }.unwrap();
    // SAFETY: as above.
    let two = unsafe { Array::<u32, _>::open(&stream, &row) }.unwrap();
    assert_eq!((one.view().address(), two.view().address()), (address, address + 16));
    assert_eq!(two.to_vec(&stream).unwrap(), [4, 5, 6, 7]);
    assert_eq!(fake.state(|state| state.opened.values().copied().collect::<Vec<_>>()), [2]);
    drop(one);
    assert_eq!(fake.state(|state| state.opened.values().copied().collect::<Vec<_>>()), [1]);
    drop((two, array));
    assert_eq!(fake.state(|state| (state.opened.len(), state.plain.len())), (0, 1), "what is exported stays");
    drop((exported, stream, context));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// Drawn at random, so that two processes do not take each other for one.
#[test]
fn the_number_of_this_process_is_one_for_all_devices() {
    let driver = Fake::new().driver();
    let [one, other] = [0, 1].map(|ordinal| CudaDevice::open_with(&driver, ordinal).unwrap().process());
    assert!(one == other && one > u64::from(u32::MAX), "{one:#x} and {other:#x}");
}

#[test]
fn what_the_driver_does_not_know_is_told() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let array = Array::<u8, _>::zeros_exportable(&stream, &[8]).unwrap();
    let exported = array.export(&stream).unwrap();
    let event = stream.record_exported().unwrap();
    let remote = RemoteArray::from_bytes(&of_another_process(exported.array().to_bytes())).unwrap();
    let late = RemoteEvent::from_bytes(&of_another_process(event.event().to_bytes())).unwrap();
    drop((event, exported, array));
    let named = |error: &Error| matches!(error, Error::Handle { backend: "cuda", .. });
    // SAFETY: what is named is gone, so nothing is opened.
    let refused = unsafe { Array::<u8, _>::open(&stream, &remote) }.unwrap_err();
    assert!(named(&refused), "{refused}");
    // SAFETY: as above.
    let refused = unsafe { stream.wait_exported(&late) }.unwrap_err();
    assert!(named(&refused), "{refused}");
    // Memory of the pool cannot be exported.
    let pooled = Array::<u8, _>::zeros(&stream, &[8]).unwrap().export(&stream).unwrap_err();
    assert!(matches!(pooled, Error::Unsupported { capability: Capability::Ipc, operation: "export", .. }));
    fake.assert_proper();
}
