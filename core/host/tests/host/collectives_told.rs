//! Ranks as threads: mistakes and ranks that are gone are told to all, and none waits for ever.
#![allow(unsafe_code)] // makes a communicator unchecked

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Barrier,
    thread,
    time::Duration,
};

use devarray::{
    Array, Error, Result,
    collective::{CollectiveError, Combination, Communicator, CommunicatorId, RankState},
};

use crate::collectives::{Rank, Ranks, Stream, context, mistake, on_each};

/// Each mistake: what rank 0 does, what rank 1 does, and what both are told.
#[test]
fn calls_that_do_not_fit_are_told_to_all_ranks() {
    type Step = fn(&mut Ranks, &Stream) -> Result<()>;
    fn sum(ranks: &mut Ranks, stream: &Stream, len: usize) -> Result<()> {
        ranks.all_reduce(stream, Combination::Sum, &Array::full(stream, &[len], 1.0_f32)?).map(drop)
    }
    let cases: [(Step, Step, &str, &str); 10] = [
        (|r, s| sum(r, s, 8), |r, s| sum(r, s, 4), "all_reduce(sum) of 8 f32", "all_reduce(sum) of 4 f32"),
        (
            |r, s| sum(r, s, 8),
            |r, s| r.all_reduce(s, Combination::Sum, &Array::full(s, &[8], 1.0_f64)?).map(drop),
            "of 8 f32",
            "of 8 f64",
        ),
        (
            |r, s| sum(r, s, 8),
            |r, s| r.all_reduce(s, Combination::Maximum, &Array::full(s, &[8], 1.0_f32)?).map(drop),
            "all_reduce(sum)",
            "all_reduce(maximum)",
        ),
        (
            |r, s| r.broadcast(s, 0, &mut Array::full(s, &[8], 1.0_f32)?),
            |r, s| r.broadcast(s, 1, &mut Array::full(s, &[8], 1.0_f32)?),
            "with root 0",
            "with root 1",
        ),
        (
            |r, s| sum(r, s, 8),
            |r, s| r.broadcast(s, 0, &mut Array::full(s, &[8], 1.0_f32)?),
            "all_reduce(sum) of 8 f32",
            "broadcast of 8 f32 with root 0",
        ),
        (|r, s| sum(r, s, 8), |r, _| r.barrier(), "all_reduce(sum) of 8 f32", "barrier"),
        (
            |r, s| r.send(s, 1, &Array::full(s, &[2], 1_u8)?),
            |r, s| r.send(s, 0, &Array::full(s, &[2], 1_u8)?),
            "send of 2 u8 to rank 1",
            "send of 2 u8 to rank 0",
        ),
        (
            |r, s| r.send(s, 1, &Array::full(s, &[2], 1_u8)?),
            |r, s| r.receive::<u8>(s, 0, &[3]).map(drop),
            "send of 2 u8 to rank 1",
            "receive of 3 u8 from rank 0",
        ),
        (
            |r, s| r.receive::<u8>(s, 1, &[3]).map(drop),
            |r, s| sum(r, s, 8),
            "receive of 3 u8 from rank 1",
            "all_reduce(sum) of 8 f32",
        ),
        (|r, s| sum(r, s, 0), |r, s| sum(r, s, 1), "all_reduce(sum) of 0 f32", "all_reduce(sum) of 1 f32"),
    ];
    for (zero, one, of_zero, of_one) in cases {
        let told = on_each(2, |Rank { number, stream, mut ranks }| {
            let error = if number == 0 { zero } else { one }(&mut ranks, &stream).unwrap_err();
            let later = mistake(ranks.barrier());
            (error.to_string(), mistake::<()>(Err(error)), later)
        });
        for (text, error, later) in &told {
            assert!(text.contains(of_zero) && text.contains(of_one), "{text}");
            assert_eq!(
                text.matches("collectives_told.rs:").count(),
                3,
                "its own line, and one of each: {text}"
            );
            assert_eq!((error, later), (&told[0].1, error), "all are told the same, and so are later calls");
            assert!(matches!(error, CollectiveError::Disagree(_) | CollectiveError::Stuck(_)), "{text}");
        }
    }
}

