//! The fake driver's answers about memory of other code, and the laws of adopted memory on it.
#![allow(unsafe_code)] // stands for the driver behind its C interface

use std::ffi::{c_int, c_void};

use devarray::{
    Array, Context, Error, Layout, Order,
    backend::{
        Device, DeviceSymbols, ForeignMemory, ForeignStream, Location, ManagedMemory, PeerAccess, Stream,
        StreamOwner, Timing,
    },
    math,
};
use devarray_cuda::{
    CudaDevice,
    driver::{Function, Table, sys},
};
use sys::{CUdeviceptr, CUpointer_attribute};

use super::{
    doors_numba as numba,
    driver::put,
    laws_hold,
    state::{Fake, INVALID, within},
};

unsafe extern "C" fn pointer_attribute(
    at: *mut c_void,
    what: CUpointer_attribute,
    address: CUdeviceptr,
) -> i32 {
    within(Function::PointerGetAttribute, |state| {
        let Some((start, block)) = state.block(usize::try_from(address).unwrap()) else { return INVALID };
        match what {
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => put(at.cast::<c_int>(), block.device),
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => {
                put(at.cast::<bool>(), state.plain.contains(&start))
            }
            _ => INVALID,
        }
    })
}

pub(crate) fn table(mut table: Table) -> Table {
    table.pointer_get_attribute = Some(pointer_attribute);
    table
}

#[test]
fn memory_of_other_code_keeps_its_laws() {
    laws_hold(&devarray_conformance::foreign());
}

#[test]
fn behaviours_known_from_numba() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    numba::numba_18_repeated_elements_tell_their_strides(&context);
    numba::numba_36_adopted_memory_waits_for_its_producer(&context);
    numba::numba_38_the_name_of_a_slice_has_its_place(&context);
    assert_eq!(context.take_errors(), []);
    drop(context);
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
    fake.assert_proper();
}

/// Fixed: a stream that is named to other code is never 0, which means none, nor one of the default
/// streams, 1 and 2.
#[test]
fn numba_37_no_stream_has_the_handle_of_a_default_one() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let streams = [context.stream(), context.strict_stream()].map(Result::unwrap);
    assert!(streams.iter().all(|stream| stream.raw().raw().addr() > 2));
}

