//! Mistakes of real libraries in safe code.
#![allow(unsafe_code)] // opens streams that do not wait automatically, which is the mistake

use devarray::{Array, Context, Order, StreamHandle};
use devarray_mock::{Explore, MockDevice, Schedule, Site, explore};

/// A stream that does not wait automatically.
pub(crate) fn unchecked_stream(context: &Context<MockDevice>) -> StreamHandle<MockDevice> {
    // SAFETY: deliberately unordered; only the simulator's memory is touched, and the work is
    // completed before its owner is dropped.
    unsafe { context.unchecked_stream() }.unwrap()
}

/// cudarc's single read event, dfdx#464, cuCascade#184, onnxruntime#5445, quadrants#407,
/// pytorch#83984, btx#97: readers on two streams, a writer on a third, and memory that is dropped
/// while all of them use it.
#[test]
fn streams_wait_for_every_reader_and_frees_for_every_use() {
    explore(0, 100, |device| {
        let context = Context::new(device).unwrap();
        let streams = [(); 3].map(|()| context.stream().unwrap());
        let mut a = Array::full(&streams[0], &[64], 1_u8).unwrap();
        let copies = [0, 1].map(|k| a.view().to_contiguous(&streams[k], Order::C).unwrap());
        a.view_mut().fill(&streams[2], 9).unwrap();
        drop(a);
        let next = Array::full(&streams[0], &[64], 5_u8).unwrap();
        for copy in copies {
            assert_eq!(copy.to_vec(&streams[2]).unwrap(), [1; 64]);
        }
        drop(next);
    });
}

/// pytorch#86264, pytorch#137878, onnxruntime#32121: the copy owns pinned memory until the program waits
/// for it, so nothing can be read or written too early. The programs in `core/tests/lifetimes` show
/// that this does not compile.
#[test]
fn pinned_memory_comes_back_with_its_bytes() {
    explore(0, 100, |device| {
        let context = Context::new(device).unwrap();
        let stream = context.stream().unwrap();
        let array = Array::full(&stream, &[64], 7_u8).unwrap();
        let pinned = context.pinned(64).unwrap();
        assert_eq!(*array.view().download(&stream, pinned).unwrap().wait().unwrap(), [7; 64]);
    });
}

/// cccl#3814, cudf#23561, cuopt#1756, rmm#2526, lupine#631, onnxruntime#9841, onnxruntime#26512: a borrowed
/// slice is read at the call and written before the call returns, for every kind of memory and every
/// lifetime.
#[test]
fn borrowed_slices_are_read_at_the_call_and_written_at_its_return() {
    explore(0, 100, |device| {
        let context = Context::new(device).unwrap();
        let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
        let mut source = vec![3_u8; 64];
        let array = Array::from_slice(&one, &[64], &source).unwrap();
        source.fill(4);
        let mut destination = vec![0_u8; 64];
        array.view().copy_to_slice(&two, &mut destination).unwrap();
        assert_eq!(destination, [3; 64]);
    });
}

/// cudarc#194: an allocation of no bytes is an error in the driver.
#[test]
fn nothing_is_allocated_for_no_elements() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let before = device.statistics().enqueued;
    assert!(Array::<f32, _>::zeros(&stream, &[0, 5]).unwrap().to_vec(&stream).unwrap().is_empty());
    assert_eq!(device.statistics().enqueued, before);
}

/// cudarc#555: waits for streams are switched off while arrays still hold their events, and the
/// drop of the arrays hangs. Here, streams with and without automatic waits exist together. An array that is
/// dropped after a use waits for the uses that it knows.
#[test]
fn arrays_older_than_the_first_stream_that_does_not_wait_are_dropped_in_order() {
    explore(0, 100, |device| {
        let context = Context::new(device).unwrap();
        let tracked = context.stream().unwrap();
        let arrays = [1, 2].map(|value| Array::full(&tracked, &[64], value).unwrap());
        let unchecked = unchecked_stream(&context);
        tracked.synchronize().unwrap();
        let copies = arrays.each_ref().map(|array| array.view().to_contiguous(&unchecked, Order::C).unwrap());
        unchecked.synchronize().unwrap();
        drop(arrays);
        assert_eq!(
            copies.map(|copy: Array<u8, _>| copy.to_vec(&tracked).unwrap()),
            [vec![1; 64], vec![2; 64]]
        );
    });
}

/// cudarc#590: an error in a drop is returned by an unrelated later call.
#[test]
fn an_error_of_a_drop_is_told_by_the_context_and_by_nobody_else() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let (a, b) = (Array::full(&stream, &[8], 1_u8).unwrap(), Array::full(&stream, &[8], 2_u8).unwrap());
    let error =
        devarray::Error::Driver { backend: "mock", operation: "free", code: 1, name: "planned".to_owned() };
    device.fail_next(Site::Free, error.clone());
    drop(a);
    assert_eq!(b.to_vec(&stream), Ok(vec![2; 8]));
    assert_eq!(stream.synchronize(), Ok(()));
    assert_eq!(context.take_errors(), [error]);
    assert_eq!(context.take_errors(), []);
}

/// The twin: on streams without automatic waits, the first of these programs is wrong.
#[test]
fn without_waits_the_same_program_is_wrong() {
    let failure = Explore::new().schedules(0).run(|device| {
        let context = Context::new(device).unwrap();
        let streams = [(); 3].map(|()| unchecked_stream(&context));
        let a = Array::full(&streams[0], &[64], 1_u8).unwrap();
        let _ = a.view().to_contiguous(&streams[1], Order::C).unwrap();
    });
    assert!(failure.unwrap_err().to_string().starts_with("error[DA0"));
}
