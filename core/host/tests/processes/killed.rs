//! A process that is killed: all others get an error that says so, and end by themselves.

use std::time::Instant;

use devarray::{
    Array, Error,
    collective::{CollectiveError, Combination, RankState},
};

use crate::started::{Ranks, Started, Stream, TIME_LIMIT, count};

const RANKS: usize = 4;

/// Exchanges for ever, until another is gone.
pub(crate) fn rank(mut ranks: Ranks, stream: &Stream) {
    let own = Array::full(stream, &[50_000], 1.0_f32).unwrap();
    for round in 0_u64.. {
        let sum = ranks.all_reduce(stream, Combination::Sum, &own);
        let outcome = sum.and_then(|sum| sum.to_vec(stream)).map(|sum| assert_eq!(sum, [4.0; 50_000]));
        match outcome {
            Ok(()) if round == 2 => println!("ready"),
            Ok(()) => {}
            Err(Error::Collective { error: CollectiveError::Gone { rank, states }, .. }) => {
                assert_eq!(states.iter().nth(rank), Some(&RankState::Lost), "{states}");
                // Later calls say the same.
                let again = ranks.barrier().unwrap_err();
                let same = |error: &Error| matches!(error, Error::Collective { error: CollectiveError::Gone { rank: other, .. }, .. } if *other == rank);
                assert!(same(&again), "{again}");
                return println!("gone {rank}");
            }
            Err(other) => panic!("another error: {other}"),
        }
    }
}

#[test]
fn the_others_are_told_and_end() {
    for round in 0..count("DEVARRAY_TEST_KILLS", 20) {
        let victim = round % RANKS;
        let mut started = Started::new(RANKS, "killed");
        for rank in 0..RANKS {
            started.wait_for(rank, "ready");
        }
        started.children[victim].kill().unwrap();
        let begun = Instant::now();
        started.children[victim].wait().unwrap();
        for rank in (0..RANKS).filter(|&rank| rank != victim) {
            let said = started.end(rank, TIME_LIMIT);
            assert!(said.contains(&format!("gone {victim}")), "rank {rank} of round {round}: {said}");
        }
        assert!(begun.elapsed() < TIME_LIMIT / 2, "at once, not when the time limit has passed");
        started.assert_clean();
    }
}
