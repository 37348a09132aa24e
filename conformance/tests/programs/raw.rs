//! Raw stream programs on the simulator: right as they are drawn, and wrong without a wait that
//! they need.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::{collections::HashMap, fs};

use devarray_conformance::programs::{
    MOST_OPS, Search,
    raw::{Act, Join, Program, bytes, op, programs},
};
use devarray_mock::{
    MockDevice, Schedule,
    program::{self, Expect, Verdict},
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use serde_json::Value;

use super::{SCHEDULES, in_blocks, number};

/// The verdict by brute force, which shares nothing with the model or with the simulator's judge.
#[path = "../../../backend-mock/examples/edge_deletion/oracle.rs"]
mod oracle;

fn device(schedule: &Schedule, seed: u64) -> MockDevice {
    MockDevice::builder().schedule(schedule.clone()).seed(seed).build()
}

/// Plays lines on such devices.
fn played(line: &str, device: &MockDevice) -> Result<Vec<Vec<u8>>, String> {
    let program = program::Program::parse(line.as_bytes()).map_err(|error| error.to_string())?;
    let played = program.play_on_mock(device).map_err(|error| error.to_string())?;
    played.map_err(|finding| finding.to_string())
}

fn drawn(count: usize) -> impl Iterator<Item = Program> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(move |_| programs(MOST_OPS).new_tree(&mut runner).unwrap().current())
}

#[test]
fn raw_programs_give_what_making_one_operation_after_another_gives() {
    for schedule in SCHEDULES {
        let play = |line: &str| played(line, &device(&schedule, 1));
        Search::new().run_raw(1, 300, play).unwrap_or_else(|found| panic!("{found}"));
    }
}

/// Like `many` above, for raw programs.
#[test]
#[ignore = "as many programs as the environment asks for"]
fn many() {
    let (count, seed) = (number("DEVARRAY_PROGRAMS", 100_000), number("DEVARRAY_PROGRAMS_SEED", 0));
    for schedule in SCHEDULES {
        let found = in_blocks(count, seed, |seed, cases| {
            let again = format!(
                "DEVARRAY_PROGRAMS={cases} DEVARRAY_PROGRAMS_SEED={seed} cargo test -p devarray-conformance --test \
                 programs raw::many -- --ignored # {schedule:?}"
            );
            Search::new()
                .again(again)
                .run_raw(seed, cases, |line: &str| played(line, &device(&schedule, seed)))
        });
        if let Some((before, found)) = found {
            panic!("{found}\nfound: program {} under {schedule:?}", before + found.case as u64);
        }
        println!("{schedule:?}: {count} raw programs hold");
    }
}

/// The operations of a line, by kind.
fn kinds(line: &Value) -> HashMap<&str, usize> {
    let mut kinds = HashMap::new();
    for op in line["ops"].as_array().unwrap() {
        *kinds.entry(op["do"].as_str().unwrap()).or_default() += 1;
    }
    kinds
}

/// The program that lacks one operation.
fn without(line: &Value, at: usize) -> Value {
    let mut shorter = line.clone();
    shorter["ops"].as_array_mut().unwrap().remove(at);
    shorter
}

/// Brute force says of every program that it is right, with the bytes of the model; and without one
/// of its waits, whether that one was needed. The judge of the simulator says the same: no wait
/// that is needed can be missing unnoticed.
#[test]
fn a_wait_that_is_needed_and_missing_is_found() {
    let (mut waits, mut needed) = (0, 0);
    let mut reported = HashMap::<String, usize>::new();
    for (number, program) in drawn(250).enumerate() {
        let line: Value = serde_json::from_str(&program.line()).unwrap();
        assert_eq!(oracle::expect(&line), line["expect"], "{line}");
        for (at, op) in line["ops"].as_array().unwrap().iter().enumerate() {
            if op["do"] != "wait" {
                continue;
            }
            waits += 1;
            let cut = without(&line, at);
            let due = oracle::expect(&cut);
            let parsed = program::Program::parse(cut.to_string().as_bytes()).unwrap();
            let schedule = &SCHEDULES[number % SCHEDULES.len()];
            let played = parsed.play_on_mock(&device(schedule, number as u64)).unwrap();
            let expect: Expect = serde_json::from_value(due.clone()).unwrap();
            assert!(Verdict::new(&parsed, &played).meets(&expect), "{cut}\nbrute force: {due}\n{played:?}");
            if let Some(kind) = due["kind"].as_str() {
                needed += 1;
                *reported.entry(kind.to_owned()).or_default() += 1;
            }
        }
    }
    assert!(waits > 500 && needed * 2 > waits, "{needed} of {waits} waits are needed");
    let floors = [("race", 200), ("use_before_alloc", 20), ("use_after_free", 5)];
    let found = floors.iter().all(|(kind, floor)| reported.get(*kind).is_some_and(|count| count >= floor));
    assert!(found, "{reported:?}");
}