/// A wait is an event, recorded on the one stream and waited for by the other, and nothing stays. 1
/// and 2 are the driver's own handles of the default streams.
#[test]
fn streams_of_other_code_are_waited_for_by_events() {
    use Function::{EventRecord, StreamWaitEvent};
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let (one, two) = (device.open_stream().unwrap(), device.open_stream().unwrap());
    // SAFETY: the stream is alive until the end.
    let named = unsafe { ForeignStream::named(two.raw().addr() as u64) }.unwrap();
    for (stream, defaults) in
        [(ForeignStream::LEGACY, vec![1, 1]), (ForeignStream::PER_THREAD, vec![2, 2]), (named, vec![])]
    {
        fake.state(|state| (state.log.clear(), state.defaults.clear()));
        device.wait_for_foreign(&one, stream).unwrap();
        device.foreign_waits(stream, &one).unwrap();
        let (log, on) = fake.state(|state| (state.log.clone(), state.defaults.clone()));
        let order = [EventRecord, StreamWaitEvent];
        let calls: Vec<_> = log.into_iter().filter(|function| order.contains(function)).collect();
        assert_eq!(calls, [order, order].concat());
        // The stream that is waited for records; the stream that waits waits.
        assert_eq!(on.iter().map(|(_, stream)| *stream).collect::<Vec<_>>(), defaults);
        assert!(on.is_empty() || on.iter().map(|(function, _)| *function).eq(order));
    }
    let gone = device.open_stream().unwrap();
    let handle = gone.raw().addr() as u64;
    drop(gone);
    // SAFETY: not alive; the fake driver says so.
    let gone = unsafe { ForeignStream::named(handle) }.unwrap();
    assert!(device.wait_for_foreign(&one, gone).is_err() && device.foreign_waits(gone, &one).is_err());
    drop((one, two, device));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// An event of other code is waited for by its handle, and a device is waited for as a whole.
#[test]
fn events_of_other_code_are_waited_for() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let (one, two) = (device.open_stream().unwrap(), device.open_stream().unwrap());
    let event = two.record().unwrap();
    fake.state(|state| state.log.clear());
    // SAFETY: the event is alive until the end.
    unsafe { one.wait_for_foreign_event(event.raw()) }.unwrap();
    let of = |function| fake.state(|state| state.log.iter().filter(|called| **called == function).count());
    assert_eq!((of(Function::StreamWaitEvent), of(Function::CtxSynchronize)), (1, 0));
    device.finish().unwrap();
    assert_eq!(of(Function::CtxSynchronize), 1);
    drop((event, one, two, device));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// Doors make one event a context, and use it over and over: a record and a wait each time.
#[test]
fn crossings_share_an_event() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    let of = |function| fake.state(|state| state.log.iter().filter(|called| **called == function).count());
    for _ in 0..3 {
        device.wait_for_foreign(&stream, ForeignStream::LEGACY).unwrap();
        device.foreign_waits(ForeignStream::PER_THREAD, &stream).unwrap();
    }
    assert_eq!(
        [Function::EventCreate, Function::EventRecord, Function::StreamWaitEvent, Function::EventDestroy]
            .map(of),
        [1, 6, 6, 0]
    );
    // The twin: an event of a stream is one each time.
    (0..3).for_each(|_| drop(stream.record().unwrap()));
    assert_eq!([Function::EventCreate, Function::EventRecord].map(of), [4, 9]);
    drop((stream, device));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// A name that a device made for a stream of its own, as the simulator does without anybody's
/// vouching, never gets to a driver; nor does one that somebody made up for a device of this
/// backend.
#[test]
fn streams_that_another_device_named_are_refused() {
    let fake = Fake::new();
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let stream = device.open_stream().unwrap();
    for (backend, number) in [("mock", 0), ("mock", 7), ("cuda", 0)] {
        for name in [1, 2, 4, u64::MAX, stream.raw().addr() as u64] {
            let named = ForeignStream::owned(name, StreamOwner::new(backend, number)).unwrap();
            fake.state(|state| state.log.clear());
            let refused = |operation| Error::DeviceMismatch { backend: "cuda", operation };
            assert_eq!(device.wait_for_foreign(&stream, named).unwrap_err(), refused("wait_for_foreign"));
            assert_eq!(device.foreign_waits(named, &stream).unwrap_err(), refused("foreign_waits"));
            assert_eq!(fake.state(|state| state.log.clone()), [], "the driver was asked about {named}");
        }
    }
    drop((stream, device));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// A handle of one driver is but a number to another, and may be the number of something else: what
/// is safe to call passes none on.
#[test]
fn events_streams_and_modules_of_another_driver_are_refused() {
    let fake = Fake::new();
    let [ours, theirs] =
        [fake.driver(), fake.driver()].map(|driver| CudaDevice::open_with(&driver, 0).unwrap());
    let (stream, stranger) = (ours.open_stream().unwrap(), theirs.open_stream().unwrap());
    let (start, event) = (ours.record_timed(&stream).unwrap(), theirs.record_timed(&stranger).unwrap());
    // SAFETY: the fake driver takes any image.
    let module = unsafe { theirs.load_module(super::symbols::IMAGE) }.unwrap();
    let memory = ours.alloc_managed(64.try_into().unwrap()).unwrap();
    let buffer = ours.managed_buffer(&memory).unwrap();
    fake.state(|state| state.log.clear());
    let answers = [
        ("wait", stream.wait(&event)),
        ("wait", ours.wait_for_foreign(&stranger, ForeignStream::LEGACY)),
        ("foreign_waits", ours.foreign_waits(ForeignStream::LEGACY, &stranger)),
        ("elapsed", ours.elapsed(&start, &event).map(drop)),
        ("elapsed", ours.elapsed(&event, &start).map(drop)),
        ("wait_for_peer", ours.wait_for_peer(&stream, &event)),
        ("wait_for_peer", ours.wait_for_peer(&stranger, &start)),
        // SAFETY: refused before anything is enqueued.
        ("prefetch", unsafe { ours.prefetch(&stranger, &buffer, 0..64, Location::Device) }),
        ("symbol", ours.symbol(&module, "scale").map(drop)),
    ];
    for (operation, answer) in answers {
        assert_eq!(answer, Err(Error::DeviceMismatch { backend: "cuda", operation }));
    }
    assert_eq!(fake.state(|state| state.log.clone()), [], "the driver was asked");
    // The twin: what is of one driver is taken.
    stream.wait(&start).unwrap();
    assert_eq!(theirs.symbol(&module, "scale").unwrap().1, 16);
}

#[test]
fn memory_of_another_device_is_refused() {
    let fake = Fake::new();
    let driver = fake.driver();
    let context = |ordinal| Context::new(CudaDevice::open_with(&driver, ordinal).unwrap()).unwrap();
    let (one, two) = (context(0), context(1));
    let (here, there) = (one.stream().unwrap(), two.stream().unwrap());
    let foreign = Array::<u8, _>::zeros(&there, &[64]).unwrap();
    let line = Layout::contiguous(&[64], Order::C).unwrap();
    // SAFETY: nothing is adopted.
    let refused = unsafe { Array::<u8, _>::adopt(&here, foreign.view().address(), &line, ()) }.unwrap_err();
    assert_eq!(refused, Error::DeviceMismatch { backend: "cuda", operation: "adopt" });
    drop((foreign, here, there, one, two));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// The driver is asked whose memory it is, except by an adoption that leaves that out.
#[test]
fn an_unchecked_adoption_asks_nothing() {
    let fake = Fake::new();
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let lender = Array::<u8, _>::zeros(&stream, &[64]).unwrap();
    let line = Layout::contiguous(&[64], Order::C).unwrap();
    let address = lender.view().address();
    let calls = |adopt: &dyn Fn() -> Array<u8, CudaDevice>| {
        fake.state(|state| state.log.clear());
        let array = adopt();
        assert_eq!((array.view().address(), array.layout()), (address, &line));
        fake.state(|state| state.log.clone())
    };
    // SAFETY: memory of an array that outlives the adopted one, which nothing uses.
    let asked = calls(&|| unsafe { Array::adopt(&stream, address, &line, ()) }.unwrap());
    assert!(asked.contains(&Function::PointerGetAttribute));
    // SAFETY: as above, and of this device.
    assert_eq!(calls(&|| unsafe { Array::adopt_unchecked(&stream, address, &line, ()) }.unwrap()), []);
}

/// PTX promises nothing of a read-only load from memory that the same launch writes.
#[test]
fn a_softmax_in_place_loads_nothing_as_read_only() {
    let fake = Fake::new();
    fake.state(|state| state.total_bytes = 1 << 26);
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let stream = context.stream().unwrap();
    let numbers: Vec<f32> = (0..2_056_u16).map(|number| f32::from(number % 17)).collect();
    let x = Array::from_slice(&stream, &[2, 1_028], &numbers).unwrap();
    let due = math::softmax(&stream, &x, 1).unwrap().to_vec(&stream).unwrap();
    let apart = fake.state(|state| std::mem::take(&mut state.written));
    let released = x.release(&stream).unwrap();
    let layout = Layout::contiguous(&[2, 1_028], Order::C).unwrap();
    // SAFETY: allocated until `reclaim`, and used on one stream.
    let adopt = || unsafe { Array::<f32, _>::adopt(&stream, released.address(), &layout, ()) }.unwrap();
    let (from, mut to) = (adopt(), adopt());
    math::softmax_into(&stream, &from, 1, &mut to.view_mut()).unwrap();
    assert_eq!(to.to_vec(&stream).unwrap(), due);
    let in_place = fake.state(|state| std::mem::take(&mut state.written));
    drop((from, to));
    stream.synchronize().unwrap();
    // SAFETY: it is the buffer that was released, and nobody uses it.
    drop(unsafe { Array::<f32, _>::reclaim(&stream, released) }.unwrap());
    let is_read_only = |text: &String| text.contains("ld.global.nc");
    assert!(!in_place.is_empty() && !in_place.iter().any(is_read_only), "{in_place:?}");
    // The twin: apart from the result, the same numbers are loaded as read-only.
    assert!(apart.iter().any(is_read_only));
}
