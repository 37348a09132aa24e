//! Queued work is bounded: beyond the limit, the oldest operations run. They run in an order that the streams
//! allow, and in the same order in every run.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, Result, backend::Device as _, function::Operands as _};
use devarray_mock::{Builder, Code, MockDevice, Schedule, Trace};

use crate::support::{PLAIN, Queue, builder, every_schedule};

/// Fills one byte after another, on streams in turn, without any wait.
fn fills(device: &MockDevice, count: usize) {
    let queues = [0; 3].map(|_| Queue::open(device));
    let buffers = queues.each_ref().map(|queue| queue.alloc(8));
    for at in 3..count {
        queues[at % 3].fill(&buffers[at % 3], at % 8, 1, 1).expect(PLAIN);
    }
    std::mem::forget(buffers);
}

/// Enqueues `count` operations on three streams. Returns those that have run, in their order.
fn ran(options: Builder, count: usize) -> Vec<u64> {
    let device = options.record_order(true).build();
    fills(&device, count);
    device.order().unwrap()
}

#[test]
fn beyond_the_limit_the_oldest_run_in_the_order_of_their_calls() {
    for (limit, runs) in [(0, 100), (1, 99), (64, 36), (99, 1), (100, 0), (usize::MAX, 0)] {
        for schedule in [Schedule::Lazy, Schedule::ReverseLazy] {
            let order = ran(builder().schedule(schedule).most_queued(limit), 100);
            assert_eq!(order, (0..runs).collect::<Vec<u64>>(), "{limit}");
        }
    }
    assert_eq!(ran(builder(), 5000).len(), 5000 - 4096, "without an option");
    assert_eq!(ran(builder(), 4096).len(), 0);
}

/// Runs work on streams that wait for each other, with copies in pieces. Returns the resulting
/// elements.
fn relay(device: MockDevice) -> Result<Vec<i32>> {
    let context = Context::new(device)?;
    let streams = [context.stream()?, context.stream()?, context.stream()?];
    let mut x = Array::from_slice(&streams[0], &[16], &(0..16).collect::<Vec<i32>>())?;
    let mut y = Array::zeros(&streams[1], &[16])?;
    for (at, stream) in streams.iter().cycle().take(60).enumerate() {
        let (from, mut to) = if at % 2 == 0 { (x.view(), y.view_mut()) } else { (y.view(), x.view_mut()) };
        match at % 3 {
            0 => to.copy_from(stream, &from.flip(&[0])?)?,
            _ => (&from, 3).map_into(stream, &mut to, |(x, k)| x * k + 1)?,
        }
        // Allocates and frees memory, too.
        drop(Array::full(stream, &[4], at)?);
    }
    x.to_vec(&streams[2])
}

#[test]
fn values_findings_and_leaks_are_the_same_with_any_limit() {
    let due = relay(builder().schedule(Schedule::Eager).build()).unwrap();
    for (schedule, seed) in every_schedule() {
        for limit in [0, 2, 30] {
            let device = builder().schedule(schedule.clone()).seed(seed).most_queued(limit).build();
            assert_eq!(relay(device.clone()), Ok(due.clone()), "{schedule:?} {seed} {limit}");
            assert!(device.report().is_clean(), "{schedule:?} {seed} {limit}: {}", device.report());
        }
    }
}

/// Runs the program with these options, and returns the hash, the order and the trace of the run.
fn run(options: Builder) -> (u64, Option<Vec<u64>>, Trace) {
    let device = options.record_trace(true).record_order(true).build();
    relay(device.clone()).unwrap();
    (device.trace_hash(), device.order(), device.trace().unwrap())
}

#[test]
fn a_seed_and_a_trace_give_the_same_run_again() {
    let mut hashes = std::collections::BTreeSet::new();
    for limit in [0, 1, 5, 20] {
        for seed in 0..6 {
            let options = || builder().schedule(Schedule::Random).seed(seed).most_queued(limit);
            let (hash, order, trace) = run(options());
            assert_eq!(run(options()), (hash, order.clone(), trace.clone()), "{limit} {seed}");
            let replay = run(builder().schedule(Schedule::Replay(trace.clone())).most_queued(limit));
            assert_eq!(replay, (hash, order, trace), "{limit} {seed}");
            hashes.insert(hash);
        }
    }
    assert!(hashes.len() > 18, "limits and seeds make different runs: {}", hashes.len());
}

/// Without any choice, a replay runs all operations in the order of the eager schedule.
#[test]
fn a_run_without_choices_is_the_eager_one() {
    let benign = run(builder().schedule(Schedule::Replay(Trace::default())).most_queued(3));
    assert_eq!(benign.1, run(builder().schedule(Schedule::Eager)).1);
}

/// A missing wait is found even if the queue is short. Allocations and frees without a wait take no more
/// memory than the queue.
#[test]
fn the_judge_and_the_memory_of_what_never_waits() {
    for limit in [0, 3, usize::MAX] {
        let device = builder().most_queued(limit).build();
        let (one, two) = (Queue::open(&device), Queue::open(&device));
        let buffer = one.alloc(8);
        one.synchronize();
        one.fill(&buffer, 0, 8, 1).expect(PLAIN);
        two.fill(&buffer, 0, 8, 2).expect(PLAIN);
        let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::Race], "{limit}");
        one.free(buffer).expect(PLAIN);
    }
    for (limit, most_bytes) in [(32, 1000 * 32), (usize::MAX, 1000 * 300)] {
        let device = builder().most_queued(limit).build();
        let queue = Queue::open(&device);
        let mut least = usize::MAX;
        for _ in 0..300 {
            queue.free(queue.alloc(1000)).expect(PLAIN);
            least = least.min(device.memory().unwrap().free_bytes);
        }
        let used = device.memory().unwrap().total_bytes - least;
        assert!(used <= most_bytes && used > most_bytes / 4, "{limit}: {used}");
    }
}

/// An operation that runs early because the queue is full loses the device, and later calls report this.
#[test]
fn what_is_run_within_a_call_may_lose_the_device() {
    let device = builder().most_queued(4).faults("fill#2=torn".parse().expect("a plan")).build();
    let queue = Queue::open(&device);
    let buffer = queue.alloc(8);
    let answers: Vec<bool> = (0..12).map(|at| queue.fill(&buffer, at % 8, 1, 1).is_ok()).collect();
    let first = answers.iter().position(|done| !done).expect("the device is lost");
    assert!((3..12).contains(&first) && answers[first..].iter().all(|done| !done), "{answers:?}");
    std::mem::forget(buffer);
    // The twin: if the queue can hold all operations, nothing runs, and the device is not lost before a
    // wait.
    let device = builder().most_queued(100).faults("fill#2=torn".parse().expect("a plan")).build();
    let queue = Queue::open(&device);
    let buffer = queue.alloc(8);
    assert!((0..12).all(|at| queue.fill(&buffer, at % 8, 1, 1).is_ok()));
    std::mem::forget(buffer);
}
