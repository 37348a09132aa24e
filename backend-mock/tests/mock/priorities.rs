//! Random priorities find mistakes that need a few steps in one order among many irrelevant steps.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::backend::{Device as _, Event as _, Stream as _};
use devarray_mock::{MockDevice, Schedule};

/// Returns whether all work of one stream ran before the first operation of another, among six streams: one order
/// of many steps.
fn is_unlucky(device: &MockDevice) -> bool {
    let streams = [(); 6].map(|()| device.open_stream().unwrap());
    let slow = streams[0].record().unwrap();
    let mut events = Vec::new();
    for _ in 0..12 {
        events = streams[1..].iter().map(|stream| stream.record().unwrap()).collect();
    }
    events[0].query().unwrap() && !slow.query().unwrap()
}

fn found(schedule: &Schedule, runs: u64) -> usize {
    let run = |&seed: &u64| is_unlucky(&MockDevice::builder().schedule(schedule.clone()).seed(seed).build());
    (0..runs).filter(run).count()
}

#[test]
fn one_order_among_many_is_met_as_often_as_promised() {
    let probe = MockDevice::builder().schedule(Schedule::Random).build();
    is_unlucky(&probe);
    let steps = probe.steps();
    let runs = 400;
    let by_priority = found(&Schedule::Priorities { depth: 2, steps }, runs);
    let by_chance = found(&Schedule::Random, runs);
    // The promised bound for two steps in one order: one run in (streams + the host) × steps.
    let promised = usize::try_from(runs / (7 * steps)).unwrap();
    println!(
        "{by_priority} by priority, {by_chance} by chance, {promised} promised, of {runs} ({steps} steps)"
    );
    assert!(by_priority >= promised.max(1), "{by_priority} < {promised}");
    assert!(by_priority > 10 * by_chance, "{by_priority} {by_chance}");
    // Fixed schedules never find it.
    for schedule in [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy] {
        assert_eq!(found(&schedule, 1), 0);
    }
}

#[test]
fn priorities_are_drawn_from_the_seed_and_repeated_with_the_trace() {
    let run = |schedule: Schedule, seed| {
        let device = MockDevice::builder().schedule(schedule).seed(seed).record_trace(true).build();
        let unlucky = is_unlucky(&device);
        (unlucky, device.trace_hash(), device.trace().unwrap())
    };
    let priorities = || Schedule::Priorities { depth: 3, steps: 20 };
    let hashes: std::collections::BTreeSet<u64> = (0..50).map(|seed| run(priorities(), seed).1).collect();
    assert!(hashes.len() > 25, "{} different runs of 50", hashes.len());
    for seed in 0..20 {
        let first = run(priorities(), seed);
        assert_eq!(run(priorities(), seed), first);
        assert_eq!(run(Schedule::Replay(first.2.clone()), 0), first);
    }
}

/// The number of priority changes is limited to what is possible.
#[test]
fn any_depth_and_any_number_of_steps_can_be_asked_for() {
    let schedule = Schedule::Priorities { depth: usize::MAX, steps: u64::MAX };
    let device = MockDevice::builder().schedule(schedule).seed(u64::MAX).build();
    let stream = devarray::Context::new(device).unwrap().stream().unwrap();
    assert_eq!(devarray::Array::<u8, _>::zeros(&stream, &[3]).unwrap().to_vec(&stream).unwrap(), [0; 3]);
}

/// The number after the largest device number is 0.
#[test]
fn devices_beside_the_one_of_the_highest_number_have_numbers_of_their_own() {
    let first = MockDevice::builder().ordinal(usize::MAX).build();
    let numbers = [first.sibling(), first.sibling(), first.sibling().sibling()]
        .map(|device| devarray::Device::info(&device).ordinal);
    assert_eq!(numbers, [0, 1, 3]);
}
