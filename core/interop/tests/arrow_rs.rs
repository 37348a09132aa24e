//! Buffers of arrow-rs: both ends have the same memory where that is possible; it is given back
//! once, and nobody writes it while somebody has it.
#![allow(clippy::unwrap_used)] // a test

use std::thread;

use arrow_buffer::{Buffer, ScalarBuffer};
use devarray::{Array, Context, HostArray, Layout, StreamHandle};
use devarray_interop::{
    DoorError, Tensor,
    arrow_rs::{adopt_buffer, buffer_of, buffer_of_pinned, host_array_of, lend_buffer},
};
use devarray_mock::{MockDevice, Schedule};

fn open() -> (MockDevice, Context<MockDevice>, StreamHandle<MockDevice>) {
    let device = MockDevice::builder().schedule(Schedule::Lazy).adopts_host_memory(true).build();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    (device, context, stream)
}

#[test]
fn host_arrays_keep_their_memory() {
    let array = HostArray::new(&[2, 3], vec![1.5_f32, 2.5, 3.5, 4.5, 5.5, 6.5]).unwrap();
    let there = array.as_slice().as_ptr();
    let buffer = buffer_of(array);
    assert_eq!(buffer.as_ptr(), there.cast());
    // A shared buffer is copied; an unshared one gives its memory itself.
    let copy = host_array_of::<f32>(buffer.clone(), &[6]).unwrap();
    assert_ne!(copy.as_slice().as_ptr(), there);
    let back = host_array_of::<f32>(buffer, &[3, 2]).unwrap();
    assert_eq!((back.as_slice().as_ptr(), back.as_slice()), (there, copy.as_slice()));
}

/// A part of other bytes may begin at any address, and need not be whole elements.
#[test]
fn parts_of_buffers_are_copied() {
    let bytes = Buffer::from_vec((0..17_u8).collect::<Vec<_>>());
    for start in 0..5 {
        let part = bytes.slice_with_length(start, 8);
        let found = host_array_of::<u32>(part, &[2]).unwrap();
        let due =
            |first: usize| u32::from_ne_bytes(std::array::from_fn(|k| u8::try_from(first + k).unwrap()));
        assert_eq!(found.as_slice(), [due(start), due(start + 4)]);
    }
    assert!(host_array_of::<u32>(bytes.slice_with_length(0, 7), &[1]).is_err());
    assert!(host_array_of::<u8>(bytes, &[16]).is_err());
    assert!(host_array_of::<u8>(Buffer::default(), &[0, 4]).unwrap().as_slice().is_empty());
}

#[test]
fn pinned_memory_becomes_a_buffer() {
    let (device, context, stream) = open();
    let array = Array::from_slice(&stream, &[4], &[1_i64, -2, 3, -4]).unwrap();
    let pinned = array.view().download(&stream, context.pinned(4).unwrap()).unwrap().wait().unwrap();
    let there = pinned.as_ptr();
    let buffer = buffer_of_pinned(pinned);
    assert_eq!((buffer.as_ptr(), buffer.typed_data::<i64>()), (there.cast(), &[1, -2, 3, -4][..]));
    drop((array, stream, context));
    let part = ScalarBuffer::<i64>::new(buffer, 1, 2);
    assert_eq!(thread::spawn(move || part.to_vec()).join().unwrap(), [-2, 3]);
    assert_eq!(device.report().findings, []);
    assert!(buffer_of_pinned(Context::new(MockDevice::new()).unwrap().pinned::<u8>(0).unwrap()).is_empty());
}

