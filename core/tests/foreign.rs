//! The doors to other code on the simulator: failures of calls, and the twins of the laws, which
//! must be detected.
#![allow(unsafe_code, clippy::unwrap_used)] // helpers of tests; stands for other code

#[path = "interop/lent.rs"]
mod lent;
#[path = "interop/numba.rs"]
mod numba;

use super::schedules;
use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use devarray::{
    Array, ArrayView, Context, Error, Layout, LayoutError, MappedArray, Order, StreamHandle,
    backend::{Buffer, Capabilities, Device, FillOp, ForeignStream, FreeOp, Quiesced, Stream},
    copy::Plan,
    layout::Slice,
    memory::MemoryKind,
};
use devarray_mock::{Code, MockDevice, Schedule, Site};
use schedules::everywhere;

/// The memory of each device.
const MEMORY_BYTES: usize = 1 << 24;

/// Memory of other code, which is memory of a raw stream. It is freed in stream order when it is
/// dropped.
struct Foreign<D: Device> {
    /// It is not a handle of the context: an owner that holds a handle keeps the context open.
    stream: D::Stream,
    buffer: Option<D::Buffer>,
    /// Counts the drops of such owners.
    drops: Arc<AtomicUsize>,
}

impl<D: Device> Foreign<D> {
    /// Bytes that a stream of their own fills with one value; `stream` knows nothing about the fill
    /// except its event.
    fn new(context: &Context<D>, stream: &StreamHandle<D>, len_bytes: usize, value: u8) -> Self {
        let own = context.device().open_stream().unwrap();
        let buffer = own.alloc(len_bytes.try_into().unwrap()).unwrap();
        fill::<D>(&own, &buffer, 0..len_bytes, value).unwrap();
        stream.raw().wait(&own.record().unwrap()).unwrap();
        Self { stream: own, buffer: Some(buffer), drops: Arc::default() }
    }

    fn address(&self) -> u64 {
        self.buffer.as_ref().unwrap().address()
    }

    fn drops(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.drops)
    }
}

impl<D: Device> Drop for Foreign<D> {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        let buffer = self.buffer.take().unwrap();
        // SAFETY: it belongs to a stream of this device, and is freed once; the library dropped it
        // when nothing used it any more.
        self.stream.free(unsafe { FreeOp::new_unchecked(buffer) }).unwrap();
    }
}

/// Sets bytes of a buffer, like a kernel of other code.
fn fill<D: Device>(
    stream: &D::Stream,
    to: &D::Buffer,
    bytes: Range<usize>,
    value: u8,
) -> devarray::Result<()> {
    let line = Layout::new(&[bytes.len()], &[1], bytes.start).unwrap();
    let plan = Plan::new(&line, &line, 1, &Capabilities::default()).unwrap();
    let pattern = [value];
    // SAFETY: inside the buffer; the caller orders it.
    let op = unsafe { FillOp::new_unchecked(to, &plan, &pattern) };
    stream.fill(&op)
}

fn codes(device: &MockDevice) -> Vec<Code> {
    device.report().findings.iter().map(|finding| finding.code).collect()
}

/// The twin of declared work: the same work, not declared, races with the read that follows.
#[test]
fn undeclared_work_is_found() {
    for declared in [true, false] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
        let mut array = Array::<u8, _>::zeros(&one, &[100]).unwrap();
        let target = array.view().buffer().unwrap().twin();
        if declared {
            let mut view = array.view_mut();
            let work = two.foreign_work().writes(&mut view);
            work.enqueue(|raw| fill::<MockDevice>(raw, &target, 0..100, 1)).unwrap();
        } else {
            two.raw().wait(&one.raw().record().unwrap()).unwrap();
            fill::<MockDevice>(two.raw(), &target, 0..100, 1).unwrap();
        }
        let _ = array.view().to_contiguous(&one, Order::C).unwrap();
        assert_eq!(codes(&device), if declared { vec![] } else { vec![Code::Race] });
    }
}

