//! Proves on a real device that gathers and puts give the elements that the simulator gives, and
//! times them.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_gathers:: --nocapture
//! --test-threads 1`.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "common/gathers.rs"]
mod gathers;

use devarray::{
    Array, Bool, Context, Error, Result, StreamHandle,
    function::Operands,
    gather::{OutOfRange, Repeats},
    layout::Slice,
};
use devarray_conformance::{Harness, Rng};
use devarray_cuda::CudaDevice;
use gathers::{compare, signed};

fn open() -> CudaDevice {
    CudaDevice::open(0).expect("a CUDA device is needed")
}

fn stream() -> StreamHandle<CudaDevice> {
    Context::new(open()).unwrap().stream().unwrap()
}

/// Reads a number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn every_law_with_many_cases() {
    for law in devarray_conformance::gathers() {
        let cases = usize::try_from(number("CASES", 2000)).unwrap();
        let harness = Harness::new(|| Ok::<_, Error>(open())).with_cases(cases).with_seed(number("SEED", 1));
        assert!(law.applies(&harness), "{}", law.full_name());
        assert_eq!(law.check(&harness), Ok(()), "{}", law.full_name());
        println!("{}: kept", law.full_name());
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn random_programs_are_the_simulators() {
    let card = stream();
    for which in number("FIRST", 0)..number("FIRST", 0) + number("PROGRAMS", 600) {
        compare(&card, which, &[6, 40, 200]);
    }
    assert_eq!(card.context().take_errors(), []);
}

/// Every index is wrong, in operations of two streams. Each wait on a stream reports one operation of
/// that stream, in order, with its first index.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn many_wrong_indices_at_once() {
    let context = Context::new(open()).unwrap();
    let streams = [context.stream().unwrap(), context.stream().unwrap()];
    let x = Array::<f32, _>::zeros(&streams[0], &[1000]).unwrap();
    let wrong: Vec<i64> = (0..4_000_000).map(|at| 1000 + at).collect();
    let by = Array::from_slice(&streams[0], &[wrong.len()], &wrong).unwrap();
    streams[0].synchronize().unwrap();
    // The second stream begins at another index, so that its errors differ from the first stream's.
    let all = [by.view(), by.slice_axis(0, 7..).unwrap()];
    for round in 0..20 {
        let mut taken = Vec::new();
        for _ in 0..3 {
            for (stream, by) in streams.iter().zip(&all) {
                taken.push(x.take(stream, by, 0, OutOfRange::Error).unwrap());
            }
        }
        // The first or the second stream is waited for first, in turn.
        let mut order = [(0, 1000), (1, 1007)];
        order.rotate_left(round % 2);
        for (stream, first) in order {
            for _ in 0..3 {
                let told = streams[stream].synchronize();
                let is_due = matches!(&told, Err(Error::Index { error, .. }) if error.position == 0 && error.value == first);
                assert!(is_due, "round {round}, stream {stream}: {told:?}");
            }
            streams[stream].synchronize().unwrap();
        }
        assert!(taken[1].to_vec(&streams[1]).unwrap().iter().all(|x| *x == 0.0));
    }
}

/// Enqueues many wrong operations before the first wait. Each wait then reports one of them, in order.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn many_wrong_operations_before_a_wait() {
    gathers::tells_of_many(&stream(), 3000);
}

/// Picks from an array whose axes do not join and are more than one launch takes.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn an_array_of_very_many_axes() {
    gathers::picks_from_very_many_axes(&stream());
}

/// Selects in several launches: each launch continues where the launch before it ended.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_selection_of_several_launches() {
    let stream = stream();
    let len = (1 << 31) + 12_345;
    let end = i64::try_from(len).unwrap();
    let mut mask = Array::full(&stream, &[len], Bool::TRUE).unwrap();
    mask.view_mut().slice_axis(0, Slice::from(..).step_by(3)).unwrap().fill(&stream, Bool::FALSE).unwrap();
    let numbers = |count: i64| Array::<i64, _>::arange(&stream, 0, count, 1).unwrap();
    let x = numbers(end).map(&stream, |x| x.remainder(251).cast::<u8>()).unwrap();
    let found = x.extract(&stream, &mask).unwrap();
    // The test selects the second and the third of every three numbers.
    let kept = end - (end + 2) / 3;
    assert_eq!(found.shape(), [usize::try_from(kept).unwrap()]);
    let due = numbers(kept);
    let same = (&due, &found)
        .map(&stream, |(x, found)| (x + x.floor_divide(2) + 1).remainder(251).cast::<u8>().equal(found))
        .unwrap();
    assert!(bool::from(same.all(&stream, ..).unwrap().item(&stream).unwrap()));
}

/// The time of a call in microseconds, in the fastest of several batches of five calls.
fn time(stream: &StreamHandle<CudaDevice>, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    const CALLS: usize = 5;
    work()?;
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let start = stream.record_timed()?;
        for _ in 0..CALLS {
            work()?;
        }
        let end = stream.record_timed()?;
        end.event().synchronize()?;
        let time = end.elapsed_since(&start)?.unwrap_or_default();
        best = best.min(time.as_secs_f64() / CALLS as f64);
    }
    Ok(best * 1e6)
}

