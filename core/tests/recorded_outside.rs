//! Things that recorded work must not reach, and arguments that lie anywhere.

use std::cell::Cell;

use devarray::{
    Array, ArrayView, Context, Error, Layout, MappedArray,
    backend::ForeignStream,
    function::Expression,
    gather::{OutOfRange, Repeats},
    math,
    memory::MemoryKind,
    prelude::*,
    random::{self, Draw, Key},
    recorded::RecordingError,
};
use devarray_mock::{MockDevice, Schedule};

use crate::recorded::{refused, stream};

/// Elements of three bytes are uploaded when the fill is recorded. A launch allocates nothing, so a hook that is told of
/// allocations may ask for the recording.
#[test]
fn fills_of_any_size_are_recorded() {
    let s = stream();
    let mut x = Array::<[u8; 3], _>::zeros(&s, &[5]).unwrap();
    let step = s.record_work((&mut x,), |on, (mut x,)| x.fill(on, [1, 2, 3])).unwrap();
    let allocated = || s.context().memory_statistics().of(MemoryKind::Device).allocations;
    for _ in 0..2 {
        let before = allocated();
        step.launch(&s, (&mut x,)).unwrap();
        assert_eq!(allocated(), before);
        assert_eq!(x.to_vec(&s).unwrap(), [[1, 2, 3]; 5]);
        x.view_mut().fill(&s, [0; 3]).unwrap();
    }
}

/// A recording's stream that outlives the stream does not pass for the next stream.
#[test]
fn a_stream_kept_from_a_recording_waits_for_no_other() {
    let context = Context::new(MockDevice::builder().schedule(Schedule::Lazy).build()).unwrap();
    let first = context.stream().unwrap();
    let mut x = MappedArray::<u8, _>::zeros(&context, &[64]).unwrap();
    let mut a = Array::<u8, _>::zeros(&first, &[1]).unwrap();
    let mut kept = None;
    let step = first.record_work((&mut a,), |on, (mut a,)| {
        kept = Some(on.clone());
        a.fill(on, 1)
    });
    let (number, kept) = (first.number(), kept.unwrap());
    drop(step.unwrap());
    first.synchronize().unwrap();
    drop(first);
    let second = context.stream().unwrap();
    assert_ne!(second.number(), number, "its place is still taken");
    x.view_mut().fill(&second, 7).unwrap();
    let called = Cell::new(false);
    assert_eq!(refused(kept.scope(|_| called.set(true))), ("scope", RecordingError::NotRecorded));
    assert!(!called.get());
    let buffer = context.pinned::<u8>(1).unwrap();
    let error = a.view().download(&kept, buffer).unwrap_err();
    assert!(matches!(error.error(), Error::Recording { error: RecordingError::NotRecorded, .. }));
    assert!(error.into_buffer().is_some());
    assert_eq!(x.host().unwrap(), [7; 64]);
    drop(kept);
    assert_eq!(context.stream().unwrap().number(), number, "now it is free");
}

/// The fill's element has an odd size, or the array is empty and its offset the largest.
#[test]
fn arrays_without_elements_may_lie_anywhere() {
    let s = stream();
    let x = Array::<f32, _>::zeros(&s, &[4]).unwrap().into_erased();
    let far = x.view_of(&Layout::new(&[0], &[1], isize::MAX as usize).unwrap()).unwrap();
    let far = ArrayView::<f32, _>::from_erased(far).unwrap();
    let step = s.record_work((&far,), |_, _| Ok(())).unwrap();
    step.launch(&s, (&far,)).unwrap();
    let mut mapped = MappedArray::<f32, _>::zeros(&s.context(), &[4]).unwrap();
    let mut none = mapped.view_mut().slice_axis(0, 0..0).unwrap();
    none.copy_from(&s, &far).unwrap();
}

