//! Random programs over the safe interface give, under every schedule, the same results as when
//! they run one call at a time.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "sequential_equivalence/calls.rs"]
mod calls;
#[path = "sequential_equivalence/program.rs"]
mod program;
#[path = "sequential_equivalence/views.rs"]
mod views;

use std::fmt::Debug;

use devarray::Element;
use devarray_mock::{MockDevice, Schedule};

use program::{Kind, Program};

/// One program in `STEP` is tried; a release build tries all.
const STEP: usize = if cfg!(debug_assertions) { 3 } else { 1 };

/// Runs every program under the three fixed schedules and several random ones, and returns the
/// differences.
fn differences<T: Element + Debug + PartialEq>(seeds: std::ops::Range<u64>, kind: Kind) -> Vec<String> {
    let mut found = Vec::new();
    for seed in seeds.step_by(STEP) {
        let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy].map(|schedule| (schedule, 0));
        let random = [0, 1, 2].map(|k| (Schedule::Random, seed * 3 + k));
        for (schedule, choices) in fixed.into_iter().chain(random) {
            let device = MockDevice::builder().schedule(schedule.clone()).seed(choices).build();
            if let Some(difference) = Program::<T>::run(&device, seed, kind) {
                found.push(format!("program {seed}, {schedule:?} {choices}: {difference}"));
            }
        }
    }
    found
}

#[test]
fn every_schedule_gives_what_running_in_order_gives() {
    assert_eq!(differences::<u16>(0..200, Kind::Tracked), [""; 0]);
    assert_eq!(differences::<[u8; 3]>(600..700, Kind::Tracked), [""; 0]);
    assert_eq!(differences::<[u64; 3]>(900..950, Kind::Tracked), [""; 0]);
}

#[test]
fn failing_calls_change_nothing_but_what_they_name() {
    assert_eq!(differences::<u32>(1000..1200, Kind::Failing), [""; 0]);
    assert_eq!(differences::<[u8; 3]>(1600..1700, Kind::Failing), [""; 0]);
}

/// The twin: without tracking the same programs do differ.
#[test]
fn programs_without_tracking_differ() {
    assert!(differences::<u16>(0..100, Kind::Unchecked).len() > 20 / STEP);
}
