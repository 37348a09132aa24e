//! What the simulator answers to probes, under every kind of schedule: each answer that is written down, and no other.

use std::collections::BTreeSet;

use devarray_conformance::probes::{Load, Probe, all};
use devarray_mock::{MockDevice, Schedule};

const LOAD: Load = Load { bytes: 64, copies: 2 };

fn answers(
    probe: &Probe<MockDevice>,
    schedules: impl Iterator<Item = (Schedule, u64)>,
) -> BTreeSet<&'static str> {
    let device = |(schedule, seed)| MockDevice::builder().schedule(schedule).seed(seed).build();
    schedules.map(|options| probe.ask(device(options), LOAD).expect(probe.name)).collect()
}

#[test]
fn every_answer_that_is_written_down_and_no_other() {
    for probe in all() {
        let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy].map(|schedule| (schedule, 0));
        let random = (0..60).map(|seed| (Schedule::Random, seed));
        let priorities = (0..20).map(|seed| (Schedule::Priorities { depth: 2, steps: 40 }, seed));
        let seen = answers(&probe, fixed.into_iter().chain(random).chain(priorities));
        assert_eq!(seen, probe.allowed.iter().copied().collect(), "{}", probe.name);
    }
}

/// The twin: one schedule does not show everything, so the lists are no accident of the probes.
#[test]
fn one_schedule_does_not_show_every_answer() {
    let open: Vec<_> = all().into_iter().filter(|probe| probe.allowed.len() > 1).collect();
    assert!(open.len() >= 10);
    for probe in open {
        let eager = answers(&probe, [(Schedule::Eager, 0)].into_iter());
        assert!(eager.len() < probe.allowed.len(), "{}", probe.name);
    }
}
