//! Order on hardware: programs that are right with hazard tracking, and go wrong without it.
//!
//! Copies of large arrays keep a stream busy, so that later work on it runs long after the work of
//! other streams.
#![allow(unsafe_code)] // opens unchecked streams for the twins that must fail
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use devarray::{Array, ArrayView, Context, Order, StreamHandle};
use devarray_cuda::{CudaDevice, driver::Function};

type Stream = StreamHandle<CudaDevice>;

const LEN: usize = 1 << 16;

struct Bench {
    context: Context<CudaDevice>,
    setup: Stream,
    /// 256 MiB each: copying one to the other takes a fifth of a millisecond.
    large: [Array<u8, CudaDevice>; 2],
}

impl Bench {
    fn new() -> Self {
        let context = Context::new(CudaDevice::open(0).unwrap()).unwrap();
        let setup = context.stream().unwrap();
        let large = [0, 1].map(|k| Array::full(&setup, &[256 << 20], k).unwrap());
        // Loads the kernels now, not while something is meant to be late.
        let square = Array::<u16, _>::zeros(&setup, &[256, 256]).unwrap();
        drop(square.view().transpose().to_contiguous(&setup, Order::C).unwrap());
        setup.synchronize().unwrap();
        Self { context, setup, large }
    }

    /// Keeps a stream busy for tens of milliseconds.
    fn delay(&mut self, stream: &Stream) {
        let [to, from] = &mut self.large;
        for _ in 0..200 {
            to.view_mut().copy_from(stream, &from.view()).unwrap();
        }
    }

    fn open(&self, tracked: bool) -> Stream {
        if tracked {
            return self.context.stream().unwrap();
        }
        // SAFETY: deliberately unordered; every access stays inside live arrays, so only the bytes
        // come out wrong.
        unsafe { self.context.unchecked_stream().unwrap() }
    }
}