/// Floors under draws: under every kind of operation, and under what orders them.
#[test]
fn raw_programs_cover_what_they_claim() {
    const PROGRAMS: usize = 400;
    let mut with = HashMap::<String, usize>::new();
    let mut one_stream = 0;
    for program in drawn(PROGRAMS) {
        one_stream += usize::from(program.streams == 1);
        let line: Value = serde_json::from_str(&program.line()).unwrap();
        for kind in kinds(&line).into_keys() {
            *with.entry(kind.to_owned()).or_default() += 1;
        }
    }
    let floors = [
        ("fill", 50),
        ("copy", 40),
        ("copy2d", 30),
        ("upload", 50),
        ("download", 90),
        ("alloc", 40),
        ("free", 30),
        ("record", 60),
        ("wait", 50),
        ("sync_stream", 40),
        ("sync_event", 25),
        ("host_read", 30),
        ("host_write", 30),
    ];
    for (kind, percent) in floors {
        let programs = with.get(kind).copied().unwrap_or(0);
        assert!(programs * 100 >= percent * PROGRAMS, "{kind}: {programs} of {PROGRAMS} programs; {with:?}");
    }
    assert!(one_stream * 2 < PROGRAMS, "{one_stream} programs of one stream");
}

/// The twin: on a device whose clocks forget waits programs are reported, and made small.
#[test]
fn what_is_wrong_with_raw_programs_is_found_and_made_small() {
    let forgetful = || MockDevice::builder().schedule(Schedule::Lazy).forgets_waits(true).build();
    let found = Search::new().run_raw(3, 100, |line: &str| played(line, &forgetful())).unwrap_err();
    assert!(found.program.ops.len() <= 3, "{found}");
    let text = found.to_string();
    assert!(text.lines().count() <= 15 && text.contains("seed 3") && text.contains("found:    "), "{text}");

    let wrong = |line: &str| {
        let mut hosts = played(line, &device(&Schedule::Lazy, 0))?;
        if line.contains("\"copy2d\"") {
            hosts[0][3] ^= 1;
        }
        Ok(hosts)
    };
    let found = Search::new().run_raw(4, 100, wrong).unwrap_err();
    assert!(found.program.ops.len() == 1 && found.to_string().contains(" at 3 of "), "{found}");
}

/// A program as it is printed is the program.
#[test]
fn printed_raw_programs_compile_as_tests() {
    let program = Program::new(
        2,
        1,
        1,
        &[
            op(0, Join::Event, Act::Fill { to: bytes(0, 0, 8), value: 7 }),
            op(
                1,
                Join::Earlier,
                Act::Copy { to: bytes(0, 20, 3), from: bytes(0, 0, 3), rows: 2, gaps: [1, 0] },
            ),
            op(1, Join::Host, Act::Free { buffer: 0 }),
            op(0, Join::Stream, Act::HostRead { from: bytes(0, 0, 16) }),
            op(1, Join::Event, Act::Record),
        ],
    );
    let printed = fs::read_to_string("tests/printed/raw.rs").unwrap();
    assert_eq!(printed.trim_end(), program.to_string());
}

/// The file that the test above compares with.
mod printed {
    use devarray_mock::MockDevice;

    fn play(line: &str) -> Result<Vec<Vec<u8>>, String> {
        super::played(line, &MockDevice::new())
    }

    include!("../printed/raw.rs");
}
