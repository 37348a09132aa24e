//! Tests the simulator's answers to probes under every kind of schedule: it gives each answer that is listed, and
//! no other answer.

use std::collections::BTreeSet;

use devarray_conformance::probes::{Load, Probe, all};
use devarray_mock::{MockDevice, Profile, Schedule};

const LOAD: Load = Load { bytes: 64, copies: 2 };

fn answers(
    probe: &Probe<MockDevice>,
    profile: Profile,
    schedules: impl Iterator<Item = (Schedule, u64)>,
) -> BTreeSet<&'static str> {
    let device =
        |(schedule, seed)| MockDevice::builder().profile(profile).schedule(schedule).seed(seed).build();
    schedules.map(|options| probe.ask(device(options), LOAD).expect(probe.name)).collect()
}

#[test]
fn every_answer_that_is_written_down_and_no_other() {
    for (probe, profile) in all().iter().flat_map(|probe| Profile::ALL.map(|profile| (probe, profile))) {
        let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy].map(|schedule| (schedule, 0));
        let random = (0..60).map(|seed| (Schedule::Random, seed));
        let priorities = (0..20).map(|seed| (Schedule::Priorities { depth: 2, steps: 40 }, seed));
        let seen = answers(probe, profile, fixed.into_iter().chain(random).chain(priorities));
        let allowed = probe.allowed_under(profile.name()).iter().copied().collect();
        assert_eq!(seen, allowed, "{} under {profile}", probe.name);
    }
}

/// The twin: one schedule does not give every answer, so the lists need all of them.
#[test]
fn one_schedule_does_not_show_every_answer() {
    let open: Vec<_> = all().into_iter().filter(|probe| probe.allowed.len() > 1).collect();
    assert!(open.len() >= 10);
    for probe in open {
        let eager = answers(&probe, Profile::Strict, [(Schedule::Eager, 0)].into_iter());
        assert!(eager.len() < probe.allowed.len(), "{}", probe.name);
    }
}

/// `strict` does everything that any profile allows. An unknown profile name means `strict`.
#[test]
fn profiles_allow_some_of_what_strict_does() {
    for probe in all::<MockDevice>() {
        for (profile, allowed) in probe.under {
            let profile: Profile = profile.parse().expect(probe.name);
            assert!(allowed.len() < probe.allowed.len(), "{} under {profile}", probe.name);
            assert!(allowed.iter().all(|answer| probe.allowed.contains(answer)), "{}", probe.name);
        }
        assert_eq!(probe.allowed_under("strict"), probe.allowed);
    }
}