#[test]
fn calls_of_two_do_not_hold_others_up() {
    on_each(3, |Rank { number, stream, mut ranks }| {
        let x = Array::full(&stream, &[4], number as u64).unwrap();
        match number {
            // Rank 2 waits in the sum while the others send.
            0 => ranks.send(&stream, 1, &x).unwrap(),
            1 => assert_eq!(ranks.receive::<u64>(&stream, 0, &[4]).unwrap().to_vec(&stream).unwrap(), [0; 4]),
            _ => {}
        }
        assert_eq!(ranks.all_reduce(&stream, Combination::Sum, &x).unwrap().to_vec(&stream).unwrap(), [3; 4]);
    });
}

#[test]
fn a_rank_that_is_gone_is_told_of() {
    let told = on_each(3, |Rank { number, stream, mut ranks }| {
        if number == 1 {
            return None;
        }
        let x = Array::full(&stream, &[4], number as u64).unwrap();
        Some(mistake(ranks.all_reduce(&stream, Combination::Sum, &x)))
    });
    for error in told.into_iter().flatten() {
        let CollectiveError::Gone { rank: 1, states } = &error else { panic!("{error}") };
        assert!(states.iter().any(|state| matches!(state, RankState::Dropped)), "{error}");
    }
}

#[test]
fn a_thread_that_panics_is_told_of_a_thousand_times() {
    for _ in 0..1000 {
        let told = on_each(2, |Rank { number, stream, mut ranks }| {
            let mut x = Array::full(&stream, &[16], number as u64).unwrap();
            ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x).unwrap();
            if number == 0 {
                // Without the message of the panic.
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    let _own = ranks;
                    resume_unwind(Box::new("on purpose"));
                }));
                assert!(ended.is_err());
                return None;
            }
            let error = mistake(ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x));
            assert_eq!(x.to_vec(&stream).unwrap(), [1; 16], "nothing was exchanged");
            Some(error)
        });
        let Some(Some(CollectiveError::Gone { rank: 0, states })) = told.last() else { panic!("{told:?}") };
        assert_eq!(states.iter().next(), Some(&RankState::Panicked));
    }
}

#[test]
fn a_communicator_that_is_forgotten_ends_with_the_time_limit() {
    let id = CommunicatorId::with_time_limit(Duration::from_millis(20));
    thread::scope(|scope| {
        scope.spawn(|| {
            let context = context();
            mem::forget(Communicator::join(&context, &id, 1, 2).unwrap());
        });
        let context = context();
        let mut ranks = Communicator::join(&context, &id, 0, 2).unwrap();
        let error = mistake(ranks.barrier());
        let CollectiveError::TimeLimit { states, .. } = &error else { panic!("{error}") };
        assert!(matches!(states.iter().last(), Some(RankState::Away(call)) if call.operation == "join"));
    });
}

#[test]
fn an_abort_ends_the_calls_of_all_ranks() {
    let told = on_each(3, |Rank { number, mut ranks, .. }| {
        if number == 0 {
            ranks.abort();
            return CollectiveError::Aborted;
        }
        mistake(ranks.barrier())
    });
    assert_eq!(told, [const { CollectiveError::Aborted }; 3]);
    // From another thread, while the rank waits.
    let over = Barrier::new(2);
    let told = on_each(2, |Rank { number, mut ranks, .. }| {
        if number == 1 {
            over.wait();
            return mistake(ranks.barrier());
        }
        let aborter = ranks.aborter();
        let own = thread::scope(|scope| {
            scope.spawn(move || aborter.abort());
            mistake(ranks.barrier())
        });
        over.wait();
        own
    });
    assert_eq!(told, [const { CollectiveError::Aborted }; 2]);
}

