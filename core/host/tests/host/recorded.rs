//! Recorded work that the device captures.
#![allow(unsafe_code)] // makes operations without core

use std::num::NonZeroUsize;

use devarray::{
    Array, Context, Device as _, Error, Layout, Order, Result,
    backend::{Capabilities, Captures as _, FillOp, Stream as _, UploadOp},
    copy::Plan,
    gather::OutOfRange,
    kernel::{Grid, Image, In, InOut},
    prelude::*,
};
use devarray_host::{DeviceMemory, HostDevice, HostStream};

fn device() -> HostDevice {
    HostDevice::builder().capacity_bytes(64 << 20).threads(2).build()
}

#[test]
fn launches_compute_with_the_arrays_and_numbers_that_they_are_given() -> Result<()> {
    let stream = Context::new(device())?.stream()?;
    let mut arrays: Vec<Array<i64, _>> =
        (0..6).map(|of| Array::full(&stream, &[40_000], of)).collect::<Result<_>>()?;
    let recorded = stream.record_work((&arrays[0], &mut Array::zeros(&stream, &[40_000])?, 0_i64), {
        |on, (x, mut y, by)| {
            let once = (&x, &by).map(on, |(x, by)| x + by)?;
            (&once, &x).map_into(on, &mut y, |(once, x)| once * 10 + x)
        }
    })?;
    let mut due: Vec<i64> = (0..6).collect();
    // More pairs of arrays than captures are kept.
    for (round, by) in (0_usize..40).zip(0_i64..) {
        let (from, to) = (round * 5 % 6, (round * 5 + 1) % 6);
        let mut written = std::mem::replace(&mut arrays[to], Array::zeros(&stream, &[0])?);
        recorded.launch(&stream, (&arrays[from], &mut written, by))?;
        arrays[to] = written;
        due[to] = (due[from].wrapping_add(by)).wrapping_mul(10).wrapping_add(due[from]);
        assert!(recorded.is_captured());
        for (array, due) in arrays.iter().zip(&due) {
            assert_eq!(array.to_vec(&stream)?, vec![*due; 40_000], "launch {by}");
        }
    }
    Ok(())
}

/// Calls that report indices are not captured: each launch reports its own.
#[test]
fn work_that_tells_of_indices_is_not_captured() -> Result<()> {
    let stream = Context::new(device())?.stream()?;
    let x = Array::<i32, _>::arange(&stream, 0, 5, 1)?;
    let by = Array::from_slice(&stream, &[2], &[1_i32, -1])?;
    for (out_of_range, captured) in [(OutOfRange::Wrap, true), (OutOfRange::Error, false)] {
        let mut y = Array::<i32, _>::zeros(&stream, &[2])?;
        let recorded = stream.record_work((&x, &by, &mut y), |on, (x, by, mut y)| {
            let taken = x.take(on, &by, 0, out_of_range)?;
            taken.view().map_into(on, &mut y, |x| x * 2)
        })?;
        for _ in 0..2 {
            recorded.launch(&stream, (&x, &by, &mut y))?;
            assert_eq!(recorded.is_captured(), captured);
        }
        if captured {
            assert_eq!(y.to_vec(&stream)?, [2, 8]);
        }
    }
    Ok(())
}

devarray::kernel! {
    /// Adds one, and panics where an element is negative.
    struct Counts(by: In<i32>, to: InOut<i32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 32) }
    host {
        for (to, &by) in to.iter_mut().zip(by) {
            assert!(by >= 0, "a negative element");
            *to += by;
        }
    }
}

#[test]
fn a_launch_that_panics_has_had_its_turn_and_others_go_on() -> Result<()> {
    let context = Context::new(device())?;
    let (stream, other) = (context.stream()?, context.stream()?);
    let [right, wrong] = [1, -1].map(|by| Array::full(&stream, &[3], by));
    let (right, wrong) = (right?, wrong?);
    let mut to = Array::<i32, _>::zeros(&stream, &[3])?;
    let recorded = stream.record_work((&right, &mut to), |on, (by, mut to)| {
        to.fill(on, 5)?;
        Counts::launch(on, &by, &mut to)?;
        Counts::launch(on, &by, &mut to)
    })?;
    for on in [&stream, &other] {
        recorded.launch(on, (&right, &mut to))?;
        assert_eq!(to.to_vec(on)?, [7; 3]);
        let launch = std::panic::AssertUnwindSafe(|| recorded.launch(on, (&wrong, &mut to)));
        let panic = std::panic::catch_unwind(launch).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a negative element"));
        // The fill before the panic has run, and nothing waits for ever.
        assert_eq!(to.to_vec(&other)?, [5; 3]);
    }
    recorded.launch(&stream, (&right, &mut to))?;
    assert!(recorded.is_captured());
    assert_eq!(to.to_vec(&other)?, [7; 3]);
    Ok(())
}

