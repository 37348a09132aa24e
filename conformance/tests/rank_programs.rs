//! Random programs of ranks on the simulator's cluster: the bits of vectors under every schedule, and a call that
//! does not fit is found, whatever it is.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::env;

use devarray::{Context, collective::CommunicatorId};
use devarray_conformance::{
    Rng,
    rank_programs::{Functions, RankProgram, Twin},
};
use devarray_mock::{Code, Explore, MockDevice, Rank, Schedule, Wrong};

/// Programs of each test, unless `DEVARRAY_RANK_PROGRAMS` says another number.
const PROGRAMS: u64 = 250;

fn programs() -> impl Iterator<Item = RankProgram> {
    let count = env::var("DEVARRAY_RANK_PROGRAMS").map_or(PROGRAMS, |count| count.parse().unwrap());
    (0..count).map(|seed| RankProgram::drawn(seed, 1 + usize::try_from(seed % 4).unwrap()))
}

fn play(program: &RankProgram, rank: &Rank, id: &CommunicatorId) -> Result<(), String> {
    let context = Context::new(rank.device()).map_err(|error| error.to_string())?;
    let seen = program.run(&context, id, rank.number(), Functions::of_device());
    seen.and_then(|seen| program.compare(rank.number(), &seen)).map_err(|violation| violation.to_string())
}

#[test]
fn programs_of_ranks_have_the_bits_of_vectors() {
    for (seed, program) in (0..).zip(programs()) {
        let schedules = [Schedule::Lazy, Schedule::ReverseLazy, Schedule::Eager];
        for schedule in
            schedules.into_iter().chain([Schedule::Random, Schedule::Random]).skip(seed % 2).step_by(2)
        {
            let device = MockDevice::builder().schedule(schedule).seed(seed as u64).build();
            let outcomes = device.cluster(program.ranks(), |rank| play(&program, &rank, &rank.id(0)));
            let report = device.report();
            assert_eq!(report.findings, [], "{program:?}");
            outcomes
                .into_iter()
                .for_each(|outcome| outcome.unwrap_or_else(|violation| panic!("{violation}")));
        }
    }
}

/// Without a cluster the ranks run as they like.
#[test]
fn programs_run_on_free_threads() {
    for program in programs().take(80) {
        let first = MockDevice::new();
        let device = |rank| if rank == 0 { first.clone() } else { first.sibling() };
        let contexts: Vec<_> = (0..program.ranks()).map(|rank| Context::new(device(rank)).unwrap()).collect();
        program.check(&contexts, Functions::of_device(), || ()).unwrap();
    }
}

/// One rank makes a call that does not fit: the simulator says so under any schedule, and no rank waits for ever.
#[test]
fn a_call_that_does_not_fit_is_found() {
    let mut codes = [0; 4];
    let mut rng = Rng::new(3);
    for program in programs() {
        let Some(wrong) = program.with_mistake(rng.bits()) else { continue };
        let explored = Explore::new().schedules(1).run(|device| {
            device.cluster(wrong.ranks(), |rank| {
                drop(play(&wrong, &rank, &rank.id(0)));
            });
        });
        let Err(failure) = explored else { panic!("{wrong:?}: nothing is found") };
        let Wrong::Found(finding) = &failure.wrong else { panic!("{wrong:?}: {failure}") };
        let all = [Code::RanksDisagree, Code::RanksStuck, Code::Unpaired, Code::RankGone];
        let code = all.iter().position(|code| *code == finding.code);
        codes[code.unwrap_or_else(|| panic!("{wrong:?}: {failure}"))] += 1;
    }
    // That ranks are stuck for other reasons is rare.
    let [disagree, _, unpaired, gone] = codes;
    assert!([disagree, unpaired, gone].iter().all(|&count| count > 2), "each kind of finding: {codes:?}");
}

/// Many programs see a backend that combines in another order, or that puts a part elsewhere.
#[test]
fn wrong_backends_are_found() {
    for twin in [Twin::Backwards, Twin::Misplaced] {
        let differs = |program: &RankProgram| {
            let seen = program.due(twin);
            (0..program.ranks()).any(|rank| program.compare(rank, &seen[rank]).is_err())
        };
        let found = (0..PROGRAMS).filter(|&seed| differs(&RankProgram::drawn(seed, 3))).count();
        assert!(found > 20, "{twin:?} is found by {found} of {PROGRAMS} programs");
    }
    let right = RankProgram::drawn(5, 3);
    let seen = right.due(Twin::None);
    (0..3).for_each(|rank| right.compare(rank, &seen[rank]).unwrap());
    assert_eq!(right.first(0).steps(), 0);
}
