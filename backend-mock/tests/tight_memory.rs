//! Random programs with a tight memory limit give the results of an oracle, and leave no memory
//! behind. A mistake planted in the program or in the oracle is noticed. The example `tight_memory` runs more of
//! these programs.

#[path = "../examples/tight_memory/model.rs"]
mod model;
#[path = "../examples/tight_memory/program.rs"]
mod program;

use program::{Flaw, Tally, run};

const PROGRAMS: u64 = 2000;

#[test]
fn statistics_are_exact_and_nothing_leaks() {
    let total: Tally = (0..PROGRAMS).map(|seed| run(seed, Flaw::None).unwrap()).sum();
    assert!(total.allocated > 5 * PROGRAMS && total.copied > PROGRAMS, "{total:?}");
    assert!(total.refused > PROGRAMS && total.flushed > PROGRAMS / 10, "memory is tight: {total:?}");
}

#[test]
fn what_is_wrong_is_noticed() {
    for flaw in [Flaw::Leak, Flaw::ByteMore, Flaw::WaitsLonger, Flaw::WrongElement] {
        assert!((0..PROGRAMS).any(|seed| run(seed, flaw).is_err()), "{flaw:?}");
    }
}