/// Memory of 64 bytes, and the plan of all of it.
fn memory(stream: &HostStream) -> Result<(DeviceMemory, Plan)> {
    let layout = Layout::contiguous(&[64], Order::C)?;
    let plan = Plan::new(&layout, &layout, 1, &Capabilities::default())?;
    Ok((stream.alloc(NonZeroUsize::new(64).unwrap())?, plan))
}

fn first_bytes(memory: &DeviceMemory) -> [u8; 2] {
    let start = std::ptr::with_exposed_provenance::<[u8; 2]>(
        devarray::backend::Buffer::address(memory).try_into().unwrap(),
    );
    // SAFETY: the memory is alive, 64 bytes and aligned, and no operation runs.
    unsafe { start.read() }
}

#[test]
fn what_is_taken_down_runs_at_each_launch_on_its_own_device_alone() -> Result<()> {
    let (device, elsewhere) = (device(), device());
    let (stream, far) = (device.open_stream()?, elsewhere.open_stream()?);
    let (memory, plan) = memory(&stream)?;
    let fill = |on: &HostStream, with: u8| {
        let pattern = [with];
        // SAFETY: the plan covers all the memory, which nobody else uses.
        on.fill(&unsafe { FillOp::new_unchecked(&memory, &plan, &pattern) })
    };
    fill(&stream, 1)?;
    let taking = stream.capture()?.unwrap();
    fill(&taking, 2)?;
    let captured = taking.end_capture()?;
    assert_eq!(first_bytes(&memory), [1, 1], "nothing runs while it is taken down");
    // SAFETY: the memory is alive, and nobody else uses it.
    let refused = unsafe { far.launch_captured(&*captured, 0..0) };
    assert!(matches!(refused, Err(Error::DeviceMismatch { .. })), "{refused:?}");
    assert_eq!(first_bytes(&memory), [1, 1]);
    for _ in 0..2 {
        fill(&stream, 1)?;
        // SAFETY: as above.
        unsafe { stream.launch_captured(&*captured, 0..0) }?;
        assert_eq!(first_bytes(&memory), [2, 2]);
    }
    Ok(())
}

#[test]
fn host_memory_is_not_taken_down() -> Result<()> {
    let stream = device().open_stream()?;
    let (memory, _) = memory(&stream)?;
    let bytes = [7_u8; 64];
    // SAFETY: both have 64 bytes, and the upload is over when the call returns.
    let op = unsafe { UploadOp::new_unchecked(&memory, 0, bytes.as_ptr(), 64) };
    let taking = stream.capture()?.unwrap();
    let refused = taking.upload(&op);
    assert!(matches!(&refused, Err(Error::Driver { name, .. }) if name == "STREAM_CAPTURES"), "{refused:?}");
    assert_eq!(first_bytes(&memory), [0, 0]);
    // The twin: a stream that runs work at once takes it.
    stream.upload(&op)?;
    assert_eq!(first_bytes(&memory), [7, 7]);
    Ok(())
}

/// A product over no elements allocates memory of its own, which no other array gets while it can be
/// launched.
#[test]
fn memory_that_a_recorded_call_takes_stays_as_long_as_the_recording() -> Result<()> {
    let stream = Context::new(device())?.stream()?;
    let (a, b) = (Array::<f32, _>::zeros(&stream, &[2, 0])?, Array::<f32, _>::zeros(&stream, &[0, 3])?);
    let mut y = Array::<f32, _>::zeros(&stream, &[2, 3])?;
    let recorded = stream.record_work((&a, &b, &mut y, 0.5_f32), |on, (a, b, mut y, by)| {
        a.matmul_map_into(on, &b, &by, &mut y, |product, by| product + by)
    })?;
    for _ in 0..20 {
        recorded.launch(&stream, (&a, &b, &mut y, 0.5))?;
        assert!(recorded.is_captured());
        assert_eq!(y.to_vec(&stream)?, [0.5; 6]);
        // This array would lie where the zero was.
        let ones = Array::full(&stream, &[1], 1.0_f32)?;
        assert_eq!(ones.to_vec(&stream)?, [1.0]);
        std::mem::forget(ones);
    }
    Ok(())
}
