//! Tests schedules: each adversary shows its kind of mistake. A missing wait is seen, and its twin with
//! the wait never fails. The options of a run reproduce it, and so does its trace.

use devarray::{Layout, backend::Event, copy::Plan};
use devarray_mock::{MockDevice, Schedule, Trace};

use crate::support::{Host, PLAIN, Queue, builder, device, random, strided};

const LEN: usize = 64;

/// Fills on one stream and downloads on another, with or without a wait between them.
fn read_after_write(device: &MockDevice, wait: bool) -> Vec<u8> {
    let (one, two) = (Queue::open(device), Queue::open(device));
    let buffer = one.alloc(LEN);
    one.synchronize();
    one.fill(&buffer, 0, LEN, 1).expect(PLAIN);
    if wait {
        two.wait(&one.record());
    }
    two.bytes(device, &buffer, 0, LEN)
}

/// Downloads on one stream and overwrites on another, with or without a wait between them.
fn write_after_read(device: &MockDevice, wait: bool) -> Vec<u8> {
    let (one, two) = (Queue::open(device), Queue::open(device));
    let buffer = one.alloc(LEN);
    one.fill(&buffer, 0, LEN, 1).expect(PLAIN);
    one.synchronize();
    let host = Host::new(device, &[0; LEN]);
    one.download(&buffer, 0, &host).expect(PLAIN);
    if wait {
        two.wait(&one.record());
    }
    two.fill(&buffer, 0, LEN, 2).expect(PLAIN);
    one.synchronize();
    host.bytes()
}

const RIGHT: [u8; LEN] = [1; LEN];

#[test]
fn eager_hides_a_missing_wait() {
    for program in [read_after_write, write_after_read] {
        assert_eq!(program(&device(Schedule::Eager, 0), false), RIGHT);
    }
}

#[test]
fn lazy_shows_a_read_that_waits_for_nothing() {
    assert_ne!(read_after_write(&device(Schedule::Lazy, 0), false), RIGHT);
}

#[test]
fn reverse_lazy_shows_a_write_that_overtakes_a_reader() {
    assert_ne!(write_after_read(&device(Schedule::ReverseLazy, 0), false), RIGHT);
}

#[test]
fn random_seeds_show_a_missing_wait_and_never_a_present_one() {
    for program in [read_after_write, write_after_read] {
        let wrong = |wait| (0..300).filter(|&seed| program(&random(seed), wait) != RIGHT).count();
        assert!(wrong(false) >= 30, "a missing wait was seen by only {} of 300 seeds", wrong(false));
        assert_eq!(wrong(true), 0, "a present wait was not respected");
    }
    for schedule in [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy] {
        for program in [read_after_write, write_after_read] {
            assert_eq!(program(&device(schedule.clone(), 0), true), RIGHT);
        }
    }
}

/// Three streams that race, allocate, free and query, so that every kind of choice occurs.
fn busy(device: &MockDevice) -> Vec<u8> {
    let queues = [(); 3].map(|()| Queue::open(device));
    let shared = queues[0].alloc(LEN);
    queues[0].synchronize();
    let mut queries = Vec::new();
    for round in 0..12_u8 {
        for (index, queue) in queues.iter().enumerate() {
            let own = queue.alloc(16 << index);
            queue.fill(&shared, index * 8, 24, round).expect(PLAIN);
            queue.copy(&own, 0, &shared, index * 4, 16).expect(PLAIN);
            queue.copy(&shared, 48 - index * 8, &own, 0, 16).expect(PLAIN);
            queue.free(own).expect(PLAIN);
            let event = queue.record();
            queues[(index + 1) % 3].wait(&event);
            queries.push(u8::from(event.query().expect(PLAIN)));
        }
    }
    device.finish();
    queries.extend(queues[0].bytes(device, &shared, 0, LEN));
    queries
}

#[test]
fn a_seed_repeats_its_run() {
    let run = |seed| {
        let device = random(seed);
        (busy(&device), device.trace_hash())
    };
    let mut hashes: Vec<u64> = Vec::new();
    for seed in 0..50 {
        let (bytes, hash) = run(seed);
        assert_eq!((bytes, hash), run(seed));
        hashes.push(hash);
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 50, "seeds give different runs");
}