#[test]
fn who_joins_wrongly_is_refused() {
    let id = CommunicatorId::with_time_limit(Duration::ZERO);
    let context = context();
    let alone = mistake(Communicator::join(&context, &id, 0, 2));
    assert!(matches!(alone, CollectiveError::TimeLimit { .. }), "{alone}");
    assert_eq!(mistake(Communicator::join(&context, &id, 1, 2)), alone, "the id is used up");
    assert_eq!(
        mistake(Communicator::join(&context, &CommunicatorId::new(), 2, 2)),
        CollectiveError::NoRank { rank: 2, ranks: 2 }
    );
    assert!(matches!(
        mistake(Communicator::join(&context, &CommunicatorId::new(), 2, usize::MAX)),
        CollectiveError::TooMany { ranks: usize::MAX, .. }
    ));
    let id = CommunicatorId::new();
    let one = Communicator::join(&context, &id, 0, 1).unwrap();
    assert_eq!(mistake(Communicator::join(&context, &id, 0, 1)), CollectiveError::Taken(0));
    drop(one);
    for (other, due) in [
        ((1, 3), CollectiveError::Sizes { rank: 1, ranks: 3, others: 2 }),
        ((1, 2), CollectiveError::OneContext(0, 1)),
    ] {
        let id = CommunicatorId::new();
        thread::scope(|scope| {
            let first = scope.spawn(|| mistake(Communicator::join(&context, &id, 0, 2)));
            // The order in which they come does not matter, but for who differs.
            let second = mistake(Communicator::join(&context, &id, other.0, other.1));
            let first = first.join().unwrap();
            assert_eq!(first, second);
            let sizes = matches!(first, CollectiveError::Sizes { .. });
            assert!(first == due || sizes && matches!(due, CollectiveError::Sizes { .. }), "{first}");
        });
    }
}

#[test]
fn mistakes_that_a_rank_finds_alone_are_its_own() {
    on_each(2, |Rank { stream, mut ranks, number }| {
        let x = Array::full(&stream, &[3, 2], 1_i32).unwrap();
        let shape = |outcome: Result<()>| assert!(matches!(outcome, Err(Error::Layout(..))), "{outcome:?}");
        shape(ranks.all_to_all(&stream, &x).map(drop));
        shape(ranks.reduce_scatter(&stream, Combination::Sum, &x).map(drop));
        let mut other = Array::full(&stream, &[2, 3], 1_i32).unwrap();
        shape(ranks.all_reduce_into(&stream, Combination::Sum, &x, &mut other));
        shape(ranks.all_gather_into(&stream, &x, &mut other));
        assert_eq!(
            mistake(ranks.broadcast(&stream, 2, &mut other)),
            CollectiveError::NoRank { rank: 2, ranks: 2 }
        );
        assert_eq!(mistake(ranks.send(&stream, number, &x)), CollectiveError::Itself(number));
        let elsewhere = context().stream().unwrap();
        assert!(matches!(
            ranks.all_gather(&elsewhere, &Array::full(&elsewhere, &[1], 0_u8).unwrap()),
            Err(Error::DeviceMismatch { operation: "all_gather", .. })
        ));
        ranks.barrier().unwrap();
    });
}