/// Elements of three bytes are gathered byte by byte, also from arguments that begin elsewhere.
#[test]
fn gathers_of_elements_of_any_size_move_with_their_arguments() {
    let s = stream();
    let rows: Vec<[u8; 3]> = (0..12).map(|at| [at, 50 + at, 100 + at]).collect();
    let x = Array::from_slice(&s, &[3, 4], &rows).unwrap();
    let mut y = Array::<[u8; 3], _>::zeros(&s, &[3, 4]).unwrap();
    let places = Array::from_slice(&s, &[4], &[3_i64, 2, 1, 0]).unwrap();
    let row = |at: usize| x.slice_axis(0, at..=at).unwrap();
    let step = {
        let mut first = y.view_mut().slice_axis(0, 1..2).unwrap();
        s.record_work((&row(1), &places, &mut first), |on, (x, places, mut y)| {
            y.copy_from(on, &x.take(on, &places, 1, OutOfRange::Wrap)?)?;
            let last = x.slice_axis(1, ..1)?;
            y.put(on, &places.slice_axis(0, ..1)?, &last, 1, OutOfRange::Wrap, Repeats::Last)
        })
        .unwrap()
    };
    for at in 0..3 {
        let mut to = y.view_mut().slice_axis(0, at..=at).unwrap();
        step.launch(&s, (&row(2 - at), &places, &mut to)).unwrap();
    }
    let due: Vec<_> = (0..3).flat_map(|at| [3, 2, 1, 0].map(|column| rows[(2 - at) * 4 + column])).collect();
    assert_eq!(y.to_vec(&s).unwrap(), due);
}

/// Fused calls check their arrays before they are recorded.
#[test]
fn fused_calls_refuse_what_is_no_argument() {
    let (s, t) = (stream(), stream());
    let [u, outside] = [1.0_f32, 2.0].map(|x| Array::full(&s, &[4, 3], x).unwrap());
    let far = Array::<f32, _>::zeros(&t, &[4, 3]).unwrap();
    let found = s.record_work((&u,), |on, _| math::softmax(on, &outside, 1).map(drop));
    assert_eq!(refused(found), ("reduce", RecordingError::NoArgument));
    let found = s.record_work((&u,), |_, (u,)| math::softmax(&s, &u, 1).map(drop));
    assert_eq!(refused(found), ("reduce", RecordingError::Outside));
    let found = s.record_work((&u,), |_, (u,)| {
        s.record_work((&outside, 1), |on, _| math::softmax(on, &u, 1).map(drop)).map(drop)
    });
    assert_eq!(refused(found), ("reduce", RecordingError::Outside));
    let found = s.record_work((&u,), |on, _| math::softmax(on, &far, 1).map(drop));
    assert!(matches!(found.unwrap_err(), Error::DeviceMismatch { .. }));
}

/// Shared arrays are only read: a launch does not conflict with other readers, and owns none of them.
#[test]
fn shared_arrays_are_read() {
    let context = Context::new(MockDevice::new()).unwrap();
    let (a, strict) = (context.stream().unwrap(), context.strict_stream().unwrap());
    let weights = Array::from_slice(&a, &[4], &[1.0_f32; 4]).unwrap().into_shared();
    let [mut v, mut w] = [(); 2].map(|()| Array::<f32, _>::zeros(&a, &[4]).unwrap());
    let step = strict
        .record_work((&mut v,), |on, (mut v,)| weights.view().map_into(on, &mut v, |x| x + 1.0))
        .unwrap();
    assert_eq!(step.len_bytes(), 0);
    strict.wait(&a.record().unwrap()).unwrap();
    weights.view().map_into(&a, &mut w.view_mut(), |x| x * 2.0).unwrap();
    step.launch(&strict, (&mut v,)).unwrap();
    assert_eq!(v.to_vec(&strict).unwrap(), [2.0; 4]);
}