/// Two streams read, the first of them late; a third writes. Whether both readers got the old
/// bytes.
fn late_reader_is_waited_for(tracked: bool) -> bool {
    let mut bench = Bench::new();
    let mut a = Array::full(&bench.setup, &[LEN], 7_u8).unwrap();
    let nines = Array::full(&bench.setup, &[LEN], 9_u8).unwrap();
    let mut late = Array::zeros(&bench.setup, &[LEN]).unwrap();
    let mut early = Array::zeros(&bench.setup, &[LEN]).unwrap();
    bench.setup.synchronize().unwrap();
    let [first, second, writer] = [(); 3].map(|()| bench.open(tracked));
    bench.delay(&first);
    late.view_mut().copy_from(&first, &a.view()).unwrap();
    early.view_mut().copy_from(&second, &a.view()).unwrap();
    a.view_mut().copy_from(&writer, &nines.view()).unwrap();
    for stream in [&first, &second, &writer] {
        stream.synchronize().unwrap();
    }
    let all = |array: &Array<u8, CudaDevice>| array.to_vec(&bench.setup).unwrap().iter().all(|&x| x == 7);
    all(&late) && all(&early)
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_writer_waits_for_every_reader() {
    for round in 0..20 {
        assert!(late_reader_is_waited_for(true), "round {round}");
    }
    let lost = (0..20).filter(|_| !late_reader_is_waited_for(false)).count();
    println!("without tracking the race was lost {lost} of 20 times");
    assert!(lost > 0, "the program has no race to lose");
}

/// A late writer, and a reader on another stream. Whether the reader got the new bytes.
fn late_writer_is_waited_for(tracked: bool) -> bool {
    let mut bench = Bench::new();
    let mut a = Array::zeros(&bench.setup, &[256, 256]).unwrap();
    bench.setup.synchronize().unwrap();
    let (writer, reader) = (bench.open(tracked), bench.open(tracked));
    bench.delay(&writer);
    a.view_mut().fill(&writer, 5_u16).unwrap();
    let copy = a.view().transpose().to_contiguous(&reader, Order::C).unwrap();
    reader.synchronize().unwrap();
    writer.synchronize().unwrap();
    copy.to_vec(&bench.setup).unwrap().iter().all(|&x| x == 5)
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_reader_waits_for_the_writer() {
    assert!((0..5).all(|_| late_writer_is_waited_for(true)));
    assert!((0..5).any(|_| !late_writer_is_waited_for(false)), "the program has no race to lose");
}

/// The freed memory is given out again at once: a reader that is still running would see somebody
/// else's bytes.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn a_free_waits_for_readers_of_other_streams() {
    let mut bench = Bench::new();
    for _ in 0..10 {
        let (home, reader) = (bench.open(true), bench.open(true));
        let a = Array::full(&home, &[LEN], 3_u8).unwrap();
        let mut kept = Array::zeros(&reader, &[LEN]).unwrap();
        bench.delay(&reader);
        kept.view_mut().copy_from(&reader, &a.view()).unwrap();
        drop(a);
        let again = Array::full(&home, &[LEN], 8_u8).unwrap();
        assert!(kept.to_vec(&reader).unwrap().iter().all(|&x| x == 3));
        drop(again);
    }
}

/// The last stream of a context is dropped with its work in flight; nothing forgets that work.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn work_of_a_dropped_stream_is_still_waited_for() {
    let mut bench = Bench::new();
    let writer = bench.open(true);
    let mut a = Array::zeros(&bench.setup, &[LEN]).unwrap();
    bench.delay(&writer);
    a.view_mut().fill(&writer, 6_u8).unwrap();
    drop(writer);
    assert!(a.to_vec(&bench.setup).unwrap().iter().all(|&x| x == 6));
    assert_eq!(bench.context.take_errors(), []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn one_stream_costs_no_driver_call_beyond_the_work() {
    let bench = Bench::new();
    let driver = bench.context.device().driver();
    let stream = bench.open(true);
    let _other = bench.open(true);
    let a = Array::full(&stream, &[LEN], 1_u8).unwrap();
    let mut b = Array::zeros(&stream, &[LEN]).unwrap();
    stream.synchronize().unwrap();
    let tracked =
        [Function::EventCreate, Function::EventRecord, Function::StreamWaitEvent, Function::EventQuery];
    let before: Vec<u64> = tracked.iter().map(|&f| driver.calls(f)).collect();
    let (total, copies) = (driver.total_calls(), driver.calls(Function::MemcpyDtoDAsync));
    for _ in 0..100 {
        b.view_mut().copy_from(&stream, &a.view()).unwrap();
    }
    let after: Vec<u64> = tracked.iter().map(|&f| driver.calls(f)).collect();
    assert_eq!(before, after);
    assert_eq!(driver.calls(Function::MemcpyDtoDAsync) - copies, 100);
    // One call to bind the context, one to copy.
    assert_eq!(driver.total_calls() - total, 200);
}

/// An array made on one thread is dropped on another, on which no context was ever current.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn arrays_are_dropped_on_any_thread() {
    let bench = Bench::new();
    let a = Array::full(&bench.setup, &[LEN], 1_u8).unwrap();
    std::thread::spawn(move || drop(a)).join().unwrap();
    assert_eq!(bench.context.take_errors(), []);
    assert_eq!(bench.context.device().take_errors(), []);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn host_memory_in_every_form_is_right_while_the_stream_is_late() {
    let mut bench = Bench::new();
    let stream = bench.open(true);
    let data: Vec<u32> = (0..LEN as u32).collect();
    let mut a = Array::zeros(&stream, &[256, 256]).unwrap();
    bench.delay(&stream);
    a.view_mut().copy_from_slice(&stream, &data).unwrap(); // borrowed: free at once
    let turned = |view: ArrayView<'_, u32, CudaDevice>| view.transpose().to_vec(&stream).unwrap();
    let expected: Vec<u32> = (0..LEN as u32).map(|k| k % 256 * 256 + k / 256).collect();
    assert_eq!(turned(a.view()), expected);

    bench.delay(&stream);
    let copy = a.view().transpose().download(&stream, bench.context.pinned(LEN).unwrap()).unwrap();
    assert!(!copy.is_done().unwrap(), "the stream is busy");
    assert_eq!(copy.wait().unwrap()[..], expected);

    bench.delay(&stream);
    drop(a.view().download(&stream, bench.context.pinned(LEN).unwrap()).unwrap());
    std::mem::forget(a.view().download(&stream, bench.context.pinned(LEN).unwrap()).unwrap());

    let mut out = vec![0; LEN];
    bench.delay(&stream);
    stream.scope(|s| s.download(&a.view().transpose(), &mut out)).unwrap().unwrap();
    assert_eq!(out, expected);
    assert_eq!(bench.context.take_errors(), []);
}