#[test]
fn a_buffer_is_a_column_and_kept_as_long() {
    let (device, _, stream) = open();
    let buffer = Buffer::from_vec((0..100_u16).collect::<Vec<_>>());
    let part = buffer.slice_with_length(20, 40);
    let mut column = adopt_buffer::<u16, _>(&stream, &part).unwrap();
    assert_eq!((column.address().unwrap(), buffer.strong_count()), (part.as_ptr().addr() as u64, 3));
    assert_eq!(column.view_mut::<u16>().unwrap_err(), DoorError::ReadOnly);
    let sums = column.view::<u16>().unwrap().map(&stream, |x| x + 1).unwrap();
    drop((column, part));
    assert_eq!(buffer.strong_count(), 2, "the work reads it");
    assert!(sums.to_vec(&stream).unwrap().into_iter().eq(11..31));
    drop((sums, stream));
    assert_eq!((buffer.strong_count(), device.report().findings), (1, vec![]));
}

#[test]
fn buffers_that_do_not_fit_are_refused_and_not_kept() {
    let (_, _, stream) = open();
    let buffer = Buffer::from_vec((0..16_u8).collect::<Vec<_>>());
    let odd =
        (0..2).map(|start| buffer.slice_with_length(start, 8)).find(|part| part.as_ptr().addr() % 2 == 1);
    let answers = [
        adopt_buffer::<u16, _>(&stream, &odd.unwrap()),
        adopt_buffer::<u32, _>(&stream, &buffer.slice_with_length(0, 6)),
    ];
    assert!(
        matches!(answers[0], Err(DoorError::Array(_))) && matches!(answers[1], Err(DoorError::Layout { .. }))
    );
    drop(answers);
    assert_eq!(buffer.strong_count(), 1);
    let device = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    assert!(adopt_buffer::<u8, _>(&device, &buffer).is_err(), "it takes no memory of the host");
    assert_eq!(adopt_buffer::<u8, _>(&stream, &Buffer::default()).unwrap().layout().len(), 0);
}

#[test]
fn a_tensor_is_a_buffer_and_not_written_meanwhile() {
    let (device, context, stream) = open();
    let mut array = Array::<f64, _>::zeros(&stream, &[2, 3]).unwrap();
    array.view_mut().fill(&stream, 2.5).unwrap();
    let mut tensor = Tensor::from(array);
    let buffer = lend_buffer(&tensor, &stream).unwrap();
    assert_eq!(buffer.as_ptr().addr() as u64, tensor.address().unwrap());
    assert_eq!(buffer.typed_data::<f64>(), [2.5; 6], "the fill was waited for");
    assert_eq!(tensor.view_mut::<f64>().unwrap_err(), DoorError::Shared);
    let second = lend_buffer(&tensor, &stream).unwrap();
    drop(buffer);
    assert_eq!(tensor.view_mut::<f64>().unwrap_err(), DoorError::Shared);
    drop(second);
    tensor.view_mut::<f64>().unwrap().fill(&stream, 1.0).unwrap();
    let last = lend_buffer(&tensor, &stream).unwrap();
    drop((tensor, stream));
    assert_eq!(context.live_allocations().len(), 1, "the buffer has it");
    thread::spawn(move || assert_eq!(last.typed_data::<f64>(), [1.0; 6])).join().unwrap();
    assert_eq!((context.live_allocations().len(), device.report().findings), (0, vec![]));
}

#[test]
fn what_is_no_run_of_bytes_is_no_buffer() {
    let (_, _, stream) = open();
    let matrix = Tensor::from(Array::<i32, _>::zeros(&stream, &[4, 4]).unwrap());
    for layout in [matrix.layout().transpose(), Layout::new(&[4], &[4], 0).unwrap()] {
        let shown = matrix.with_layout(layout).unwrap();
        assert!(matches!(lend_buffer(&shown, &stream).unwrap_err(), DoorError::Layout { .. }));
    }
    let rows = matrix.with_layout(Layout::new(&[2, 4], &[4, 1], 4).unwrap()).unwrap();
    assert_eq!(lend_buffer(&rows, &stream).unwrap().len(), 32);
    let empty = matrix.with_layout(Layout::new(&[0], &[1], 0).unwrap()).unwrap();
    assert!(lend_buffer(&empty, &stream).unwrap().is_empty());
}
