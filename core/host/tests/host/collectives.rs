//! Ranks as threads: what they exchange, what they are told of mistakes, and that none waits for ever.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Barrier,
    thread,
    time::Duration,
};

use devarray::{
    Array, Context, Error, Result, StreamHandle,
    collective::{CollectiveError, Combination, Communicator, CommunicatorId, RankState},
};
use devarray_host::HostDevice;

type Ranks = Communicator<HostDevice>;
type Stream = StreamHandle<HostDevice>;

/// One of the ranks.
struct Rank {
    number: usize,
    stream: Stream,
    ranks: Ranks,
}

fn context() -> Context<HostDevice> {
    Context::new(HostDevice::builder().capacity_bytes(16 << 20).threads(1).build()).unwrap()
}

/// Runs a function on a thread for each rank. The outcomes, in the order of ranks.
fn on_each<R: Send>(count: usize, run: impl Fn(Rank) -> R + Sync) -> Vec<R> {
    let id = &CommunicatorId::new();
    let run = &run;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                scope.spawn(move || {
                    let context = context();
                    let stream = context.stream().unwrap();
                    let ranks = Communicator::join(&context, id, number, count).unwrap();
                    run(Rank { number, stream, ranks })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The mistake of a call.
fn mistake<T>(outcome: Result<T>) -> CollectiveError {
    match outcome {
        Err(Error::Collective { error, .. }) => error,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

fn numbers(rank: usize, len: usize) -> Vec<f32> {
    // The order of their additions shows.
    (0..len).map(|k| 1.0 / (1 + (k * 7 + rank * 13) % 101) as f32).collect()
}

#[test]
fn floats_are_added_in_the_order_of_ranks() {
    for (count, len) in [(1, 5), (2, 0), (2, 7), (3, 1), (3, 20_000), (4, 3)] {
        let all: Vec<Vec<f32>> = (0..count).map(|rank| numbers(rank, len)).collect();
        let sum_of = |k: usize, ranks: &mut dyn Iterator<Item = usize>| {
            ranks.map(|rank| all[rank][k]).reduce(|sum, x| sum + x).unwrap().to_bits()
        };
        let due: Vec<u32> = (0..len).map(|k| sum_of(k, &mut (0..count))).collect();
        let backwards: Vec<u32> = (0..len).map(|k| sum_of(k, &mut (0..count).rev())).collect();
        assert!(len < 1000 || due != backwards, "the order shows in these numbers");
        let sums = on_each(count, |Rank { number, stream, mut ranks }| {
            let mut own = Array::from_slice(&stream, &[len], &numbers(number, len)).unwrap();
            let sum = ranks.all_reduce(&stream, Combination::Sum, &own).unwrap().to_vec(&stream).unwrap();
            ranks.all_reduce_in_place(&stream, Combination::Sum, &mut own).unwrap();
            (sum, own.to_vec(&stream).unwrap())
        });
        for (sum, in_place) in sums {
            assert_eq!(sum.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), due, "{count} ranks, {len}");
            assert_eq!(in_place.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), due, "in place");
        }
    }
}

#[test]
fn elements_go_where_they_belong() {
    on_each(3, |Rank { number, stream, mut ranks }| {
        let base = 100 * i32::try_from(number).unwrap();
        let parts: Vec<i32> = (0..12).map(|k| base + k).collect();
        let x = Array::from_slice(&stream, &[3, 4], &parts).unwrap();

        let gathered = ranks.all_gather(&stream, &x).unwrap();
        assert_eq!(gathered.shape(), [3, 3, 4]);
        let due: Vec<i32> = (0..3).flat_map(|rank| (0..12).map(move |k| 100 * rank + k)).collect();
        assert_eq!(gathered.to_vec(&stream).unwrap(), due);

        let exchanged = ranks.all_to_all(&stream, &x).unwrap().to_vec(&stream).unwrap();
        let first = 4 * i32::try_from(number).unwrap();
        let due: Vec<i32> = (0..3).flat_map(|rank| (first..first + 4).map(move |k| 100 * rank + k)).collect();
        assert_eq!(exchanged, due);

        let part = ranks.reduce_scatter(&stream, Combination::Maximum, &x).unwrap();
        assert_eq!(part.to_vec(&stream).unwrap(), (first..first + 4).map(|k| 200 + k).collect::<Vec<_>>());

        let root = ranks.reduce(&stream, Combination::Sum, 1, &x).unwrap();
        assert_eq!(root.is_some(), number == 1);
        if let Some(root) = root {
            assert_eq!(root.to_vec(&stream).unwrap(), (0..12).map(|k| 300 + 3 * k).collect::<Vec<_>>());
        }

        let mut same = Array::from_slice(&stream, &[3, 4], &parts).unwrap();
        ranks.broadcast(&stream, 2, &mut same).unwrap();
        assert_eq!(same.to_vec(&stream).unwrap(), (0..12).map(|k| 200 + k).collect::<Vec<_>>());

        let mut kept = Array::from_slice(&stream, &[3, 4], &parts).unwrap();
        ranks.reduce_in_place(&stream, Combination::Minimum, 0, &mut kept).unwrap();
        assert_eq!(kept.to_vec(&stream).unwrap(), if number == 0 { (0..12).collect() } else { parts });

        match number {
            0 => ranks.send(&stream, 2, &x.slice_axis(0, 1..2).unwrap()).unwrap(),
            2 => {
                let row = ranks.receive::<i32>(&stream, 0, &[2, 2]).unwrap();
                assert_eq!(row.to_vec(&stream).unwrap(), [4, 5, 6, 7]);
            }
            _ => {}
        }
        ranks.barrier().unwrap();
    });
}

#[test]
fn views_of_any_strides_are_exchanged() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let own: Vec<u16> = (0..6).map(|k| k + 10 * u16::try_from(number).unwrap()).collect();
        let x = Array::from_slice(&stream, &[2, 3], &own).unwrap();
        let mut wide = Array::full(&stream, &[3, 4], 9_u16).unwrap();
        let columns = wide.view_mut();
        let mut columns = columns.index(&devarray::ix![.., ..;2]).unwrap();
        ranks.all_reduce_into(&stream, Combination::Sum, &x.transpose(), &mut columns).unwrap();
        assert_eq!(wide.to_vec(&stream).unwrap(), [10, 9, 16, 9, 12, 9, 18, 9, 14, 9, 20, 9]);

        let mut turned = Array::from_slice(&stream, &[2, 3], &own).unwrap();
        let backwards = turned.view_mut();
        ranks.all_reduce_in_place(&stream, Combination::Sum, &mut backwards.flip(&[1]).unwrap()).unwrap();
        let mut there = Array::from_slice(&stream, &[2, 3], &own).unwrap();
        ranks.broadcast(&stream, 1, &mut there.view_mut().transpose()).unwrap();
        assert_eq!(turned.to_vec(&stream).unwrap(), [10, 12, 14, 16, 18, 20]);
        assert_eq!(there.to_vec(&stream).unwrap(), [10, 11, 12, 13, 14, 15]);
    });
}