/// Other code hears nothing of a recording, and the placeholder of an array has no memory for it.
#[test]
fn foreign_work_is_refused() {
    let s = stream();
    let u = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let not = RecordingError::NotRecorded;
    let found = s.record_work((&u,), |on, _| on.wait_for_foreign(ForeignStream::LEGACY));
    assert_eq!(refused(found), ("wait_for_foreign", not));
    let found = s.record_work((&u,), |on, _| on.foreign_waits(ForeignStream::LEGACY));
    assert_eq!(refused(found), ("foreign_waits", not));
    let found = s.record_work((&u,), |on, (u,)| {
        assert!(u.buffer().is_none());
        on.foreign_work().reads(&u).enqueue(|_| Ok(()))
    });
    assert_eq!(refused(found), ("foreign_work", not));
    let found = s.record_work((&u,), |_, (u,)| s.foreign_work().reads(&u).enqueue(|_| Ok(())));
    assert_eq!(refused(found), ("foreign_work", RecordingError::Outside));
}

/// A recording whose closure panicked is over, even if its stream still exists.
#[test]
fn a_panic_ends_the_recording() {
    let s = stream();
    let u = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let mut kept = None;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        s.record_work((&u,), |on, _| {
            kept = Some(on.clone());
            panic!("in the closure")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(refused(Array::<f32, _>::zeros(&kept.unwrap(), &[4])), ("alloc", RecordingError::Over));
}

/// Threads launch one recording at once, each with arrays and a number of its own.
#[test]
fn threads_launch_at_once() {
    let context = Context::new(MockDevice::new()).unwrap();
    let s = context.stream().unwrap();
    let u = Array::from_slice(&s, &[64], &[1_i32; 64]).unwrap();
    let mut v = Array::<i32, _>::zeros(&s, &[64]).unwrap();
    let step = s
        .record_work((&u, &mut v, 1_i32), |on, (u, mut v, by)| {
            let sum = (u, by).map(on, |(u, by)| u + by)?;
            sum.view().map_into(on, &mut v, |sum| sum * 10)
        })
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (step, context, u) = (&step, &context, &u);
            scope.spawn(move || {
                let on = context.stream().unwrap();
                let mut v = Array::<i32, _>::zeros(&on, &[64]).unwrap();
                for round in 0..20 {
                    let by = thread * 100 + round;
                    step.launch(&on, (u, &mut v, by)).unwrap();
                    assert_eq!(v.to_vec(&on).unwrap(), [10 * (1 + by); 64]);
                }
            });
        }
    });
    std::thread::spawn(move || drop(step)).join().unwrap();
    s.synchronize().unwrap();
}

/// A position that is an argument gives other random numbers at each launch.
#[test]
fn random_numbers_go_on_by_an_argument() {
    let s = stream();
    let mut y = Array::<f32, _>::zeros(&s, &[10]).unwrap();
    let step = s
        .record_work((&mut y, 0_u64), |on, (mut y, first)| {
            first.broadcast_to(&[10])?.map_into(on, &mut y, |first| {
                Draw::new(7_u64, first + Expression::position(0).cast::<u64>()).uniform::<f32>()
            })
        })
        .unwrap();
    for first in [0_u64, 10, 35] {
        step.launch(&s, (&mut y, first)).unwrap();
        let due = random::uniform::<f32, _>(&s, &[10], Key::new(7).at(first)).unwrap();
        assert_eq!(y.to_vec(&s).unwrap(), due.to_vec(&s).unwrap());
    }
}

/// The host cannot read a placeholder.
#[test]
fn the_host_reaches_no_argument() {
    let s = Context::new(devarray_host::HostDevice::new()).unwrap().stream().unwrap();
    let mut u = Array::<f32, _>::zeros(&s, &[4]).unwrap();
    let recorded = s.record_work((&mut u,), |_, (mut u,)| {
        assert!(matches!(u.host_mut(), Err(Error::OutOfReach { operation: "host_mut", .. })));
        assert!(matches!(u.as_view().host(), Err(Error::OutOfReach { operation: "host", .. })));
        Ok(())
    });
    assert!(recorded.unwrap().is_empty());
}