/// Work of an unchecked stream waits for nobody, so it does not stand for earlier work: the next
/// user waits for both.
#[test]
fn unchecked_work_hides_nothing_before_it() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let (one, three) = (context.stream().unwrap(), context.stream().unwrap());
    // SAFETY: the work that is declared on it touches no memory.
    let two = unsafe { context.unchecked_stream() }.unwrap();
    let mut array = Array::full(&one, &[100], 1_u8).unwrap();
    let before = array.view().to_contiguous(&one, Order::C).unwrap();
    two.foreign_work().writes(&mut array.view_mut()).enqueue(|_| Ok(())).unwrap();
    array.view_mut().fill(&three, 2).unwrap();
    assert_eq!(array.to_vec(&three).unwrap(), [2; 100]);
    assert_eq!(before.to_vec(&one).unwrap(), [1; 100]);
    assert_eq!(codes(&device), []);
}

/// Work of others that comes between the order and the note of foreign work uses other elements, but its bytes may lie
/// within the footprint of the foreign work. It is not forgotten.
#[test]
fn foreign_work_hides_nothing_that_came_meanwhile() {
    let context = Context::new(MockDevice::builder().schedule(Schedule::Lazy).build()).unwrap();
    let [one, two] = [(); 2].map(|()| context.stream().unwrap());
    let mut x = MappedArray::<u8, _>::zeros(&context, &[2, 5, 4]).unwrap();
    let view = x.view_mut();
    let mut parts = view.split_at(1, &[3]).unwrap();
    // Its footprint is every byte from 0 to 32.
    let mut stepped = parts.next().unwrap().slice_axis(1, Slice::FULL.step_by(2)).unwrap();
    let mut other = parts.next().unwrap().slice_axis(0, ..1).unwrap();
    one.foreign_work().writes(&mut stepped).enqueue(|_| other.fill(&two, 7)).unwrap();
    let due: Vec<u8> = (0..40).map(|at| if (12..20).contains(&at) { 7 } else { 0 }).collect();
    assert_eq!(x.host_mut().unwrap(), due);
}

/// The twin of an owner that is dropped last: one that frees at once.
#[test]
fn an_owner_that_goes_early_is_found() {
    for early in [false, true] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let foreign = Foreign::new(&context, &stream, 64, 3);
        let (address, owner) = (foreign.address(), Arc::new(Mutex::new(Some(foreign))));
        let line = Layout::contiguous(&[64], Order::C).unwrap();
        // SAFETY: the owner keeps the memory. Its early drop is the mistake to be found; the
        // simulator reaches nothing then.
        let adopted = unsafe { Array::<u8, _>::adopt(&stream, address, &line, Arc::clone(&owner)) };
        let mut array = adopted.unwrap();
        array.view_mut().fill(&stream, 4).unwrap();
        if early {
            drop(owner.lock().unwrap().take());
        }
        drop(owner);
        drop((array, stream, context));
        assert_eq!(codes(&device), if early { vec![Code::UseAfterFree] } else { vec![] });
    }
}

/// A release orders the stream it names; a stream that is not named knows nothing of the work in
/// flight.
#[test]
fn a_free_on_a_stream_that_the_release_did_not_name_is_found() {
    for named in [true, false] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
        let mut array = Array::<u8, _>::uninit(&one, &[64]).unwrap();
        array.view_mut().fill(&one, 1).unwrap();
        let buffer = array.release(if named { &two } else { &one }).unwrap().into_buffer().unwrap();
        // SAFETY: the memory was given up; that it may be in use is the mistake to be found.
        two.raw().free(unsafe { FreeOp::new_unchecked(buffer) }).unwrap();
        let found = codes(&device);
        assert_eq!(found.is_empty(), named, "{found:?}");
    }
}

fn failed() -> Error {
    Error::Driver { backend: "mock", operation: "planned", code: 999, name: "PLANNED".into() }
}

