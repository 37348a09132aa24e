//! The program's own kernels in recorded work.
#![expect(clippy::unwrap_used, reason = "tests")]

use devarray::{
    Array, ArrayView, ArrayViewMut, Context, Error, Result, StreamHandle,
    backend::{Compute, Launch},
    kernel::{Dense, Grid, Image, In, InOut, KernelError, Out, Strided, ensure, has_len, same_shape},
    prelude::*,
    recorded::RecordingError,
};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;
use devarray_mock::{Code, MockDevice};

use crate::recorded::{refused, stream};

devarray::kernel! {
    /// to = k · from + by[]
    struct Scale(from: In<f32>, to: Out<f32>, by: In<f32, Dense<0>>, k: f32);
    image = Image::none();
    launch { has_len(from, to.len())?; Grid::elements(to.len(), 256) }
    host { for (to, from) in to.iter_mut().zip(from) { *to = k * from + by.iter().next().unwrap() } }
}

devarray::kernel! {
    /// to += from, of any strides.
    struct AddTo(from: In<f32, Strided<2>>, to: InOut<f32, Strided<2>>);
    image = Image::none();
    launch { same_shape(from, to)?; Grid::elements(to.len(), 256) }
    host { for (to, from) in to.iter_mut().zip(from.iter()) { *to += from } }
}

devarray::kernel! {
    /// Takes elements that begin at an even place.
    struct Even(to: InOut<f32>);
    image = Image::none();
    launch {
        ensure(to.offset().is_multiple_of(2), || format!("`to` begins at {}", to.offset()))?;
        Grid::elements(to.len(), 256)
    }
    host { for to in to { *to += 1.0 } }
}

devarray::kernel! {
    /// Promises to write all elements, and does not.
    struct Forgets(to: Out<f32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 256) }
    host { to[0] = 1.0 }
}

devarray::kernel! {
    struct Panics(to: InOut<f32>);
    image = Image::none();
    launch { Grid::elements(to.len(), 256) }
    host { if to[0] > 1.0 { panic!("more than 1") } }
}

/// Kernels and other calls, written for any device.
fn step<D: Compute + Launch>(
    on: &StreamHandle<D>,
    x: &ArrayView<'_, f32, D>,
    y: &mut ArrayViewMut<'_, f32, D>,
    by: &ArrayView<'_, f32, D>,
) -> Result<()> {
    let mut scaled = Array::uninit(on, x.shape())?;
    Scale::launch(on, x, &mut scaled, by, 1.5)?;
    let sums = scaled.cumsum(on, 0)?;
    AddTo::launch(on, &sums.transpose().flip(&[0])?, &mut y.reborrow().transpose())?;
    Scale::launch(on, &sums, &mut scaled, by, -0.25)?;
    AddTo::launch(on, &scaled, y)
}

/// Launches give the bits of the calls, with other arrays and numbers each time, on any device.
fn has_the_bits_of_the_calls<D: Compute + Launch>(device: D) {
    let s = Context::new(device).unwrap().stream().unwrap();
    let all: Vec<f32> = (0..48_u16).map(|at| f32::from(at * 37 % 11) - 3.5).collect();
    let all = Array::from_slice(&s, &[8, 6], &all).unwrap();
    let mut y = Array::full(&s, &[2, 6], 0.5).unwrap();
    let mut due = Array::full(&s, &[2, 6], 0.5).unwrap();
    let rows = |at: usize| all.slice_axis(0, 2 * at..2 * at + 2).unwrap();
    let recorded =
        s.record_work((&rows(1), &mut y, 0.0_f32), |on, (x, mut y, by)| step(on, &x, &mut y, &by)).unwrap();
    assert_eq!(recorded.len(), 5);
    assert_eq!(y.to_vec(&s).unwrap(), [0.5; 12], "recording runs nothing");
    for (at, by) in [(1, 0.5_f32), (0, -1.0), (3, 0.5), (1, 2.0)] {
        recorded.launch(&s, (&rows(at), &mut y, by)).unwrap();
        let by = Array::full(&s, &[], by).unwrap();
        step(&s, &rows(at), &mut due.view_mut(), &by.view()).unwrap();
        let bits =
            |of: &Array<f32, _>| of.to_vec(&s).unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&y), bits(&due));
    }
    s.synchronize().unwrap();
}

#[test]
fn kernels_are_recorded_on_every_device() {
    has_the_bits_of_the_calls(MockDevice::builder().check_kernels(true).build());
    has_the_bits_of_the_calls(HostDevice::new());
    has_the_bits_of_the_calls(AnyDevice::from(MockDevice::new()));
    has_the_bits_of_the_calls(AnyDevice::from(HostDevice::new()));
}

