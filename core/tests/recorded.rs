//! Recorded work on the simulator: it is right in any order, and refused where it could be wrong.
#![expect(clippy::unwrap_used, reason = "tests")]

use devarray::{
    Array, Context, Error, Order, Result, StreamHandle, backend::Compute, gather::OutOfRange, prelude::*,
    recorded::RecordingError,
};
use devarray_mock::{MockDevice, Schedule};

pub(crate) fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

pub(crate) fn refused(result: Result<impl std::fmt::Debug>) -> (&'static str, RecordingError) {
    match result.unwrap_err() {
        error @ Error::Recording { operation, error: why, .. } => {
            assert!(error.location().is_some_and(|at| at.file().contains("recorded")), "{error}");
            (operation, why)
        }
        other => panic!("{other}"),
    }
}

/// A call of every kind that can be recorded, written for any device.
fn every_kind<D: Compute>(
    on: &StreamHandle<D>,
    x: &devarray::ArrayView<'_, f32, D>,
    y: &mut devarray::ArrayViewMut<'_, f32, D>,
    rate: &devarray::ArrayView<'_, f32, D>,
) -> Result<()> {
    let mean = x.mean(on, 1)?; // reduce
    let scaled = (x, &mean.view().expand_dims(1)?, rate).map(on, |(x, mean, rate)| (x - mean) * rate)?;
    let sums = scaled.cumsum(on, 0)?; // scan
    let order = sums.argsort(on, -1)?; // order
    let sorted = sums.take_along_axis(on, &order, 1, OutOfRange::Error)?; // gather
    let gram = sorted.matmul(on, &sorted.transpose())?; // product
    let gram = gram.matmul_map(on, &gram, rate, |y, rate| (y * rate).maximum(0.0))?;
    let both = Array::concatenate(on, &[sorted.view(), gram.slice_axis(1, ..1)?], 1)?; // join
    let mut counts = Array::<f32, D>::zeros(on, &[x.shape()[0]])?; // fill
    let rows = order.index(&devarray::ix![.., 0])?;
    counts.view_mut().put_add(on, 0, &rows, &both.index(&devarray::ix![.., 0])?)?; // put
    let normalized = devarray::math::softmax(on, &both, 1)?; // fused
    (&normalized.slice_axis(1, ..x.shape()[1])?, &counts.view().expand_dims(1)?)
        .map_into(on, y, |(a, b)| a + b)
}

#[test]
fn a_launch_gives_the_bits_of_the_calls() {
    let s = stream();
    let numbers: Vec<f32> = (0..12_u16).map(|at| f32::from(at * 37 % 11) - 3.5).collect();
    let x = Array::from_slice(&s, &[4, 3], &numbers).unwrap();
    let other = Array::from_slice(&s, &[4, 3], &numbers.iter().map(|x| x * 1.5).collect::<Vec<_>>()).unwrap();
    let mut y = Array::zeros(&s, &[4, 3]).unwrap();
    let step = s
        .record_work((&x, &mut y, 0.5_f32), |on, (x, mut y, rate)| every_kind(on, &x, &mut y, &rate))
        .unwrap();
    assert!(step.len() > 10 && step.len_bytes() > 0);
    assert_eq!(y.to_vec(&s).unwrap(), [0.0; 12], "recording runs nothing");
    for (x, rate) in [(&x, 0.5_f32), (&other, 0.5), (&x, 2.0)] {
        step.launch(&s, (x, &mut y, rate)).unwrap();
        let mut due = Array::zeros(&s, &[4, 3]).unwrap();
        let rate = Array::full(&s, &[], rate).unwrap();
        every_kind(&s, &x.view(), &mut due.view_mut(), &rate.view()).unwrap();
        let bits =
            |of: &Array<f32, _>| of.to_vec(&s).unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&y), bits(&due));
    }
    s.synchronize().unwrap();
}

/// A mistake in shapes is told when it is recorded, and not by each launch.
#[test]
fn copies_between_shapes_that_differ_are_refused_when_they_are_recorded() {
    let s = stream();
    let x = Array::<f32, _>::zeros(&s, &[3]).unwrap();
    let mut y = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let found = s.record_work((&x, &mut y), |on, (x, mut y)| {
        y.fill(on, 7.0)?;
        y.copy_from(on, &x)
    });
    assert!(matches!(found.unwrap_err(), Error::Layout(..)));
}

