//! The fake driver's peers: who reaches whose memory, and the laws of copies between two of its
//! devices.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::ffi::{c_int, c_uint};

use devarray::{
    Array, Context, Crossing, Error,
    backend::{Capability, PeerAccess},
};
use devarray_cuda::{
    CudaDevice,
    driver::{Driver, Function, MemAccess, Table, sys},
};
use sys::{CUcontext, CUdeviceptr, CUmemoryPool, CUstream};

use super::{
    driver::put,
    laws_hold,
    memory::{move_bytes, pool_device},
    state::{CURRENT, Fake, INVALID, on, with, within},
};

fn device_of(context: CUcontext) -> c_int {
    c_int::try_from(context.addr()).unwrap() - 1
}

unsafe extern "C" fn can_access(at: *mut c_int, device: c_int, peer: c_int) -> i32 {
    with(Function::DeviceCanAccessPeer, |state| put(at, c_int::from(device != peer && !state.apart)))
}

unsafe extern "C" fn enable(peer: CUcontext, flags: c_uint) -> i32 {
    within(Function::CtxEnablePeerAccess, |state| {
        let (device, peer) = (c_int::try_from(CURRENT.get()).unwrap() - 1, device_of(peer));
        if flags != 0 || device == peer || state.contexts.get(&peer).is_none_or(|&count| count == 0) {
            return INVALID;
        }
        if state.apart {
            return 217;
        }
        if state.peers.insert((device, peer)) { 0 } else { 704 }
    })
}

unsafe extern "C" fn set_access(pool: CUmemoryPool, access: *const MemAccess, count: usize) -> i32 {
    with(Function::MemPoolSetAccess, |state| {
        // SAFETY: the backend passes one variable of its own.
        let access = unsafe { access.read() };
        let Some(device) = pool_device(pool) else { return INVALID };
        if count != 1 || access.location_type != 1 || access.flags != 3 {
            return INVALID;
        }
        state.pool_access.insert((device, access.location));
        0
    })
}

/// Unlike other copies, it reaches memory that is not open to the device.
unsafe extern "C" fn copy(
    dst: CUdeviceptr,
    dst_context: CUcontext,
    src: CUdeviceptr,
    src_context: CUcontext,
    len_bytes: usize,
    stream: CUstream,
) -> i32 {
    on(stream, Function::MemcpyPeerAsync, |state| {
        for (at, context) in [(dst, dst_context), (src, src_context)] {
            let device = state.block(usize::try_from(at).unwrap()).map(|(_, block)| block.device);
            if device != Some(device_of(context)) {
                state.misuse.push(format!("{at:#x} is not memory of the context named with it"));
                return INVALID;
            }
        }
        move_bytes(state, dst, src, len_bytes)
    })
}

pub(crate) fn table(mut table: Table) -> Table {
    table.device_can_access_peer = Some(can_access);
    table.ctx_enable_peer_access = Some(enable);
    table.mem_pool_set_access = Some(set_access);
    table.memcpy_peer_async = Some(copy);
    table
}

#[test]
fn copies_between_devices_keep_their_laws() {
    laws_hold(&devarray_conformance::peer());
}

fn pair(driver: &std::sync::Arc<Driver>) -> [Context<CudaDevice>; 2] {
    [0, 1].map(|ordinal| Context::new(CudaDevice::open_with(driver, ordinal).unwrap()).unwrap())
}

