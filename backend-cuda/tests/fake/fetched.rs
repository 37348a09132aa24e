//! A few bytes on their way to the host.

#![allow(unsafe_code)] // makes operations without core

use std::num::NonZeroI32;

use devarray::{
    Array, Context, StreamHandle,
    backend::{FetchOp, FetchSource, Fetches, Quiesced},
    function::{ReduceOperation, Reduction},
};
use devarray_cuda::{
    CudaDevice,
    driver::{Fault, Function},
};

use super::state::Fake;

fn stream(fake: &Fake) -> StreamHandle<CudaDevice> {
    Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap().stream().unwrap()
}

/// Copies by the engine, and events, so far.
fn calls(stream: &StreamHandle<CudaDevice>) -> [u64; 2] {
    [Function::MemcpyDtoHAsync, Function::EventCreate].map(|function| {
        let context = stream.context();
        context.device().driver().calls(function)
    })
}

#[test]
fn a_kernel_brings_a_few_bytes_wherever_they_begin() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let bytes: Vec<u8> = (0..200).collect();
    let x = Array::from_slice(&stream, &[200], &bytes).unwrap();
    // Where nothing is computed, no kernel is compiled for it.
    let before = calls(&stream);
    assert_eq!(x.slice_axis(0, 3..5).unwrap().to_vec(&stream).unwrap(), [3, 4]);
    assert_eq!(calls(&stream).map(|count| count - 1), before);
    let x = x.map(&stream, |x| x + 1).unwrap();
    for start in 0..9 {
        for len in [1, 2, 3, 4, 5, 8, 31, 63, 64] {
            let before = calls(&stream);
            let part = x.slice_axis(0, start..start + len).unwrap();
            assert_eq!(part.to_vec(&stream).unwrap(), bytes[start + 1..][..len], "{start} {len}");
            assert_eq!(calls(&stream), before, "{start} {len}");
        }
    }
    // The twins: more bytes, and bytes that do not lie side by side.
    let before = calls(&stream);
    assert_eq!(x.slice_axis(0, 0..65).unwrap().to_vec(&stream).unwrap(), bytes[1..66]);
    assert!(calls(&stream)[0] > before[0]);
    let before = calls(&stream);
    let apart = x.reshape(&[20, 10], devarray::Order::C).unwrap();
    let apart = apart.slice_axis(0, 0..3).unwrap().slice_axis(1, 0..1).unwrap();
    assert_eq!(apart.to_vec(&stream).unwrap(), [1, 11, 21]);
    assert!(calls(&stream)[0] > before[0]);
    fake.assert_proper();
}

/// The calls of the driver for a sum on its way to the host.
#[test]
fn an_element_takes_two_launches_and_no_event() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let x = Array::from_slice(&stream, &[1_000], &[1.0_f32; 1_000]).unwrap();
    assert_eq!(x.sum(&stream, ..).unwrap().item(&stream).unwrap(), 1_000.0);
    fake.state(|state| state.log.clear());
    assert_eq!(x.sum(&stream, ..).unwrap().item(&stream).unwrap(), 1_000.0);
    let calls = fake.state(|state| state.log.clone());
    let calls: Vec<_> = calls.into_iter().filter(|&call| call != Function::CtxGetCurrent).collect();
    // The sum has the memory that the one before it had.
    assert_eq!(calls, [Function::LaunchKernel; 2]);
    fake.assert_proper();
}

/// A reduction writes its one element to the host itself: by one launch, whatever the bytes are.
#[test]
fn a_reduction_to_the_host_is_one_launch() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let sum = Reduction::new(ReduceOperation::Sum);
    for len in [1, 1_000, 40_000] {
        let x = Array::from_slice(&stream, &[len], &vec![1.0_f32; len]).unwrap();
        for round in 0..3 {
            fake.state(|state| state.log.clear());
            assert_eq!(x.reduce_item::<f32>(&stream, &sum).unwrap(), len as f32);
            let calls = fake.state(|state| state.log.clone());
            let calls: Vec<_> = calls.into_iter().filter(|&call| call != Function::CtxGetCurrent).collect();
            if round > 0 {
                assert_eq!(calls, [Function::LaunchKernel], "{len}");
            }
        }
    }
    // Among these are the bytes that a place has before.
    let bytes = Array::from_slice(&stream, &[256], &(0..=255).collect::<Vec<u8>>()).unwrap();
    let max = Reduction::new(ReduceOperation::Maximum);
    for byte in 0..=255 {
        let one = bytes.slice_axis(0, byte..=byte).unwrap();
        assert_eq!(usize::from(one.reduce_item::<u8>(&stream, &max).unwrap()), byte);
    }
    for absent in [0x7ff4_dead_7fa5_7fa5_u64, 0x7fa5_7fa5, 0] {
        let x = Array::from_slice(&stream, &[1], &[absent]).unwrap();
        assert_eq!(x.reduce_item::<u64>(&stream, &max).unwrap(), absent);
    }
    for x in [f32::NAN, 0.0, -0.0, f32::INFINITY] {
        let array = Array::from_slice(&stream, &[1], &[x]).unwrap();
        let found: f32 = array.reduce_item(&stream, &max).unwrap();
        assert!(found.to_bits() == x.to_bits() || found.is_nan() && x.is_nan(), "{found} of {x}");
    }
    fake.assert_proper();
}