/// Each call that a recording does not accept is an error that names it.
#[test]
fn what_cannot_be_recorded_is_refused_by_name() {
    let s = stream();
    let u = Array::from_slice(&s, &[4], &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let outside = Array::from_slice(&s, &[4], &[5.0_f32; 4]).unwrap();
    let event = s.record().unwrap();
    let mut other = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let not = RecordingError::NotRecorded;
    type Step<'a> = Box<
        dyn FnOnce(&StreamHandle<MockDevice>, devarray::ArrayView<'_, f32, MockDevice>) -> Result<()> + 'a,
    >;
    let cases: Vec<(&str, RecordingError, Step<'_>)> = vec![
        ("synchronize", not, Box::new(|on, _| on.synchronize())),
        ("record", not, Box::new(|on, _| on.record().map(drop))),
        ("wait", not, Box::new(|on, _| on.wait(&event))),
        ("download", not, Box::new(|on, u| u.to_vec(on).map(drop))),
        ("download", not, Box::new(|on, u| devarray::math::dot(on, &u, &u)?.item(on).map(drop))),
        ("download", not, Box::new(|on, u| u.sum(on, 0)?.item(on).map(drop))),
        ("upload", not, Box::new(|on, _| Array::from_slice(on, &[2], &[1_u8, 2]).map(drop))),
        ("download", not, Box::new(|on, u| u.unique(on).map(drop))),
        (
            "map",
            RecordingError::NoArgument,
            Box::new(|on, u| (&u, &outside).map(on, |(u, o)| u + o).map(drop)),
        ),
        ("copy", RecordingError::Outside, Box::new(|_, u| other.view_mut().copy_from(&s, &u))),
        ("map", RecordingError::Outside, Box::new(|_, u| u.map(&s, |u| u + 1.0).map(drop))),
        ("download", RecordingError::Outside, Box::new(|_, u| u.to_vec(&s).map(drop))),
    ];
    for (operation, why, step) in cases {
        let found = s.record_work((&u,), |on, (u,)| step(on, u));
        assert_eq!(refused(found), (operation, why));
    }
    let recording = s.record_work((&u,), |on, (u,)| u.map(on, |u| u + 1.0).map(drop)).unwrap();
    let found = s.record_work((&u,), |on, (u,)| recording.launch(on, (&u,)));
    assert_eq!(refused(found), ("launch", not));
    let found = s.record_work((&u,), |on, (u,)| on.record_work((&u,), |_, _| Ok(())).map(drop));
    assert_eq!(refused(found), ("record_work", not));
    assert_eq!(u.to_vec(&s).unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn nothing_of_a_recording_gets_out() {
    let s = stream();
    let u = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let mut kept = None;
    let found = s.record_work((&u,), |on, (u,)| {
        kept = Some(u.map(on, |u| u + 1.0)?);
        Ok(())
    });
    assert_eq!(refused(found), ("record_work", RecordingError::Escaped));
    let kept = kept.unwrap();
    assert_eq!(refused(kept.to_vec(&s)), ("download", RecordingError::Outside));
    assert_eq!(refused(kept.view().map(&s, |x| x)), ("map", RecordingError::Outside));
    let mut stream = None;
    let over = s.record_work((&u,), |on, _| {
        stream = Some(on.clone());
        Ok(())
    });
    assert!(over.unwrap().is_empty());
    let stream = stream.unwrap();
    assert_eq!(refused(Array::<f32, _>::zeros(&stream, &[2])), ("alloc", RecordingError::Over));
    assert_eq!(refused(stream.synchronize()), ("synchronize", RecordingError::NotRecorded));
    drop(stream);
    s.synchronize().unwrap();
}

#[test]
fn a_panic_leaves_the_stream_usable() {
    let s = stream();
    let u = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        s.record_work((&u,), |on, (u,)| {
            let _one = u.map(on, |u| u + 1.0)?;
            panic!("in the closure")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(u.to_vec(&s).unwrap(), [0.0; 4]);
}

#[test]
fn arguments_may_begin_anywhere_and_must_lie_alike() {
    let s = stream();
    let x = Array::arange(&s, 0, 24, 1).unwrap();
    let x = x.reshape(&[4, 6], Order::C).unwrap();
    let mut y = Array::<i32, _>::zeros(&s, &[4, 6]).unwrap();
    let row = |at: usize| x.slice_axis(0, at..=at).unwrap();
    let step = {
        let first = y.view_mut();
        let mut first = first.slice_axis(0, 1..2).unwrap();
        s.record_work((&row(2), &mut first), |on, (x, mut y)| {
            // A gather is recorded with its own layouts.
            let places = x.argsort(on, -1)?;
            y.copy_from(on, &x.take_along_axis(on, &places, 1, OutOfRange::Error)?)
        })
        .unwrap()
    };
    for at in 0..4 {
        let to = y.view_mut();
        step.launch(&s, (&row(3 - at), &mut to.slice_axis(0, at..=at).unwrap())).unwrap();
    }
    let due: Vec<i32> = (0..4).flat_map(|at| (0..6).map(move |column| (3 - at) * 6 + column)).collect();
    assert_eq!(y.to_vec(&s).unwrap(), due);
    let to = y.view_mut();
    let mut to = to.slice_axis(0, 0..1).unwrap();
    let (long, short) = (x.slice_axis(0, 0..2).unwrap(), x.slice_axis(1, 0..5).unwrap());
    for wrong in [&long, &short.slice_axis(0, 0..1).unwrap(), &row(0).transpose()] {
        assert_eq!(refused(step.launch(&s, (wrong, &mut to))), ("launch", RecordingError::Argument(0)));
    }
}

#[test]
fn another_context_is_refused() {
    let (s, t) = (stream(), stream());
    let (u, far) = (Array::<f32, _>::zeros(&s, &[4]).unwrap(), Array::<f32, _>::zeros(&t, &[4]).unwrap());
    let step = s.record_work((&u,), |on, (u,)| u.map(on, |u| u + 1.0).map(drop)).unwrap();
    for found in [
        step.launch(&t, (&far,)),
        step.launch(&s, (&far,)),
        step.launch(&t, (&u,)),
        s.record_work((&far,), |_, _| Ok(())).map(drop),
    ] {
        assert!(matches!(found.unwrap_err(), Error::DeviceMismatch { .. }));
    }
}

/// Launches on two streams are ordered by the memory that they share; a strict stream refuses an
/// unordered launch.
#[test]
fn launches_of_one_recording_follow_each_other() {
    let context = Context::new(MockDevice::new()).unwrap();
    let (a, b) = (context.stream().unwrap(), context.stream().unwrap());
    let u = Array::from_slice(&a, &[64], &[1_i32; 64]).unwrap();
    let (mut v, mut w) = (Array::zeros(&a, &[64]).unwrap(), Array::zeros(&b, &[64]).unwrap());
    let step = a
        .record_work((&u, &mut v, 1_i32), |on, (u, mut v, by)| {
            let once = (u, by).map(on, |(u, by)| u + by)?;
            once.view().map_into(on, &mut v, |once| once * 10)
        })
        .unwrap();
    for round in 0..20 {
        step.launch(&a, (&u, &mut v, round)).unwrap();
        step.launch(&b, (&u, &mut w, -round)).unwrap();
        assert_eq!(v.to_vec(&a).unwrap(), [10 * (1 + round); 64]);
        assert_eq!(w.to_vec(&b).unwrap(), [10 * (1 - round); 64]);
    }
    let strict = context.strict_stream().unwrap();
    step.launch(&a, (&u, &mut v, 0)).unwrap();
    let before = context.statistics();
    let found = step.launch(&strict, (&u, &mut w, 0));
    assert!(matches!(found, Err(Error::Hazard { operation: "launch", .. })), "{found:?}");
    assert_eq!(format!("{:?}", context.statistics()), format!("{before:?}"), "nothing was enqueued");
    strict.wait(&a.record().unwrap()).unwrap();
    strict.wait(&b.record().unwrap()).unwrap();
    step.launch(&strict, (&u, &mut w, 4)).unwrap();
    assert_eq!(w.to_vec(&strict).unwrap(), [50; 64]);
}

/// A recording is dropped in flight, and it alone keeps some shared arrays alive.
#[test]
fn what_a_recording_owns_lives_until_its_last_launch() {
    let context = Context::new(MockDevice::new()).unwrap();
    let s = context.stream().unwrap();
    let mut v = Array::<f32, _>::zeros(&s, &[256]).unwrap();
    let weights = Array::from_slice(&s, &[256], &[3.0_f32; 256]).unwrap().into_shared();
    let step = s
        .record_work((&mut v,), |on, (mut v,)| {
            let scaled = (&weights, 2.0).map(on, |(w, k)| w * k)?;
            scaled.view().map_into(on, &mut v, |x| x + 1.0)
        })
        .unwrap();
    drop(weights);
    step.launch(&s, (&mut v,)).unwrap();
    drop(step);
    assert_eq!(v.to_vec(&s).unwrap(), [7.0; 256]);
    s.synchronize().unwrap();
    drop(v);
    s.synchronize().unwrap();
    assert_eq!(context.memory_statistics().live_bytes(), 0);
}

/// The memory of arrays that were dropped is used again.
#[test]
fn a_recording_reuses_the_memory_of_arrays_that_are_gone() {
    let s = stream();
    let u = Array::<f32, _>::zeros(&s, &[1000]).unwrap();
    let mut v = Array::<f32, _>::zeros(&s, &[1000]).unwrap();
    let step = s
        .record_work((&u, &mut v), |on, (u, mut v)| {
            let mut x = u.map(on, |u| u + 1.0)?;
            for _ in 0..20 {
                x = x.view().map(on, |x| x + 1.0)?;
            }
            v.copy_from(on, &x)
        })
        .unwrap();
    assert_eq!((step.len(), step.len_bytes()), (22, 8000));
    step.launch(&s, (&u, &mut v)).unwrap();
    assert_eq!(v.to_vec(&s).unwrap(), [21.0; 1000]);
}

/// Memory puts no call behind another, unless it is large.
#[test]
fn small_arrays_of_calls_side_by_side_have_memory_each() {
    for (len, apart) in [(1000, 4), (1 << 19, 1)] {
        let count = i64::try_from(4 * len).unwrap();
        let device = MockDevice::builder().schedule(Schedule::ReverseLazy).build();
        let s = Context::new(device).unwrap().stream().unwrap();
        let u = Array::arange(&s, 0, count, 1).unwrap();
        let u = u.reshape(&[4, len], Order::C).unwrap();
        let mut v = Array::<i64, _>::zeros(&s, &[4, len]).unwrap();
        let step = s
            .record_work((&u, &mut v), |on, (u, mut v)| {
                (0..4_usize).try_for_each(|row| {
                    let once = u.slice_axis(0, row..=row)?.map(on, |u| u + 1)?;
                    let mut to = v.reborrow().slice_axis(0, row..=row)?;
                    once.view().map_into(on, &mut to, |once| once * 2)
                })
            })
            .unwrap();
        assert_eq!((step.len(), step.len_bytes()), (8, apart * len * 8));
        step.launch(&s, (&u, &mut v)).unwrap();
        let due: Vec<i64> = (0..count).map(|at| 2 * (at + 1)).collect();
        assert_eq!(v.to_vec(&s).unwrap(), due);
    }
}

/// Index errors are found at each launch, with the line of the recorded call.
#[test]
fn index_errors_name_the_recorded_call() {
    let s = stream();
    let x = Array::arange(&s, 0, 4, 1).unwrap();
    let [good, wrong] = [[0_i32, 3], [1, 4]].map(|places| Array::from_slice(&s, &[2], &places).unwrap());
    let mut y = Array::<i32, _>::zeros(&s, &[2]).unwrap();
    let line = line!() + 3;
    let step = s
        .record_work((&x, &good, &mut y), |on, (x, places, mut y)| {
            y.copy_from(on, &x.take(on, &places, 0, OutOfRange::Error)?)
        })
        .unwrap();
    for _ in 0..3 {
        step.launch(&s, (&x, &good, &mut y)).unwrap();
        s.synchronize().unwrap();
        step.launch(&s, (&x, &wrong, &mut y)).unwrap();
        let error = s.synchronize().unwrap_err();
        assert!(matches!(error, Error::Index { .. }), "{error}");
        assert_eq!(error.location().unwrap().line(), line);
    }
}

#[test]
fn empty_arguments_are_recorded_and_launched() {
    let s = stream();
    let empty = Array::<f32, _>::zeros(&s, &[0, 3]).unwrap();
    let mut sums = Array::<f32, _>::zeros(&s, &[3]).unwrap();
    let step = s
        .record_work((&empty, &mut sums), |on, (x, mut sums)| {
            let twice = x.map(on, |x| x * 2.0)?;
            sums.copy_from(on, &twice.sum(on, 0)?)
        })
        .unwrap();
    step.launch(&s, (&empty, &mut sums)).unwrap();
    assert_eq!(sums.to_vec(&s).unwrap(), [0.0; 3]);
}
