//! Kinds of host memory on the simulator: the laws under every schedule, and failures of calls and
//! waits.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; the twin that must fail goes through the raw door

#[path = "host_kinds/laws.rs"]
mod laws;
#[path = "host_kinds/numba.rs"]
mod numba;
#[path = "host_kinds/shared_pages.rs"]
mod shared_pages;

use super::schedules;
use std::num::NonZeroUsize;

use devarray::{
    Array, Context, Error, Layout, ManagedArray, MappedArray, PinnedLimits,
    backend::{
        AllocHost, Capabilities, Capability, Device, DownloadOp, FillOp, HostBuffer, HostFlags, Location,
        MapHost, Quiesced, RegisterHost, Stream, UploadOp,
    },
    copy::Plan,
};
use devarray_mock::{Code, MockDevice, Schedule, Site};
use schedules::everywhere;

/// The memory of each device.
const MEMORY_BYTES: usize = 1 << 24;

#[test]
fn pinned() {
    everywhere(MEMORY_BYTES, laws::pinned_with_every_flag);
    everywhere(MEMORY_BYTES, laws::pinned_pool_keeps_to_its_limits);
    everywhere(MEMORY_BYTES, laws::pinned_memory_in_use_leaves_less_room);
}

#[test]
fn registered() {
    everywhere(MEMORY_BYTES, laws::registered_memory_copies_as_any_other);
    everywhere(MEMORY_BYTES, laws::registration_ends_on_unwind);
}

/// Runs threads on one simulator. `hardware_pages.rs` of the CUDA backend does the same on
/// hardware.
#[test]
fn neighbours_in_a_page_end_while_others_copy() {
    let load = shared_pages::Load { long_bytes: 20_001, rounds: 3 };
    everywhere(MEMORY_BYTES, |context| {
        shared_pages::neighbours_end_while_others_copy(context, &load);
    });
}

#[test]
fn mapped() {
    everywhere(MEMORY_BYTES, laws::mapped_memory_is_one_memory);
}

#[test]
fn managed() {
    everywhere(MEMORY_BYTES, laws::managed_memory_is_one_memory);
}

#[test]
fn portable() {
    everywhere(MEMORY_BYTES, |context| {
        let other = MockDevice::builder().ordinal(1).build();
        laws::portable_memory_serves_other_contexts(context, &Context::new(other.clone()).unwrap());
        assert!(other.report().is_clean(), "{}", other.report());
    });
}

/// Makes a test of each behaviour, under every schedule.
macro_rules! behaviours {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            everywhere(MEMORY_BYTES, numba::$name);
        })*

        #[test]
        fn every_behaviour_is_a_test() {
            let all: Vec<&str> = numba::all::<MockDevice>().into_iter().map(|(name, _)| name).collect();
            assert_eq!([$(stringify!($name)),*][..], all);
        }
    };
}

behaviours! {
    numba_01_the_eleventh_flushes
    numba_02_a_byte_more_flushes
    numba_03_deferrals_nest
    numba_04_shortage_flushes_a_deferral
    numba_05_shortage_is_tried_once_more
    numba_06_unpinning_is_immediate
    numba_07_pinned_memory_is_tried_again
    numba_08_pinned_bytes_are_counted
    numba_09_no_elements_have_no_address
    numba_10_strides_of_no_elements_do_not_matter
    numba_11_no_elements_do_not_fill_some
    numba_12_axes_of_extent_one_can_be_ignored
    numba_13_stride_zero_of_an_axis_of_extent_one
    numba_14_the_empty_index
    numba_15_no_axes_and_one_element
    numba_16_sources_are_reordered
    numba_17_a_broadcast_is_stored_as_its_core
    numba_19_gaps_on_the_host_stay
    numba_20_negative_strides_to_the_host
    numba_21_a_reversed_view_is_a_view
    numba_22_a_slice_of_a_repeated_axis
    numba_23_an_index_of_the_last_axis_in_f_order
    numba_24_reshape_walks_in_the_order_asked_for
    numba_25_reshape_takes_any_kind_of_shape
    numba_26_order_a_of_one_axis_is_c
    numba_27_no_view_loses_its_stream
    numba_28_only_minus_one_is_inferred
    numba_29_a_negative_axis_is_squeezed
    numba_30_the_last_section_is_the_remainder
    numba_31_a_transpose_is_a_view
    numba_34_a_source_in_f_order_with_fewer_axes
    numba_40_mapped_flags_and_slices
    fill_of_every_width
    bytes_of_device_memory
}