/// Different arrays of a recording share no memory, and halves of one array share none either.
#[test]
fn arguments_of_a_recorded_kernel_may_not_overlap() {
    let s = stream();
    let x = Array::from_slice(&s, &[4], &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let mut y = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let halves = s.record_work((&x, &mut y, 3.0_f32), |on, (x, mut y, by)| {
        let mut both = x.map(on, |x| x)?;
        {
            let mut parts = both.view_mut().split_at(0, &[2])?;
            let (left, mut right) = (parts.next().unwrap(), parts.next().unwrap());
            Scale::launch(on, &left.as_view(), &mut right, &by, 1.0)?;
        }
        y.copy_from(on, &both)
    });
    halves.unwrap().launch(&s, (&x, &mut y, 3.0)).unwrap();
    assert_eq!(y.to_vec(&s).unwrap(), [1.0, 2.0, 4.0, 5.0]);
    // An array that is only read may repeat its rows.
    let repeated = s.record_work((&mut y,), |on, (y,)| {
        let mut rows = Array::<f32, _>::zeros(on, &[2, 4])?;
        AddTo::launch(on, &y.as_view().broadcast_to(&[2, 4])?, &mut rows)
    });
    assert_eq!(repeated.unwrap().len(), 2);
}

/// The kernel's launch code checks the arguments again if they begin elsewhere.
#[test]
fn a_kernel_refuses_what_a_launch_gives() {
    let s = stream();
    let mut y = Array::<f32, _>::zeros(&s, &[6]).unwrap();
    let recorded = s
        .record_work((&mut y.view_mut().slice_axis(0, 2..4).unwrap(),), |on, (mut y,)| {
            Even::launch(on, &mut y)
        })
        .unwrap();
    for (first, is_taken) in [(2, true), (1, false), (4, true), (3, false), (0, true)] {
        let mut part = y.view_mut();
        let mut part = part.reborrow().slice_axis(0, first..first + 2).unwrap();
        let launched = recorded.launch(&s, (&mut part,));
        match launched {
            Ok(()) => assert!(is_taken),
            Err(error) => {
                assert!(!is_taken, "{error}");
                let Error::Kernel { kernel: "Even", error: KernelError::Refused { reason }, .. } = error
                else {
                    panic!("{error}")
                };
                assert_eq!(reason, format!("`to` begins at {first}"));
            }
        }
    }
    assert_eq!(y.to_vec(&s).unwrap(), [1.0; 6]);
    let odd = s.record_work((&mut y.view_mut().slice_axis(0, 1..3).unwrap(),), |on, (mut y,)| {
        Even::launch(on, &mut y)
    });
    assert!(matches!(odd.unwrap_err(), Error::Kernel { kernel: "Even", .. }));
}

#[test]
fn kernels_take_what_belongs_to_the_recording() {
    let s = stream();
    let x = Array::from_slice(&s, &[4], &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let mut y = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let (outside, shared) =
        (Array::full(&s, &[], 0.5_f32).unwrap(), Array::full(&s, &[], 0.5_f32).unwrap().into_shared());
    let found = s.record_work((&x, &mut y), |on, (x, mut y)| Scale::launch(on, &x, &mut y, &outside, 1.0));
    assert_eq!(refused(found), ("Scale", RecordingError::NoArgument));
    let found = s.record_work((&x, &mut y), |_, (x, mut y)| Scale::launch(&s, &x, &mut y, &shared, 1.0));
    assert_eq!(refused(found), ("Scale", RecordingError::Outside));
    let recorded =
        s.record_work((&x, &mut y), |on, (x, mut y)| Scale::launch(on, &x, &mut y, &shared, 1.0)).unwrap();
    drop(shared);
    recorded.launch(&s, (&x, &mut y)).unwrap();
    assert_eq!(y.to_vec(&s).unwrap(), [1.5, 2.5, 3.5, 4.5]);
    let mut kept = None;
    let over = s.record_work((&x,), |on, _| {
        kept = Some(on.clone());
        Ok(())
    });
    assert!(over.unwrap().is_empty());
    assert_eq!(refused(Even::launch(&kept.unwrap(), &mut y)), ("Even", RecordingError::NoArgument));
}

/// A finding of the simulator names the line of the recorded call.
#[test]
fn findings_name_the_recorded_call() {
    let device = MockDevice::builder().check_kernels(true).build();
    let s = Context::new(device.clone()).unwrap().stream().unwrap();
    let mut y = Array::<f32, _>::zeros(&s, &[3]).unwrap();
    let line = line!() + 1;
    let recorded = s.record_work((&mut y,), |on, (mut y,)| Forgets::launch(on, &mut y)).unwrap();
    s.synchronize().unwrap();
    assert_eq!(device.report().findings, []);
    for _ in 0..2 {
        recorded.launch(&s, (&mut y,)).unwrap();
    }
    s.synchronize().unwrap();
    let findings = device.report().findings;
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding.code, Code::Unwritten, "{finding}");
        assert!(finding.to_string().contains(&format!("recorded_kernels.rs:{line}")), "{finding}");
    }
}

/// A host function that panics leaves the recording and the device usable.
#[test]
fn a_panic_ends_a_launch() {
    let s = Context::new(HostDevice::new()).unwrap().stream().unwrap();
    let mut y = Array::<f32, _>::zeros(&s, &[3]).unwrap();
    let recorded = s
        .record_work((&mut y, 1.0_f32), |on, (mut y, by)| {
            y.fill(on, 0.0)?;
            let view = y.as_view();
            let more = (&view, &by).map(on, |(y, by)| y + by)?;
            y.copy_from(on, &more)?;
            Panics::launch(on, &mut y)
        })
        .unwrap();
    for (by, panics) in [(1.0_f32, false), (2.0, true), (0.5, false), (3.0, true)] {
        let launch = std::panic::AssertUnwindSafe(|| recorded.launch(&s, (&mut y, by)));
        let launched = std::panic::catch_unwind(launch);
        assert_eq!(launched.is_err(), panics);
        assert_eq!(y.to_vec(&s).unwrap(), [by; 3]);
    }
}