#[test]
fn a_mean_is_a_quotient_and_integers_wrap() {
    on_each(3, |Rank { number, stream, mut ranks }| {
        let x = Array::from_slice(&stream, &[2], &[0.1_f64 * (number as f64), 1.0]).unwrap();
        let mean = ranks.all_reduce(&stream, Combination::Mean, &x).unwrap().to_vec(&stream).unwrap();
        assert_eq!(mean, [((0.0 + 0.1) + 0.2) / 3.0, 1.0]);
        let bytes = Array::from_slice(&stream, &[2], &[100_u8, 2]).unwrap();
        let sum = ranks.all_reduce(&stream, Combination::Sum, &bytes).unwrap().to_vec(&stream).unwrap();
        let product = ranks.all_reduce(&stream, Combination::Product, &bytes).unwrap();
        assert_eq!((sum, product.to_vec(&stream).unwrap()), (vec![44, 6], vec![64, 8]));
        assert!(matches!(
            mistake(ranks.all_reduce(&stream, Combination::Mean, &bytes)),
            CollectiveError::NoMean(_)
        ));
        ranks.barrier().unwrap(); // told to this rank alone, which goes on
    });
}

#[test]
fn a_result_is_used_on_other_streams_at_once() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let other = ranks.context().stream().unwrap();
        for round in 0..50 {
            let mut x = Array::full(&other, &[500], number as u64 + round).unwrap();
            let sum = ranks.all_reduce(&stream, Combination::Sum, &x).unwrap();
            x.view_mut().fill(&other, 0).unwrap();
            assert_eq!(sum.to_vec(&other).unwrap(), [2 * round + 1; 500]);
        }
    });
}

#[test]
fn groups_of_a_split_are_communicators_of_their_own() {
    on_each(4, |Rank { number, stream, mut ranks }| {
        let color = (number != 2).then_some(number % 2);
        let group = ranks.split(color).unwrap();
        let x = Array::full(&stream, &[1], number as u64).unwrap();
        if let Some(mut group) = group {
            let due = if number == 0 { (0, 1, 0) } else { (number / 2, 2, 4) };
            let sum = group.all_reduce(&stream, Combination::Sum, &x).unwrap().to_vec(&stream).unwrap();
            assert_eq!((group.rank(), group.ranks(), sum[0]), due);
        }
        assert_eq!(ranks.all_reduce(&stream, Combination::Sum, &x).unwrap().to_vec(&stream).unwrap(), [6]);
    });
}

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
            assert_eq!(text.matches("collectives.rs:").count(), 3, "its own line, and one of each: {text}");
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