#[test]
fn what_the_device_lacks_is_refused_by_name() {
    let device = MockDevice::builder().capabilities(Capabilities::default()).build();
    let context = Context::new(device.clone()).unwrap();
    let lacks = |error: Error, missing: Capability| {
        assert!(
            matches!(error, Error::Unsupported { backend: "mock", capability, .. } if capability == missing),
            "{error}"
        );
    };
    lacks(context.with_pinned(&mut [0_u8; 4], |_| ()).unwrap_err(), Capability::RegisteredMemory);
    lacks(MappedArray::<u8, _>::zeros(&context, &[4]).unwrap_err(), Capability::MappedMemory);
    lacks(ManagedArray::<u8, _>::zeros(&context, &[4]).unwrap_err(), Capability::ManagedMemory);
    let combined = context.pinned_with::<u8>(4, HostFlags::new().write_combined()).unwrap_err();
    lacks(combined, Capability::WriteCombinedMemory);
    context.pinned_with::<u8>(4, HostFlags::new().portable()).unwrap();
    drop(context);
    assert!(device.report().is_clean());
}

#[test]
fn exactly_the_bytes_of_the_slices_are_pinned() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let mut data = [0_u16; 100];
    let start = data.as_ptr().addr();
    let (low, high) = data.split_at_mut(50);
    context
        .with_all_pinned([&mut low[10..20], &mut high[30..]], |_| {
            assert_eq!(device.registered_ranges(), [start + 20..start + 40, start + 160..start + 200]);
        })
        .unwrap();
    assert!(device.registered_ranges().is_empty());
}

#[test]
fn reading_write_combined_memory_is_told_of() {
    for asked in [true, false] {
        let device = MockDevice::builder().lints(asked).build();
        let context = Context::new(device.clone()).unwrap();
        let mut buffer = context.pinned_with::<u32>(10, HostFlags::new().write_combined()).unwrap();
        buffer.copy_from_slice(&[1; 10]);
        assert_eq!(buffer.len(), 10);
        assert_eq!(device.report().lints, [], "writing it is what it is for");
        assert_eq!(buffer[3] + buffer[4], 2);
        let codes: Vec<Code> = device.report().lints.iter().map(|lint| lint.code).collect();
        assert_eq!(codes, vec![Code::SlowRead; usize::from(asked)], "once for each memory");
        assert_eq!(device.report().findings, [], "it is no mistake");
    }
}

#[test]
fn unpinning_under_a_copy_is_found() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let stream = device.open_stream().unwrap();
    let buffer = stream.alloc(NonZeroUsize::new(8).unwrap()).unwrap();
    let mut data = vec![7_u8; 8];
    // SAFETY: the memory outlives the registration and the copy; that the registration ends first
    // is the mistake to be found.
    let registration = unsafe { device.register_host(data.as_mut_ptr(), NonZeroUsize::new(8).unwrap()) };
    // SAFETY: in bounds; the slice is untouched until the wait below.
    stream.upload(&unsafe { UploadOp::new_unchecked(&buffer, 0, data.as_ptr(), 8) }).unwrap();
    device.unregister_host(registration.unwrap()).unwrap();
    assert_eq!(stream.synchronize(), Quiesced::Done);
    let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::HostFreed]);
}