/// Every call that these doors make fails once: the error is returned, nothing changed, and the
/// same call then succeeds.
#[test]
fn every_call_fails_once() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let line = Layout::contiguous(&[64], Order::C).unwrap();
    let foreign = Foreign::new(&context, &one, 64, 3);
    let (address, drops) = (foreign.address(), foreign.drops());
    device.fail_next(Site::Adopt, failed());
    // SAFETY: the owner keeps the memory.
    assert_eq!(unsafe { Array::<u8, _>::adopt(&one, address, &line, ()) }.unwrap_err(), failed());
    // SAFETY: the owner keeps the memory.
    let mut adopted = unsafe { Array::<u8, _>::adopt(&one, address, &line, foreign) }.unwrap();
    for site in [Site::Record, Site::Wait] {
        device.fail_next(site, failed());
        let mut called = false;
        let mut view = adopted.view_mut();
        let work = two.foreign_work().writes(&mut view);
        let refused = work.enqueue(|_| {
            called = true;
            Ok(())
        });
        assert_eq!(refused, Err(failed()), "{site:?}");
        assert!(!called, "work that could not be ordered is not enqueued");
    }
    two.foreign_work().writes(&mut adopted.view_mut()).enqueue(|_| Ok(())).unwrap();
    let mut array = Array::<u8, _>::zeros(&one, &[64]).unwrap();
    for site in [Site::Record, Site::Wait] {
        array.view_mut().fill(&one, 5).unwrap();
        device.fail_next(site, failed());
        let refused = array.release(&two).unwrap_err();
        assert_eq!(*refused.error(), failed(), "{site:?}");
        array = refused.into_array();
    }
    let live = |context: &Context<MockDevice>| context.memory_statistics().of(MemoryKind::Device).live_bytes;
    let before = live(&context);
    let released = array.release(&two).unwrap();
    assert_eq!(live(&context), before - 64, "what was given up is not counted");
    // SAFETY: it is the buffer that was released.
    let array = unsafe { Array::<u8, _>::reclaim(&two, released) }.unwrap();
    assert_eq!(live(&context), before);
    assert_eq!(array.to_vec(&one).unwrap(), [5; 64]);
    drop((array, adopted, one, two, context));
    assert_eq!(drops.load(Relaxed), 1);
    assert!(device.report().is_clean(), "{}", device.report());
}

/// If a wait does not say that the device is finished, the owner is kept for good rather than
/// dropped.
#[test]
fn an_unknown_end_keeps_the_owner() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let foreign = Foreign::new(&context, &stream, 64, 3);
    let drops = foreign.drops();
    let line = Layout::contiguous(&[64], Order::C).unwrap();
    // SAFETY: the owner keeps the memory.
    let mut array = unsafe { Array::<u8, _>::adopt(&stream, foreign.address(), &line, foreign) }.unwrap();
    array.view_mut().fill(&stream, 4).unwrap();
    device.fail_next(Site::Synchronize, Quiesced::Unknown(failed()));
    drop((array, stream, context));
    assert_eq!(drops.load(Relaxed), 0);
    let report = device.report();
    assert_eq!((report.adopted, report.findings.len()), (1, 0), "{report}");
}

