//! The reduced search reaches every outcome that the whole search reaches, in fewer runs.

use std::{cell::RefCell, collections::BTreeSet};

use devarray::{Array, Context};
use serde_json::json;

use super::{Explore, Search};
use crate::{MockDevice, Schedule, Trace, program::Program, rng::SplitMix64};
use devarray::backend::{Device as _, Event as _, Stream as _};

/// The most runs of the whole search for a program.
const MOST_RUNS: usize = 1000;

/// The outcomes of a search, and the number of its runs; none if it needs too many.
fn outcomes<O: Ord>(search: Search, run: impl Fn(&MockDevice) -> O) -> Option<(BTreeSet<O>, usize)> {
    outcomes_within(MOST_RUNS, search, run)
}

fn outcomes_within<O: Ord>(
    most_runs: usize,
    mut search: Search,
    run: impl Fn(&MockDevice) -> O,
) -> Option<(BTreeSet<O>, usize)> {
    let (mut seen, mut next) = (BTreeSet::new(), Some(Trace::default()));
    for runs in 0..most_runs {
        let Some(trace) = next else { return Some((seen, runs)) };
        let device = MockDevice::builder()
            .schedule(Schedule::Replay(trace))
            .record_trace(true)
            // Wrong programs run to their end.
            .judge(false)
            .build();
        device.shared().engine().record_history();
        seen.insert(run(&device));
        device.finish();
        let trace = device.trace().unwrap_or_default();
        let history = device.shared().engine().history().to_vec();
        next = search.next(&history, &trace);
    }
    None
}

/// A random program of few operations on up to three streams, with or without the waits that it
/// needs.
fn program(seed: u64, most_ops: usize) -> Program {
    let mut rng = SplitMix64::new(seed);
    let streams = 2 + rng.below(2);
    let (mut ops, mut recorded) = (Vec::new(), 0);
    for value in 1..=most_ops {
        let stream = rng.below(streams);
        let at = rng.below(3) * 2;
        ops.push(match rng.below(7) {
            0 => json!({"do": "fill", "stream": stream, "buf": "b0", "off": 0, "len": 8, "value": value}),
            1 | 2 => {
                let buffer = ["b0", "b1"][rng.below(2)];
                json!({"do": "fill", "stream": stream, "buf": buffer, "off": at, "len": 2, "value": value})
            }
            3 => json!({"do": "copy", "stream": stream, "src": "b0", "src_off": at, "dst": "b1", "dst_off": rng.below(3) * 2, "len": 2}),
            4 => {
                let buffer = ["b0", "b1"][rng.below(2)];
                json!({"do": "download", "stream": stream, "src": buffer, "src_off": at, "host": "h0", "host_off": at, "len": 2})
            }
            5 => {
                recorded += 1;
                json!({"do": "record", "stream": stream, "event": recorded - 1})
            }
            _ if recorded > 0 => json!({"do": "wait", "stream": stream, "event": rng.below(recorded)}),
            _ => json!({"do": "sync_stream", "stream": stream}),
        });
    }
    // The outcome is everything that can be observed: both buffers and the host's own memory.
    for (buffer, at) in [("b0", 8), ("b1", 16)] {
        ops.push(json!({"do": "download", "stream": 0, "src": buffer, "src_off": 0, "host": "h0", "host_off": at, "len": 8}));
    }
    ops.push(json!({"do": "sync_device"}));
    let program = json!({
        "id": "random", "streams": streams, "events": recorded,
        "buffers": [{"id": "b0", "bytes": 8, "init": true}, {"id": "b1", "bytes": 8, "init": true}],
        "hosts": [{"id": "h0", "bytes": 24}],
        "ops": ops,
    });
    Program::parse(program.to_string().as_bytes()).expect("a program of the format")
}

