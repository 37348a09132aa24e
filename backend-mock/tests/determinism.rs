//! A run is determined by the options of its device and the calls made on it: equal options and
//! calls give the same choices, the same order, the same failures and the same outcome, under every
//! schedule and every plan of faults. So a line that repeats a run really repeats it.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::collections::HashSet;

use devarray_mock::{FaultPlan, Finding, MockDevice, Schedule, program::Program};

/// Everything that can be observed of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    played: devarray::Result<Result<Vec<Vec<u8>>, Finding>>,
    hash: u64,
    order: Vec<u64>,
    fired: String,
    timeline: Vec<u8>,
}

fn run(program: &Program, schedule: &Schedule, seed: u64, plan: &FaultPlan) -> Seen {
    let builder = MockDevice::builder().schedule(schedule.clone()).seed(seed).faults(plan.clone());
    let device = builder.record_order(true).record_timeline(true).build();
    let played = program.play_on_mock(&device);
    let mut timeline = Vec::new();
    device.timeline().unwrap().write_json(&mut timeline).unwrap();
    Seen {
        played,
        hash: device.trace_hash(),
        order: device.order().unwrap(),
        fired: format!("{:?}", device.faults_fired()),
        timeline,
    }
}

/// Reads every sixteenth program of the file of programs with known verdicts.
fn programs() -> Vec<Program> {
    let lines = include_str!("../../conformance/golden/programs.jsonl").lines().step_by(16);
    lines.map(|line| Program::parse(line.as_bytes()).unwrap()).collect()
}

fn schedules() -> [Schedule; 5] {
    let priorities = Schedule::Priorities { depth: 3, steps: 30 };
    [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy, Schedule::Random, priorities]
}

#[test]
fn every_seed_run_twice_is_the_same_run() {
    let plans = [
        "",
        "any%20=refused",
        "any%30=torn",
        "query%2=late;buggify%5",
        "synchronize#1=cancelled",
        "hold;budget=400",
    ];
    let plans: Vec<FaultPlan> = plans.iter().map(|plan| plan.parse().unwrap()).collect();
    let (mut runs, mut failed) = (0, 0);
    for program in &programs() {
        for schedule in &schedules() {
            for plan in &plans {
                for seed in 0..3 {
                    let first = run(program, schedule, seed, plan);
                    // Moves the memory of this run to other addresses.
                    let _elsewhere = Box::new([0_u8; 100]);
                    assert_eq!(
                        run(program, schedule, seed, plan),
                        first,
                        "{}: {schedule:?} {seed} {plan}",
                        program.id()
                    );
                    runs += 1;
                    failed += u32::from(first.fired != "[]");
                }
            }
        }
    }
    assert!(runs == 63 * 5 * 6 * 3 && failed > 1000, "{failed} of {runs} runs had a failure");
}

/// The hash distinguishes runs; a constant hash would be useless.
#[test]
fn other_seeds_are_other_runs() {
    let programs = programs();
    let long = programs.iter().max_by_key(|program| program.len()).unwrap();
    let hashes: HashSet<u64> =
        (0..50).map(|seed| run(long, &Schedule::Random, seed, &FaultPlan::new()).hash).collect();
    assert!(hashes.len() > 40, "{} hashes of 50 seeds", hashes.len());
}