/// Prints bytes per second, read and written, indices included, beside the speed of a copy: lines of
/// JSON for `bench/record.py`.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn speeds() {
    let stream = stream();
    const BYTES: usize = 512 << 20;
    let from = Array::<f32, _>::zeros(&stream, &[BYTES / 4]).unwrap();
    let mut to = Array::<f32, _>::zeros(&stream, &[BYTES / 4]).unwrap();
    let memcpy = time(&stream, || to.view_mut().copy_from(&stream, &from)).unwrap();
    let memcpy_gbps = 2.0 * BYTES as f64 / memcpy / 1e3;
    // The test runner has printed the beginning of this line, so that it must end first.
    println!();
    let show = |what: &str, bytes: usize, us: f64| {
        let gbps = bytes as f64 / us / 1e3;
        let ratio = gbps / memcpy_gbps;
        println!(
            r#"{{"case":"{what}","bytes":{bytes},"us":{us:.2},"gbps":{gbps:.1},"memcpy_gbps":{memcpy_gbps:.1},"ratio":{ratio:.4}}}"#
        );
    };
    let mut rng = Rng::new(7);
    for row_bytes in [16, 64, 128, 256, 512, 1024, 1000, 4096, 65536] {
        let rows = BYTES / row_bytes;
        let table = from.slice_axis(0, ..(rows * row_bytes / 4).cast_signed()).unwrap();
        let table = table.reshape(&[rows, row_bytes / 4], devarray::Order::C).unwrap();
        let mut into = to.view_mut().slice_axis(0, ..(rows * row_bytes / 4).cast_signed()).unwrap();
        let mut into = into.reborrow().reshape(&[rows, row_bytes / 4], devarray::Order::C).unwrap();
        let indices: Vec<i64> = (0..rows).map(|_| signed(rng.below(rows))).collect();
        let by = Array::from_slice(&stream, &[rows], &indices).unwrap();
        for (mode, name) in [(OutOfRange::Error, "error"), (OutOfRange::Wrap, "wrap")] {
            let took = time(&stream, || table.take_into(&stream, &by, 0, mode, &mut into)).unwrap();
            show(&format!("take, rows of {row_bytes} B, {name}"), rows * (2 * row_bytes + 8), took);
        }
        let order: Vec<i64> = (0..rows).rev().map(signed).collect();
        let by = Array::from_slice(&stream, &[rows], &order).unwrap();
        for (repeats, name) in [(Repeats::None, "none twice"), (Repeats::Last, "last stays")] {
            let took =
                time(&stream, || into.put(&stream, &by, &table, 0, OutOfRange::Error, repeats)).unwrap();
            show(&format!("put, rows of {row_bytes} B, {name}"), rows * (2 * row_bytes + 8), took);
        }
    }
    let len = BYTES / 8;
    let near: Vec<i32> = (0..len).map(|at| i32::try_from(at ^ 5).unwrap()).collect();
    let by = Array::from_slice(&stream, &[len], &near).unwrap();
    let source = from.slice_axis(0, ..len.cast_signed()).unwrap();
    let mut into = to.view_mut().slice_axis(0, ..len.cast_signed()).unwrap();
    let took = time(&stream, || source.take_into(&stream, &by, 0, OutOfRange::Error, &mut into)).unwrap();
    show("take, f32 by near i32", len * 12, took);
    let table = source.reshape(&[len / 1024, 1024], devarray::Order::C).unwrap();
    let inside: Vec<i32> = (0..len).map(|at| i32::try_from((at * 7) % 1024).unwrap()).collect();
    let by = Array::from_slice(&stream, &[len / 1024, 1024], &inside).unwrap();
    let mut square = into.reborrow().reshape(&[len / 1024, 1024], devarray::Order::C).unwrap();
    let took = time(&stream, || table.take_along_axis_into(&stream, &by, 1, OutOfRange::Error, &mut square))
        .unwrap();
    show("take_along_axis, f32 in rows of 1,024", len * 12, took);
    for (of, name) in [(2, "every other f32"), (16, "one f32 of 16"), (1, "all f32")] {
        let mask: Vec<Bool> = (0..len).map(|_| Bool::from(rng.below(of) == 0)).collect();
        let kept = mask.iter().filter(|chosen| bool::from(**chosen)).count();
        let mask = Array::from_slice(&stream, &[len], &mask).unwrap();
        let mut count = Array::zeros(&stream, &[]).unwrap();
        let took =
            time(&stream, || source.extract_into(&stream, &mask, &mut into, &mut count.view_mut())).unwrap();
        show(&format!("extract_into, {name}"), len + kept * 8, took);
        let took = time(&stream, || source.extract(&stream, &mask).map(drop)).unwrap();
        show(&format!("extract, {name}"), len + kept * 8, took);
    }
    let small = Array::from_slice(&stream, &[1000], &(0..1000).collect::<Vec<i32>>()).unwrap();
    let mut few = Array::<f32, _>::zeros(&stream, &[1000]).unwrap();
    let took = time(&stream, || source.take_into(&stream, &small, 0, OutOfRange::Error, &mut few.view_mut()))
        .unwrap();
    show("take, 1,000 f32", 1000 * 12, took);
}