/// A linear copy is one call, any other one launch, and pool memory is opened beside the context.
#[test]
fn calls_of_a_copy_in_place() {
    let fake = Fake::new();
    let driver = fake.driver();
    let [here, there] = pair(&driver);
    here.enable_peer_access(&there).unwrap();
    here.enable_peer_access(&there).unwrap();
    assert_eq!(
        (driver.calls(Function::CtxEnablePeerAccess), driver.calls(Function::MemPoolSetAccess)),
        (1, 1)
    );
    assert_eq!(fake.state(|state| state.pool_access.iter().copied().collect::<Vec<_>>()), [(1, 0)]);
    let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
    let src = Array::from_slice(&t, &[4, 6], &(0..24_u32).collect::<Vec<_>>()).unwrap();
    let mut dst = Array::<u32, _>::zeros(&s, &[4, 6]).unwrap();
    let mut square = Array::<u32, _>::zeros(&s, &[6, 4]).unwrap();
    let host_copies = driver.calls(Function::MemcpyDtoHAsync);
    let way = dst.view_mut().copy_from_peer(&s, &t, &src.view()).unwrap();
    assert_eq!((way, driver.calls(Function::MemcpyPeerAsync)), (Crossing::InPlace, 1));
    let launches = driver.calls(Function::LaunchKernelEx);
    let way = square.view_mut().copy_from_peer(&s, &t, &src.view().transpose()).unwrap();
    assert_eq!((way, driver.calls(Function::MemcpyPeerAsync)), (Crossing::InPlace, 1));
    assert_eq!(driver.calls(Function::LaunchKernelEx), launches + 1);
    assert_eq!(driver.calls(Function::MemcpyDtoHAsync), host_copies, "nothing went through the host");
    assert_eq!(square.to_vec(&s).unwrap()[..5], [0, 6, 12, 18, 1]);
    fake.assert_proper();
}

#[test]
fn a_copy_in_place_begins_where_both_views_do() {
    let fake = Fake::new();
    let [here, there] = pair(&fake.driver());
    here.enable_peer_access(&there).unwrap();
    let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
    let src = Array::from_slice(&t, &[8], &(0..8_u32).collect::<Vec<_>>()).unwrap();
    let mut dst = Array::<u32, _>::zeros(&s, &[8]).unwrap();
    let (to, from) = (dst.view_mut().slice_axis(0, 2..5), src.slice_axis(0, 5..8).unwrap());
    assert_eq!(to.unwrap().copy_from_peer(&s, &t, &from).unwrap(), Crossing::InPlace);
    assert_eq!(dst.to_vec(&s).unwrap(), [0, 0, 5, 6, 7, 0, 0, 0]);
    fake.assert_proper();
}

/// A second peer does not replace the first.
#[test]
fn several_peers_are_known() {
    let fake = Fake::new();
    fake.state(|state| state.devices = 3);
    let driver = fake.driver();
    let devices = [0, 1, 2].map(|ordinal| CudaDevice::open_with(&driver, ordinal).unwrap());
    for peer in [1, 2, 1, 2] {
        devices[0].enable_peer_access(&devices[peer]).unwrap();
        assert!(devices[0].reaches_peer(&devices[peer]) && !devices[peer].reaches_peer(&devices[0]));
    }
    assert_eq!(driver.calls(Function::CtxEnablePeerAccess), 2);
}

#[test]
fn devices_without_a_link_say_so() {
    let fake = Fake::new();
    fake.state(|state| state.apart = true);
    let [here, there] = pair(&fake.driver());
    assert!(!here.can_access_peer(&there).unwrap());
    let refused = here.enable_peer_access(&there).unwrap_err();
    assert!(matches!(
        refused,
        Error::Unsupported { capability: Capability::PeerAccess, backend: "cuda", .. }
    ));
    let (s, t) = (here.stream().unwrap(), there.stream().unwrap());
    let src = Array::from_slice(&t, &[3], &[1_u8, 2, 3]).unwrap();
    let mut dst = Array::<u8, _>::zeros(&s, &[3]).unwrap();
    assert_eq!(dst.view_mut().copy_from_peer(&s, &t, &src.view()).unwrap(), Crossing::Staged);
    assert_eq!(dst.to_vec(&s).unwrap(), [1, 2, 3]);
    fake.assert_proper();
}

/// Other code of the process may have enabled access before.
#[test]
fn access_that_is_enabled_already_is_enough() {
    let fake = Fake::new();
    fake.state(|state| state.peers.insert((0, 1)));
    let [here, there] = pair(&fake.driver());
    here.enable_peer_access(&there).unwrap();
    assert!(fake.state(|state| state.pool_access.contains(&(1, 0))));
}