/// Counts of rows that differ name all counts; a rank that gives up is told of.
#[test]
fn counts_of_rows_that_differ_are_told_to_all_ranks() {
    let told = on_each(3, |Rank { number, stream, mut ranks }| {
        let rows = Array::full(&stream, &[3, 2], 1_u8).unwrap();
        let received = if number == 2 { [1, 2, 1] } else { [1, 1, 1] };
        let mut result = Array::full(&stream, &[received.iter().sum::<usize>(), 2], 7_u8).unwrap();
        let told = ranks.all_to_all_counted_into(&stream, &rows, &[1, 1, 1], &mut result, &received);
        assert!(result.to_vec(&stream).unwrap().iter().all(|&x| x == 7));
        mistake(told)
    });
    assert!(told.iter().all(|error| *error == told[0]), "{told:?}");
    let text = told[0].to_string();
    for part in ["rows of 2 u8, [1, 1, 1] sent, [1, 1, 1] received", "[1, 2, 1] received (call 1, at "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let told = on_each(2, |Rank { number, stream, mut ranks }| {
        let rows = Array::full(&stream, &[2], 1_u8).unwrap();
        (number == 0).then(|| mistake(ranks.all_to_all_counted(&stream, &rows, &[0, 2])))
    });
    assert!(matches!(told[0], Some(CollectiveError::Gone { rank: 1, .. })), "{told:?}");
}

/// One rank alone sends to itself, in any form.
#[test]
fn one_rank_has_its_own_rows() {
    on_each(1, |Rank { stream, mut ranks, .. }| {
        let rows = Array::from_slice(&stream, &[2, 2], &[1_i64, 2, 3, 4]).unwrap();
        let (found, counts) = ranks.all_to_all_counted(&stream, &rows, &[2]).unwrap();
        assert_eq!((found.to_vec(&stream).unwrap(), counts), (vec![1, 2, 3, 4], vec![2]));
        let none = Array::<i64, _>::zeros(&stream, &[0, 2]).unwrap();
        let (found, counts) = ranks.all_to_all_counted(&stream, &none, &[0]).unwrap();
        assert_eq!((found.shape(), counts), (&[0, 2][..], vec![0]));
        let mut own = Array::from_slice(&stream, &[1, 2], &[5_i64, 6]).unwrap();
        ranks.all_gather_in_place(&stream, &mut own).unwrap();
        ranks.reduce_scatter_in_place(&stream, Combination::Sum, &mut own).unwrap();
        assert_eq!(own.to_vec(&stream).unwrap(), [5, 6]);
    });
}

/// A rank of an unchecked communicator that panics ends it for the others.
#[test]
fn a_panic_ends_an_unchecked_communicator() {
    for _ in 0..50 {
        let told = on_each(2, |Rank { number, stream, ranks }| {
            // SAFETY: both ranks make the same calls until one panics.
            let mut ranks = unsafe { ranks.into_unchecked() };
            let own = Array::full(&stream, &[3], 1.0_f32).unwrap();
            drop(ranks.all_reduce(&stream, Combination::Sum, &own).unwrap());
            if number == 0 {
                let panics = move || {
                    let _ranks = ranks;
                    resume_unwind(Box::new("on purpose"));
                };
                assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
                return None;
            }
            Some(mistake(ranks.all_reduce(&stream, Combination::Sum, &own)))
        });
        assert_eq!(told, [None, Some(CollectiveError::Aborted)]);
    }
}

/// So does one whose call is refused for a mistake that it finds alone: nobody compares its next call.
#[test]
fn a_refused_call_ends_an_unchecked_communicator() {
    type Step = fn(&mut Ranks, &Stream) -> Result<()>;
    let steps: [Step; 4] = [
        |r, s| {
            let (own, mut other) = (Array::full(s, &[3], 1.0_f32)?, Array::full(s, &[4], 1.0_f32)?);
            r.all_reduce_into(s, Combination::Sum, &own, &mut other)
        },
        |r, s| r.all_to_all(s, &Array::full(s, &[3, 1], 1.0_f32)?).map(drop),
        |r, s| r.all_gather_in_place(s, &mut Array::full(s, &[3, 1], 1.0_f32)?),
        |r, s| r.all_to_all_counted(s, &Array::full(s, &[3, 1], 1.0_f32)?, &[1, 1]).map(drop),
    ];
    for step in steps {
        let told = on_each(2, |Rank { number, stream, ranks }| {
            // SAFETY: both ranks make the same calls, until one is refused.
            let mut ranks = unsafe { ranks.into_unchecked() };
            if number == 0 {
                step(&mut ranks, &stream).unwrap_err();
            }
            let own = Array::full(&stream, &[3], 1.0_f32).unwrap();
            let error = mistake(ranks.all_reduce(&stream, Combination::Sum, &own));
            drop(ranks);
            error
        });
        assert_eq!(told, [CollectiveError::Aborted, CollectiveError::Aborted]);
    }
}
