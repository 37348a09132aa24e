//! The laws of host memory on the fake driver, and which flags and ranges reach the driver.
#![allow(unsafe_code)] // hints for parts of memory, made without core

use std::num::NonZeroI32;

use devarray::{
    Context, ManagedArray,
    backend::{Advice, Capability, Device, HostFlags, Location, ManagedMemory, MemoryInfo},
};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
};

use super::{laws, numba, state::Fake};

fn with_context(program: impl Fn(&Context<CudaDevice>)) -> Fake {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    program(&context);
    assert_eq!(context.take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
    fake
}

#[test]
fn every_kind_keeps_its_laws() {
    with_context(laws::pinned_with_every_flag);
    with_context(laws::pinned_pool_keeps_to_its_limits);
    with_context(laws::pinned_memory_in_use_leaves_less_room);
    with_context(laws::registered_memory_copies_as_any_other);
    with_context(laws::registration_ends_on_unwind);
    with_context(laws::mapped_memory_is_one_memory);
    with_context(laws::managed_memory_is_one_memory);
}

#[test]
fn behaviours_known_from_numba() {
    for (name, behaviour) in numba::all::<CudaDevice>() {
        println!("{name}");
        with_context(behaviour);
    }
}

#[test]
fn portable_memory_serves_another_device() {
    let fake = Fake::new();
    let driver = fake.driver();
    let context = |ordinal| Context::new(CudaDevice::open_with(&driver, ordinal).unwrap()).unwrap();
    let (one, two) = (context(0), context(1));
    laws::portable_memory_serves_other_contexts(&one, &two);
    drop((one, two));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

#[test]
fn the_driver_is_told_every_flag() {
    with_context(|context| {
        let flags = HostFlags::new();
        let wanted = [
            (flags, 0),
            (flags.portable(), 1),
            (flags.mapped(), 2),
            (flags.write_combined(), 4),
            (flags.portable().mapped().write_combined(), 7),
        ];
        for (flags, bits) in wanted {
            let buffer = context.pinned_with::<u8>(100, flags).unwrap();
            let told =
                Fake::installed().state(|state| state.pinned_flags.values().copied().collect::<Vec<_>>());
            assert_eq!(told, [bits], "{flags:?}");
            drop(buffer);
        }
    });
}

#[test]
fn hints_name_the_bytes_and_the_place() {
    let fake = with_context(|context| {
        let stream = context.stream().unwrap();
        let managed = ManagedArray::<u16, _>::zeros(context, &[50]).unwrap();
        managed.prefetch(&stream, Location::Device).unwrap();
        managed.prefetch(&stream, Location::Host).unwrap();
        managed.advise(Advice::Prefer(Location::Host)).unwrap();
    });
    let (prefetch, advise) = (Function::MemPrefetchAsync, Function::MemAdvise);
    assert_eq!(
        fake.state(|state| state.hints.clone()),
        [(prefetch, 100, 0), (prefetch, 100, -1), (advise, 100, -1)]
    );
}

/// The last bytes: what begins elsewhere is not all managed.
#[test]
fn hints_for_a_part_are_given_where_it_lies() {
    let fake = with_context(|context| {
        let (device, stream) = (context.device(), context.stream().unwrap());
        let memory = device.alloc_managed(100.try_into().unwrap()).unwrap();
        let buffer = device.managed_buffer(&memory).unwrap();
        // SAFETY: bytes of the buffer, which is there until the end.
        unsafe { device.prefetch(stream.raw(), &buffer, 30..100, Location::Device) }.unwrap();
        // SAFETY: as above.
        unsafe { device.advise(&buffer, 40..100, Advice::ReadMostly) }.unwrap();
        stream.synchronize().unwrap();
    });
    let hints = fake.state(|state| state.hints.clone());
    assert_eq!(hints, [(Function::MemPrefetchAsync, 70, 0), (Function::MemAdvise, 60, -1)]);
}

#[test]
fn a_device_without_them_says_so() {
    let fake = Fake::new();
    fake.state(|state| state.host_kinds = 0);
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let extras = device.info().capabilities.extras;
    assert!(!extras.has(Capability::ManagedMemory) && !extras.has(Capability::RegisteredMemory));
    let context = Context::new(device).unwrap();
    let refused = |error| matches!(error, devarray::Error::Unsupported { backend: "cuda", .. });
    assert!(refused(ManagedArray::<u8, _>::zeros(&context, &[1]).unwrap_err()));
    assert!(refused(devarray::MappedArray::<u8, _>::zeros(&context, &[1]).unwrap_err()));
    assert!(refused(context.with_pinned(&mut [1_u8], |_| ()).unwrap_err()));
    for function in [Function::MemAllocManaged, Function::MemHostAlloc, Function::MemHostRegister] {
        assert_eq!(context.device().driver().calls(function), 0);
    }
}

/// Managed memory that is alive counts against what is free, though the driver does not count it.
#[test]
fn managed_memory_together_is_no_more_than_is_free() {
    with_context(|context| {
        let total = 1 << 24;
        let half = ManagedArray::<u8, _>::zeros(context, &[total / 2]).unwrap();
        let more = ManagedArray::<u8, _>::zeros(context, &[total / 2 + 1]);
        assert!(matches!(more, Err(devarray::Error::OutOfMemory { .. })));
        ManagedArray::<u8, _>::zeros(context, &[total / 2]).unwrap();
        drop(half);
        // Memory that was given back is free again.
        ManagedArray::<u8, _>::zeros(context, &[total]).unwrap();
    });
}

/// The driver has the last word on whether there is room.
#[test]
fn managed_memory_that_the_driver_does_not_have_is_out_of_memory() {
    with_context(|context| {
        let none = Fault::new(0, NonZeroI32::new(2).unwrap()).of(Function::MemAllocManaged);
        context.device().driver().fail(none);
        let error = context.device().alloc_managed(100.try_into().unwrap()).unwrap_err();
        let room = MemoryInfo::new(1 << 24, 1 << 24);
        assert_eq!(error, devarray::Error::out_of_memory("cuda", "alloc_managed", 100, Some(room)));
    });
}

/// Pinned memory that the driver does not have is an error of its own kind.
#[test]
fn pinned_memory_runs_out_by_name() {
    with_context(|context| {
        let driver = context.device().driver();
        driver.fail(Fault::new(0, NonZeroI32::new(2).unwrap()).of(Function::MemHostAlloc));
        let refused = context.device().alloc_host(4096.try_into().unwrap()).unwrap_err();
        assert!(matches!(refused, devarray::Error::OutOfMemory { .. }), "{refused}");
    });
}