#[test]
fn a_trace_repeats_its_run() {
    for seed in 0..20 {
        let original = builder().schedule(Schedule::Random).seed(seed).record_trace(true).build();
        let bytes = busy(&original);
        let trace: Trace = original.trace().unwrap().to_string().parse().unwrap();
        let replay = builder().schedule(Schedule::Replay(trace.clone())).record_trace(true).build();
        assert_eq!(busy(&replay), bytes);
        assert_eq!(replay.trace_hash(), original.trace_hash());
        assert_eq!(replay.trace(), Some(trace));
    }
}

#[test]
fn traces_are_kept_only_when_asked_for() {
    assert_eq!(random(0).trace(), None);
}

#[test]
fn lazy_runs_only_what_a_wait_needs() {
    let device = MockDevice::new();
    let (one, two) = (Queue::open(&device), Queue::open(&device));
    let buffer = one.alloc(LEN);
    one.fill(&buffer, 0, 1, 1).unwrap();
    let event = one.record();
    one.fill(&buffer, 1, 1, 1).unwrap();
    two.fill(&buffer, 2, 1, 1).unwrap();
    assert_eq!(device.statistics().executed.fills.count, 0);
    assert_eq!(event.synchronize(), devarray::backend::Quiesced::Done);
    assert_eq!(device.statistics().executed.fills.count, 1);
    one.synchronize();
    assert_eq!(device.statistics().executed.fills.count, 2);
    device.finish();
    assert_eq!(device.statistics().executed.fills.count, 3);
    assert_eq!(device.statistics().enqueued, device.statistics().executed);
}

#[test]
fn lazy_runs_the_oldest_work_first() {
    let device = MockDevice::new();
    let (one, two) = (Queue::open(&device), Queue::open(&device));
    let buffer = one.alloc(1);
    one.synchronize();
    two.fill(&buffer, 0, 1, 1).unwrap();
    one.fill(&buffer, 0, 1, 2).unwrap();
    device.finish();
    assert_eq!(one.bytes(&device, &buffer, 0, 1), [2]);
}

#[test]
fn a_query_that_is_not_ready_makes_one_step() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    let buffer = queue.alloc(LEN);
    queue.fill(&buffer, 0, LEN, 1).unwrap();
    let event = queue.record();
    let answers: Vec<bool> = (0..5).map(|_| event.query().unwrap()).collect();
    assert_eq!(answers, [false, false, false, true, true]);
    assert_eq!(device.statistics().queries, 5);
}

#[test]
fn a_strided_copy_and_a_fill_are_right_however_they_are_torn() {
    let rows =
        |shape: [usize; 2], strides: [isize; 2], offset| Layout::new(&shape, &strides, offset).unwrap();
    let (dst, src) = (rows([5, 3], [4, 1], 2), rows([5, 3], [-1, 5], 4));
    let fill = rows([3, 2], [7, 3], 1);
    let transposed: Plan = strided(&dst, &src, 2);
    let filled: Plan = strided(&fill, &fill, 2);
    let source: Vec<u8> = (100..130).collect();

    let mut expected = vec![0; 48];
    for (i, j) in (0..5).flat_map(|i| (0..3).map(move |j| (i, j))) {
        let (to, from) = (2 * (2 + 4 * i + j), 2 * (4 - i + 5 * j));
        expected[to..to + 2].copy_from_slice(&source[from..from + 2]);
    }
    for (i, j) in (0..3).flat_map(|i| (0..2).map(move |j| (i, j))) {
        let to = 2 * (1 + 7 * i + 3 * j);
        expected[to..to + 2].copy_from_slice(&[1, 2]);
    }
    for seed in 0..300 {
        let device = random(seed);
        let queue = Queue::open(&device);
        let (to, from) = (queue.alloc(48), queue.alloc(30));
        let host = Host::new(&device, &source);
        queue.fill(&to, 0, 48, 0).unwrap();
        queue.upload(&from, 0, &host).unwrap();
        queue.copy_plan(&to, &from, &transposed).unwrap();
        queue.fill_plan(&to, &filled, &[1, 2]).unwrap();
        assert_eq!(queue.bytes(&device, &to, 0, 48), expected, "seed {seed}");
    }
}