/// An element that nobody wrote is waited for, and one that somebody wrote is not.
#[test]
fn an_element_that_is_not_there_is_waited_for() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let x = Array::from_slice(&stream, &[4], &[2.0_f32; 4]).unwrap();
    let sum = Reduction::new(ReduceOperation::Sum);
    x.reduce_item::<f32>(&stream, &sum).unwrap();
    let context = stream.context();
    let waits = || context.device().driver().calls(Function::StreamSynchronize);
    for (idle, waits_once) in [(false, 0), (true, 1), (false, 0)] {
        fake.state(|state| state.idle = idle);
        let before = waits();
        let found = x.reduce_item::<f32>(&stream, &sum).unwrap();
        assert_eq!(waits() - before, waits_once, "{idle}");
        assert!(idle || found == 8.0);
    }
}

/// A few bytes that a kernel has not written yet are waited for, and those that it has are not.
#[test]
fn bytes_that_are_not_there_are_waited_for() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let x = Array::from_slice(&stream, &[4], &[1.0_f32; 4]).unwrap().map(&stream, |x| x * 2.0).unwrap();
    let context = stream.context();
    let waits = || context.device().driver().calls(Function::StreamSynchronize);
    for (idle, waits_once) in [(false, 0), (true, 1), (false, 0)] {
        fake.state(|state| state.idle = idle);
        let before = waits();
        x.to_vec(&stream).unwrap();
        assert_eq!(waits() - before, waits_once, "{idle}");
    }
}

/// A reduction that is not enqueued gives its place back.
#[test]
fn a_reduction_to_the_host_that_fails_keeps_no_place() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let x = Array::from_slice(&stream, &[4], &[1.0_f32; 4]).unwrap().map(&stream, |x| x * 2.0).unwrap();
    let sum = Reduction::new(ReduceOperation::Sum);
    assert_eq!(x.reduce_item::<f32>(&stream, &sum).unwrap(), 8.0);
    let context = stream.context();
    let driver = context.device().driver();
    let pages = driver.calls(Function::MemHostAlloc);
    for _ in 0..100 {
        driver.fail(Fault::new(0, NonZeroI32::new(700).unwrap()).of(Function::LaunchKernel));
        assert!(x.reduce_item::<f32>(&stream, &sum).is_err());
        assert!(driver.heal());
        assert_eq!(x.reduce_item::<f32>(&stream, &sum).unwrap(), 8.0);
    }
    assert_eq!(driver.calls(Function::MemHostAlloc), pages);
}

/// A launch that fails leaves no place in use, and everything is freed.
#[test]
fn a_failure_is_told_and_leaves_nothing_behind() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let x = Array::from_slice(&stream, &[4], &[1.0_f32; 4]).unwrap().map(&stream, |x| x * 2.0).unwrap();
    assert_eq!(x.to_vec(&stream).unwrap(), [2.0; 4]);
    for _ in 0..100 {
        let context = stream.context();
        let failure = Fault::new(0, NonZeroI32::new(700).unwrap());
        context.device().driver().fail(failure.of(Function::LaunchKernel));
        assert!(x.to_vec(&stream).is_err());
    }
    assert_eq!(x.to_vec(&stream).unwrap(), [2.0; 4]);
    let places = fake.state(|state| state.pinned.len());
    assert!(places <= 3, "{places} pinned allocations");
    drop((x, stream));
    assert_eq!(fake.state(|state| state.leaks()), Vec::<String>::new());
}

/// More places than are allocated at a time: each is its own.
#[test]
fn many_places_are_used_at_a_time() {
    let fake = Fake::new();
    let stream = stream(&fake);
    let numbers: Vec<u8> = (0..50 * 64).map(|at| u8::try_from(at / 64 + at % 64).unwrap()).collect();
    let x = Array::from_slice(&stream, &[50 * 64], &numbers).unwrap().map(&stream, |x| x + 1).unwrap();
    let (raw, view) = (stream.raw(), x.view());
    assert_eq!(raw.most_fetched_bytes(), 64);
    let begin = |at: usize| {
        let source = FetchSource::Bytes(view.buffer().unwrap(), 64 * at);
        // SAFETY: inside the array, and behind what writes it.
        raw.fetch(&unsafe { FetchOp::new_unchecked(source, 64) }).unwrap()
    };
    let begun: Vec<_> = (0..50).map(begin).collect();
    for (at, begun) in begun.into_iter().enumerate().rev() {
        let mut found = [0; 64];
        assert!(matches!(raw.fetched(begun, &mut found), Quiesced::Done));
        assert!((0..64).all(|byte| found[byte] == numbers[64 * at + byte].wrapping_add(1)), "{at}");
    }
}