/// Core does not let this happen: pinned memory is given back before the download to it has run.
/// The download does not write memory that somebody else has by then.
#[test]
fn freeing_pinned_memory_under_a_copy_is_found() {
    for wait in [true, false] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let (stream, size) = (device.open_stream().unwrap(), NonZeroUsize::new(8).unwrap());
        let buffer = stream.alloc(size).unwrap();
        let line = Layout::new(&[8], &[1], 0).unwrap();
        let plan = Plan::new(&line, &line, 1, &device.info().capabilities).unwrap();
        // SAFETY: the plan fills the buffer, which nothing else uses.
        stream.fill(&unsafe { FillOp::new_unchecked(&buffer, &plan, &[7]) }).unwrap();
        let memory = device.alloc_host(size).unwrap();
        // SAFETY: in bounds; that the memory may be given back by then is the mistake to be found.
        stream.download(&unsafe { DownloadOp::new_unchecked(&buffer, 0, memory.as_ptr(), 8) }).unwrap();
        if wait {
            assert_eq!(stream.synchronize(), Quiesced::Done);
        }
        drop(memory);
        let next = device.alloc_host(size).unwrap();
        assert_eq!(stream.synchronize(), Quiesced::Done);
        // SAFETY: eight initialized bytes, which nothing in flight uses.
        assert_eq!(unsafe { next.as_ptr().cast::<[u8; 8]>().read() }, [0; 8]);
        let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if wait { vec![] } else { vec![Code::HostFreed] });
    }
}

/// Core does not let this happen: mapped memory is freed before the fill that writes it has run.
#[test]
fn freeing_mapped_memory_under_a_fill_is_found() {
    for wait in [true, false] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let stream = device.open_stream().unwrap();
        let flags = HostFlags::new().mapped();
        let memory = device.alloc_host_as(NonZeroUsize::new(8).unwrap(), flags).unwrap();
        let buffer = device.map_host(&memory).unwrap();
        let line = Layout::new(&[8], &[1], 0).unwrap();
        let plan = Plan::new(&line, &line, 1, &device.info().capabilities).unwrap();
        // SAFETY: the plan fills the buffer; that the memory may be freed by then is the mistake to
        // be found, and the simulator does not touch it then.
        stream.fill(&unsafe { FillOp::new_unchecked(&buffer, &plan, &[7]) }).unwrap();
        if wait {
            assert_eq!(stream.synchronize(), Quiesced::Done);
        }
        drop(memory);
        assert_eq!(stream.synchronize(), Quiesced::Done);
        let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if wait { vec![] } else { vec![Code::HostFreed] });
    }
}

fn failed() -> Error {
    Error::Driver { backend: "mock", operation: "planned", code: 999, name: "PLANNED".into() }
}

/// Uses every call of these kinds.
fn program(context: &Context<MockDevice>) -> devarray::Result<()> {
    let stream = context.stream()?;
    let mut data = vec![1_u8; 64];
    let mut array = Array::zeros(&stream, &[64])?;
    context.with_pinned(&mut data, |data| stream.scope(|s| s.upload(data, &mut array.view_mut())))???;
    let mut mapped = MappedArray::<u8, _>::zeros(context, &[64])?;
    mapped.view_mut().copy_from(&stream, &array.view())?;
    assert_eq!(mapped.host()?, data);
    mapped.view_mut().fill(&stream, 2)?;
    let mut managed = ManagedArray::<u8, _>::zeros(context, &[64])?;
    managed.prefetch(&stream, Location::Device)?;
    managed.advise(devarray::backend::Advice::ReadMostly)?;
    managed.view_mut().copy_from(&stream, &mapped.view())?;
    drop(mapped); // in flight
    assert_eq!(managed.host_mut()?, [2; 64]);
    let pinned = context.pinned_with::<u8>(64, HostFlags::new())?;
    drop(array.view_mut().upload(&stream, pinned)?); // in flight
    Ok(())
}

#[test]
fn every_call_fails_once() {
    let sites = [
        Site::AllocHost,
        Site::MapHost,
        Site::RegisterHost,
        Site::UnregisterHost,
        Site::AllocManaged,
        Site::Prefetch,
        Site::Advise,
        Site::Record,
        Site::Copy,
        Site::Fill,
        Site::Upload,
    ];
    for site in sites {
        for nth in 0..4 {
            let device = MockDevice::new();
            let context = Context::new(device.clone()).unwrap();
            program(&context).unwrap();
            assert_eq!(context.take_errors(), []);
            // The fault strikes at the nth call of the site; the calls before it answer as usual.
            let harmless = || devarray_mock::Fault::Quiesced(Quiesced::Done);
            (0..nth).for_each(|_| device.fail_next(site, harmless()));
            device.fail_next(site, failed());
            let mut told: Vec<Error> = (0..6).filter_map(|_| program(&context).err()).collect();
            told.extend(context.take_errors());
            assert!(told.iter().all(|error| *error == failed()), "{site:?} {nth}: {told:?}");
            // Unpinning is tried twice, so a single failure goes unnoticed. Every other failure is
            // reported.
            assert_eq!(told.len(), usize::from(site != Site::UnregisterHost), "{site:?} {nth}: {told:?}");
            program(&context).unwrap();
            let statistics = context.host_memory_statistics();
            let live = (statistics.registered, statistics.managed);
            assert_eq!(live, (0, 0), "{site:?} {nth}");
            drop(context);
            assert!(device.report().is_clean(), "{site:?} {nth}: {}", device.report());
        }
    }
}