/// Compares the searches for random programs, except those for which the whole search is too large.
/// Returns the number of programs, and how many of them had several outcomes.
fn compare(programs: u64, most_runs: usize) -> (usize, usize) {
    let (mut compared, mut wrong, mut all_runs, mut few_runs) = (0, 0, 0, 0);
    for seed in 0..programs {
        let program = program(seed, 3 + usize::try_from(seed % 3).unwrap_or(0));
        let play = |device: &MockDevice| program.play_on_mock(device).expect("small").expect("not judged");
        let Some((all, runs)) = outcomes_within(most_runs, Search::whole(), play) else { continue };
        let (few, reduced) =
            outcomes_within(most_runs, Search::reduced(), play).expect("fewer runs than with all");
        assert_eq!(all, few, "seed {seed}: {program:?}");
        compared += 1;
        wrong += usize::from(all.len() > 1);
        all_runs += runs;
        few_runs += reduced;
    }
    println!(
        "{compared} programs compared, {wrong} with several outcomes: {all_runs} runs, reduced to {few_runs}"
    );
    assert!(few_runs * 10 < all_runs, "{few_runs} of {all_runs}");
    (compared, wrong)
}

#[test]
fn every_outcome_of_programs_right_or_wrong() {
    let (compared, wrong) = compare(60, 1000);
    assert!(compared >= 8 && wrong >= 4, "{compared} {wrong}");
}

#[test]
#[ignore = "takes minutes: cargo test --release -p devarray-mock --lib exhaustive -- --ignored --nocapture"]
fn every_outcome_of_many_programs() {
    let (compared, wrong) = compare(300, 30_000);
    assert!(compared > 200 && wrong > 100, "{compared} {wrong}");
}

/// The answers to a program's queries also differ.
#[test]
fn every_answer_to_queries() {
    let ask = |device: &MockDevice| {
        let streams = [(); 2].map(|()| device.open_stream().unwrap());
        let events = streams.each_ref().map(|stream| stream.record().unwrap());
        let later = streams[0].record().unwrap();
        [&events[0], &events[1], &later, &events[0]].map(|event| event.query().unwrap())
    };
    let (few, runs) = outcomes(Search::reduced(), ask).unwrap();
    let (all, all_runs) = outcomes(Search::whole(), ask).unwrap();
    assert_eq!(few, all);
    // The first answers are open; a query that returns false takes a step.
    assert_eq!(few.len(), 8, "{few:?}");
    assert!(runs * 2 < all_runs, "{runs} of {all_runs}");
}

#[test]
fn what_only_one_order_shows_is_found_and_a_limit_is_kept() {
    // Panics only if the first of three events is done and the second, on another stream, is not.
    let picky = |device: MockDevice| {
        let context = Context::new(device).unwrap();
        let streams = [(); 3].map(|()| context.stream().unwrap());
        let events = streams.each_ref().map(|stream| {
            let _ = Array::full(stream, &[2], 1_u8).unwrap();
            stream.record().unwrap()
        });
        let done = events.map(|event| event.query().unwrap());
        assert!(done != [false, true, false], "the one order");
    };
    let failure = Explore::new().exhaustive(100_000, picky).unwrap_err();
    assert!(failure.to_string().starts_with("the program panicked: the one order"), "{failure}");
    let asked = RefCell::new(0);
    let limited = Explore::new().exhaustive(3, |device| {
        *asked.borrow_mut() += 1;
        Context::new(device).unwrap().stream().unwrap().record().unwrap().query().unwrap()
    });
    let exhausted = limited.unwrap();
    assert_eq!((exhausted.is_complete, exhausted.runs), (true, *asked.borrow()), "two answers");
    assert!(
        !Explore::new()
            .exhaustive(1, |device| Context::new(device)
                .unwrap()
                .stream()
                .unwrap()
                .record()
                .unwrap()
                .query()
                .unwrap())
            .unwrap()
            .is_complete
    );
}

#[test]
fn a_program_without_a_race_has_one_order() {
    let ordered = Explore::new().exhaustive(10, |device| {
        let context = Context::new(device).unwrap();
        let streams = [(); 3].map(|()| context.stream().unwrap());
        for stream in &streams {
            let a = Array::full(stream, &[8], 1_u8).unwrap();
            for stream in &streams {
                let _ = a.view().to_contiguous(stream, devarray::Order::C).unwrap();
            }
        }
    });
    let exhausted = ordered.unwrap();
    assert_eq!((exhausted.runs, exhausted.is_complete), (1, true));
}
