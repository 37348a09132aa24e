//! Properties that the fake driver tells of its devices, and how they are told on.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::ffi::{c_char, c_int};

use devarray_cuda::driver::{Function, Table, sys};
use sys::{CUdevice_attribute as A, CUuuid};

use super::{
    driver::put,
    state::{Fake, INVALID, with},
};

/// The attributes that are properties, each of another value.
pub(crate) fn attribute(at: *mut c_int, what: A) -> i32 {
    let value = match what {
        A::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID => 1,
        A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID => 0x2b,
        A::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID => 3,
        A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => 4,
        A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY => 65_536,
        A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 132,
        A::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => 1024,
        A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR => 2048,
        A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => 5,
        A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK => 7,
        A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE => 8,
        A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => 9,
        A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT => 11,
        A::CU_DEVICE_ATTRIBUTE_INTEGRATED => 0,
        A::CU_DEVICE_ATTRIBUTE_ECC_ENABLED | A::CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED => 1,
        _ => return INVALID,
    };
    put(at, value)
}

unsafe extern "C" fn uuid(at: *mut CUuuid, device: c_int) -> i32 {
    with(Function::DeviceGetUuid, |_| {
        let mut bytes: [c_char; 16] = [-1; 16];
        bytes[15] = c_char::try_from(device).unwrap();
        put(at, CUuuid { bytes })
    })
}

unsafe extern "C" fn total_mem(at: *mut usize, _: c_int) -> i32 {
    with(Function::DeviceTotalMem, |state| put(at, state.total_bytes))
}

pub(crate) fn table(mut table: Table) -> Table {
    table.device_get_uuid = Some(uuid);
    table.device_total_mem = Some(total_mem);
    table
}

#[test]
fn properties_are_told_one_by_one() {
    let fake = Fake::new();
    fake.state(|state| state.block_bytes = 6);
    let found = fake.driver().devices().unwrap();
    let told = &found[1].properties;
    assert_eq!(told.uuid.unwrap().to_string(), "GPU-ffffffff-ffff-ffff-ffff-ffffffffff01");
    assert_eq!(told.pci.unwrap().to_string(), "0001:2b:03.0");
    assert_eq!((told.compute_capability, told.total_memory_bytes), (Some((9, 0)), 1 << 24));
    let sizes = [
        told.l2_cache_bytes,
        told.constant_memory_bytes,
        told.multiprocessors,
        told.warp_threads,
        told.max_block_threads,
        told.max_multiprocessor_threads,
        told.block_shared_memory_bytes,
        told.max_block_shared_memory_bytes,
        told.block_registers,
        told.clock_khz,
        told.memory_clock_khz,
        told.memory_bus_bits,
        told.copy_engines,
    ];
    assert_eq!(sizes, [4, 65_536, 132, 32, 1024, 2048, 5, 6, 7, 8, 9, 10, 11]);
    assert!(!told.is_integrated && told.has_ecc);
    assert!(fake.state(|state| state.contexts.is_empty()), "listing opens nothing");
}
