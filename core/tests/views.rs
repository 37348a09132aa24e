//! Bytes seen as other elements, and assignments: the behaviour of Numba's views and `setitem`,
//! kept or fixed.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::collections::BTreeMap;

use devarray::{Array, ArrayView, Context, Element, Error, LayoutError, Order, ix};
use devarray_mock::{MockDevice, Schedule};

/// Kept: elements of the same size keep any layout; others need a dense last axis whose bytes
/// divide. Fixed: they need nothing of the other axes, and an array without axes is refused with
/// the same error as every other refusal.
#[test]
fn numba_32_a_view_of_elements_of_another_size() {
    let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let array = Array::from_slice(&stream, &[4, 6], &(0..24_u32).collect::<Vec<_>>()).unwrap();
    let reversed = array.view().index(&ix![..; -1, 1..5; 2]).unwrap();
    assert_eq!(reversed.reinterpret::<f32>().unwrap().layout(), reversed.layout());
    let gaps = |view: &ArrayView<'_, u32, MockDevice>| view.reinterpret::<u16>().unwrap_err();
    assert!(matches!(gaps(&reversed), Error::Layout(LayoutError::ElementSize { item_bytes: 2, .. }, ..)));
    assert!(matches!(
        gaps(&array.view().transpose()),
        Error::Layout(LayoutError::ElementSize { item_bytes: 2, .. }, ..)
    ));
    let scalar = array.view().index(&ix![0, 0]).unwrap();
    assert!(matches!(gaps(&scalar), Error::Layout(LayoutError::ElementSize { item_bytes: 2, .. }, ..)));
    // Dense in the last axis alone, which is enough.
    let rows = array.view().index(&ix![..; -2, 2..4]).unwrap();
    assert_eq!(rows.reinterpret::<u64>().unwrap().to_vec(&stream).unwrap(), [20 | 21 << 32, 8 | 9 << 32]);
    let odd = array.view().index(&ix![.., 1..3]).unwrap();
    assert!(odd.reinterpret::<u64>().is_err(), "they begin in the middle of one");
    assert!(array.view().index(&ix![.., ..3]).unwrap().reinterpret::<u64>().is_err(), "three halves");
    // Views to write.
    let mut array = array;
    array.view_mut().reinterpret::<u8>().unwrap().index(&ix![0, ..4]).unwrap().fill(&stream, 1).unwrap();
    assert_eq!(array.to_vec(&stream).unwrap()[..2], [0x0101_0101, 1]);
}

/// The position in the array of every byte of every element.
fn bytes_of<T: Element>(view: &ArrayView<'_, T, MockDevice>) -> Vec<isize> {
    let layout = view.layout();
    let size = isize::try_from(size_of::<T>()).unwrap();
    let mut all = Vec::new();
    let mut index = vec![0; layout.shape().len()];
    for _ in 0..layout.len() {
        let steps =
            index.iter().zip(layout.strides()).map(|(&at, stride)| isize::try_from(at).unwrap() * stride);
        let start = (isize::try_from(layout.offset()).unwrap() + steps.sum::<isize>()) * size;
        all.extend(start..start + size);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < layout.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    all
}

/// A view has the same bytes in the same order for every element type, or is refused.
#[test]
fn reinterpreting_names_the_same_bytes() {
    let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let array = Array::<u16, _>::zeros(&stream, &[3, 4, 12]).unwrap();
    let mut answers = BTreeMap::<bool, usize>::new();
    for (first, row, column) in
        (0..3).flat_map(|first| (0..4).flat_map(move |row| (0..6).map(move |column| (first, row, column))))
    {
        for step in [-2, -1, 1, 2] {
            let view = array.view().index(&ix![first.., row..; step, column..]).unwrap();
            let due = bytes_of(&view);
            let seen = [
                view.reinterpret::<u8>().map(|view| bytes_of(&view)),
                view.reinterpret::<u32>().map(|view| bytes_of(&view)),
                view.reinterpret::<[u16; 3]>().map(|view| bytes_of(&view)),
                view.reinterpret::<u64>().map(|view| bytes_of(&view)),
            ];
            assert!(seen[0].is_ok());
            for seen in seen {
                *answers.entry(seen.is_ok()).or_default() += 1;
                assert!(seen.is_err() || seen == Ok(due.clone()));
            }
        }
    }
    assert!(answers[&true] > 300 && answers[&false] > 100, "{answers:?}");
}

/// Fixed: whether an assignment waits does not depend on whether the array or the call has a
/// stream. The call names the stream, and does not wait for the work it enqueued; the source is
/// free all the same.
#[test]
fn numba_33_an_assignment_waits_for_nobody() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let mut array = Array::<i32, _>::zeros(&stream, &[3, 2]).unwrap();
    let source = Array::from_slice(&stream, &[2], &[7, 8]).unwrap();
    let before = device.statistics();
    let mut host = [1, 2];
    array.view_mut().index(&ix![0]).unwrap().copy_from_slice(&stream, &host).unwrap();
    host.fill(0);
    array
        .view_mut()
        .index(&ix![1..])
        .unwrap()
        .copy_from(&stream, &source.view().broadcast_to(&[2, 2]).unwrap())
        .unwrap();
    let after = device.statistics();
    assert_eq!(after.synchronizes, before.synchronizes, "nothing was waited for");
    let moved = after.executed.uploads.count + after.executed.copies.count;
    assert_eq!(moved, 0, "nor has any of it run");
    assert_eq!(array.to_vec(&stream).unwrap(), [1, 2, 7, 8, 7, 8]);
}

/// Fixed: a stream is never a number, where 0 would have a special meaning. Streams are
/// independent, and two are ordered by the memory that they share.
#[test]
fn numba_35_no_stream_is_the_default_one() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let _alone = Array::full(&one, &[8], 1_u8).unwrap();
    let shared = Array::full(&one, &[8], 2_u8).unwrap();
    let waits = device.statistics().enqueued.waits;
    let _other = Array::full(&two, &[8], 3_u8).unwrap();
    assert_eq!(device.statistics().enqueued.waits, waits, "streams that share nothing do not wait");
    let _copy = shared.view().to_contiguous(&two, Order::C).unwrap();
    assert_eq!(device.statistics().enqueued.waits, waits + 1, "those that do, do");
}