/// A panic in the closure ends the work like any return: work that it may have enqueued is noted.
#[test]
fn a_panic_while_work_is_enqueued_is_noted() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let mut array = Array::<u8, _>::zeros(&one, &[100]).unwrap();
    let target = array.view().buffer().unwrap().twin();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        two.foreign_work().writes(&mut array.view_mut()).enqueue(|_| -> devarray::Result<()> {
            fill::<MockDevice>(two.raw(), &target, 0..100, 1).unwrap();
            std::panic::resume_unwind(Box::new("after the launch"));
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(array.to_vec(&one).unwrap(), [1; 100]);
    assert_eq!(codes(&device), []);
    assert_eq!(target.len_bytes(), 100);
}

#[test]
fn numba_18_repeated_elements_tell_their_strides() {
    everywhere(MEMORY_BYTES, numba::numba_18_repeated_elements_tell_their_strides);
}

#[test]
fn numba_36_adopted_memory_waits_for_its_producer() {
    everywhere(MEMORY_BYTES, numba::numba_36_adopted_memory_waits_for_its_producer);
}

#[test]
fn numba_38_the_name_of_a_slice_has_its_place() {
    everywhere(MEMORY_BYTES, numba::numba_38_the_name_of_a_slice_has_its_place);
}

/// Work of other code after `wait_for_uses` and before `take_over` is in order with all streams;
/// without either it is a race.
#[test]
fn an_array_goes_to_other_code_and_comes_back() {
    for (waits, takes_over) in [(true, true), (false, true), (true, false)] {
        let device = MockDevice::builder().schedule(Schedule::Lazy).build();
        let context = Context::new(device.clone()).unwrap();
        let (stream, other) = (context.stream().unwrap(), context.stream().unwrap());
        let mut array = Array::<u8, _>::zeros(&stream, &[100]).unwrap();
        array.view_mut().fill(&other, 1).unwrap();
        let array = array.into_erased();
        let target = array.view().buffer().unwrap().twin();
        if waits {
            stream.wait_for_uses(&array).unwrap();
        }
        stream.foreign_waits(ForeignStream::LEGACY).unwrap();
        let legacy = device.foreign_stream(ForeignStream::LEGACY).unwrap();
        fill::<MockDevice>(&legacy, &target, 0..100, 2).unwrap();
        stream.wait_for_foreign(ForeignStream::LEGACY).unwrap();
        if takes_over {
            stream.take_over(&array).unwrap();
        }
        let copy = array.view().to_contiguous(&other, Order::C).unwrap();
        let due = if waits && takes_over { vec![] } else { vec![Code::Race] };
        assert_eq!(codes(&device), due, "{waits} {takes_over}");
        if due.is_empty() {
            assert_eq!(copy.view().to_bytes(&stream).unwrap(), [2; 100]);
        }
    }
    let strange = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let context = Context::new(MockDevice::new()).unwrap();
    let array = Array::<u8, _>::zeros(&context.stream().unwrap(), &[4]).unwrap().into_erased();
    for refused in [strange.wait_for_uses(&array), strange.take_over(&array)] {
        assert!(matches!(refused.unwrap_err(), Error::DeviceMismatch { .. }));
    }
}

/// A layout that does not fit the array reaches its memory and nothing else; each element is
/// written once.
#[test]
fn a_layout_of_the_caller_stays_inside() {
    let context = Context::new(MockDevice::new()).unwrap();
    let stream = context.stream().unwrap();
    let mut array = Array::from_slice(&stream, &[2, 3], &[1_u16, 2, 3, 4, 5, 6]).unwrap().into_erased();
    let column = Layout::new(&[2], &[3], 1).unwrap();
    assert_eq!(array.view_of(&column).unwrap().to_bytes(&stream).unwrap(), [2, 0, 5, 0]);
    let repeated = Layout::new(&[2, 2], &[0, 3], 1).unwrap();
    assert_eq!(array.view_of(&repeated).unwrap().to_bytes(&stream).unwrap(), [2, 0, 5, 0, 2, 0, 5, 0]);
    assert_eq!(array.view_mut_of(&repeated).unwrap_err(), LayoutError::AliasedDestination.into());
    let beyond = Layout::new(&[2], &[3], 3).unwrap();
    assert!(matches!(array.view_of(&beyond), Err(Error::Layout(LayoutError::OutOfBounds { .. }, ..))));
    assert!(matches!(array.view_mut_of(&beyond), Err(Error::Layout(LayoutError::OutOfBounds { .. }, ..))));
    array.view_mut_of(&column).unwrap().fill_bytes(&stream, &[9, 0]).unwrap();
    let typed = ArrayView::<u16, _>::from_erased(array.view()).unwrap();
    assert_eq!(typed.to_vec(&stream).unwrap(), [1, 9, 3, 4, 9, 6]);
    let refused = ArrayView::<u32, _>::from_erased(array.view()).unwrap_err();
    assert!(matches!(refused, Error::Layout(LayoutError::ElementSize { item_bytes: 2, .. }, ..)));
}