#[test]
fn unpinning_that_fails_twice_is_reported_and_the_value_kept() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    (0..2).for_each(|_| device.fail_next(Site::UnregisterHost, failed()));
    assert_eq!(context.with_pinned(&mut [0_u8; 4], |_| 5).unwrap(), 5);
    assert_eq!(context.take_errors(), [failed()]);
    assert_eq!(device.report().registrations.len(), 1, "it stays pinned, and is told of");
}

#[test]
fn of_several_slices_all_are_pinned_or_none() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    device.fail_next(Site::RegisterHost, devarray_mock::Fault::Quiesced(Quiesced::Done));
    device.fail_next(Site::RegisterHost, failed());
    let (mut one, mut two) = ([0_u8; 4], [0_u8; 4]);
    let pinned =
        context.with_all_pinned([&mut one[..], &mut two[..]], |_| unreachable!("not all are pinned"));
    assert_eq!(pinned, Err(failed()));
    assert_eq!(context.host_memory_statistics().registered, 0);
    assert!(device.report().registrations.is_empty());
}

/// A wait that does not say that the device is finished gives no slice, and memory in use is leaked
/// rather than freed.
#[test]
fn an_unknown_end_gives_no_slice_and_leaks() {
    for forget in [false, true] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let mut mapped = MappedArray::<u8, _>::zeros(&context, &[64]).unwrap();
        mapped.view_mut().fill(&stream, 1).unwrap();
        device.fail_next(Site::Synchronize, Quiesced::Unknown(failed()));
        assert_eq!(mapped.host_mut().unwrap_err(), failed());
        device.fail_next(Site::Synchronize, Quiesced::Unknown(failed()));
        assert_eq!(mapped.host().unwrap_err(), failed());
        // The next attempt waits again, and sees the elements that were written.
        assert_eq!(mapped.host().unwrap(), [1; 64]);
        mapped.view_mut().fill(&stream, 2).unwrap();
        if forget {
            std::mem::forget(mapped);
        } else {
            device.fail_next(Site::Synchronize, Quiesced::Unknown(failed()));
            drop(mapped);
        }
        drop((stream, context)); // must not free what the fill still writes
        let report = device.report();
        assert_eq!(report.host_buffers.len(), 1, "{report}");
        assert!(report.findings.is_empty(), "{report}");
    }
}

/// If no event can be recorded for memory given up in flight, the drop waits instead.
#[test]
fn no_event_no_leak() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let mut mapped = MappedArray::<u8, _>::zeros(&context, &[64]).unwrap();
    mapped.view_mut().fill(&stream, 1).unwrap();
    device.fail_next(Site::Record, failed());
    drop(mapped);
    assert_eq!(context.take_errors(), [failed()]);
    drop((stream, context));
    assert!(device.report().is_clean(), "{}", device.report());
}

/// When pinned memory runs out, idle memory is given back and the call is tried once more.
#[test]
fn what_is_kept_makes_room() {
    let device = MockDevice::builder().host_limit_bytes(10_000).build();
    let context = Context::new(device).unwrap();
    context.set_pinned_limits(PinnedLimits::new(usize::MAX, 9000));
    drop(context.pinned::<u8>(8000).unwrap());
    assert!(context.host_memory_statistics().idle_bytes >= 8000);
    let large = context.pinned::<u8>(9000).unwrap();
    assert_eq!(context.host_memory_statistics().idle_bytes, 0);
    assert!(matches!(context.pinned::<u8>(9000), Err(Error::OutOfMemory { .. })));
    drop(large);
}
