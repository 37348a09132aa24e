//! Ranks that find each other over the network, and who is kept out. Here all are threads: each has a connection of its own.

use std::{
    any::type_name,
    num::Wrapping,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use devarray::{
    Array, Context, Error, Result,
    collective::{CollectiveError, Combination, Communicator, CommunicatorId, RankState},
    processes::{Launched, ProcessError},
};
use devarray_host::HostDevice;

use crate::started::{Ranks, TIME_LIMIT, context};

/// Runs a function on each rank. Rank 0 has the board.
fn on_each<R: Send>(
    count: usize,
    limit: Duration,
    run: impl Fn(Ranks, &Context<HostDevice>) -> R + Sync,
) -> Vec<R> {
    let id = CommunicatorId::listen("127.0.0.1:0", limit).unwrap();
    let (bytes, run) = (id.to_bytes().unwrap(), &run);
    thread::scope(|scope| {
        let rank = |number: usize, id: CommunicatorId| {
            scope.spawn(move || {
                let context = context();
                let ranks = Communicator::join(&context, &id, number, count).unwrap();
                drop(id);
                run(ranks, &context)
            })
        };
        let others: Vec<_> =
            (1..count).map(|number| rank(number, CommunicatorId::from_bytes(&bytes).unwrap())).collect();
        let first = rank(0, id);
        std::iter::once(first).chain(others).map(|thread| thread.join().unwrap()).collect()
    })
}

fn mistake<T>(outcome: Result<T>) -> CollectiveError {
    match outcome {
        Err(Error::Collective { error, .. }) => error,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn calls_that_differ_are_told_to_all_with_their_lines() {
    let errors = on_each(3, TIME_LIMIT, |mut ranks, context| {
        let stream = context.stream().unwrap();
        let len = if ranks.rank() == 2 { 5 } else { 4 };
        let own = Array::full(&stream, &[len], 1.0_f32).unwrap();
        let first = mistake(ranks.all_reduce(&stream, Combination::Sum, &own));
        assert_eq!(mistake(ranks.barrier()), first, "it is over");
        first
    });
    for error in &errors {
        assert_eq!(error, &errors[0]);
        let text = error.to_string();
        assert!(matches!(error, CollectiveError::Disagree(_)), "{text}");
        assert!(
            text.contains("rank 2 calls all_reduce(sum) of 5 f32 (call 1, at core")
                || text.contains("remote.rs:")
        );
    }
}

/// Messages carry only the beginning of a name as long.
#[test]
fn types_of_long_names_agree() {
    type Three<T> = Wrapping<Wrapping<Wrapping<T>>>;
    type Long = Three<Three<Three<Three<Three<Three<u32>>>>>>;
    assert!(type_name::<Long>().len() > 512);
    on_each(3, TIME_LIMIT, |mut ranks, context| {
        let (stream, rank) = (context.stream().unwrap(), ranks.rank());
        let own = Array::<Long, _>::zeros(&stream, &[2]).unwrap();
        assert_eq!(ranks.all_gather(&stream, &own).unwrap().shape(), [3, 2]);
        // Other types differ at once, and are told.
        let other = Array::<[Long; 1], _>::zeros(&stream, &[2]).unwrap();
        let outcome = if rank == 2 {
            ranks.all_gather(&stream, &other).map(drop)
        } else {
            ranks.all_gather(&stream, &own).map(drop)
        };
        assert!(matches!(mistake(outcome), CollectiveError::Disagree(_)));
    });
}

#[test]
fn a_rank_that_leaves_is_gone() {
    let errors = on_each(3, TIME_LIMIT, |mut ranks, _| match ranks.rank() {
        2 => None,
        _ => Some(mistake(ranks.barrier())),
    });
    for error in errors.into_iter().flatten() {
        let CollectiveError::Gone { rank: 2, states } = &error else { panic!("{error}") };
        assert_eq!(states.iter().nth(2), Some(&RankState::Dropped));
    }
}

#[test]
fn a_rank_that_panics_is_gone() {
    let errors = on_each(2, TIME_LIMIT, |mut ranks, _| match ranks.rank() {
        1 => {
            let panics = move || {
                let _ranks = ranks;
                std::panic::resume_unwind(Box::new("no message"));
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
            None
        }
        _ => Some(mistake(ranks.barrier())),
    });
    let CollectiveError::Gone { rank: 1, states } = errors[0].as_ref().unwrap() else { panic!("{errors:?}") };
    assert_eq!(states.iter().nth(1), Some(&RankState::Panicked));
}

/// Rank 2 leaves and rank 3 misses it, while elements are on their way from rank 0 to rank 1.
#[test]
fn an_exchange_that_all_have_come_to_is_carried_out_when_others_leave() {
    const LEN: usize = 4 << 20;
    let mut seen = 0;
    for round in 0..20 {
        let (begin, end) = (Barrier::new(4), Barrier::new(3));
        let outcomes = on_each(4, TIME_LIMIT, |mut ranks, context| {
            let rank = ranks.rank();
            let stream = context.stream()?;
            let mut own = Array::<u64, _>::zeros(&stream, &[if rank < 2 { LEN } else { 1 }])?;
            if rank == 2 {
                drop(ranks);
                begin.wait();
                return Ok(());
            }
            begin.wait();
            let outcome = match rank {
                0 => ranks.send(&stream, 1, &own),
                1 => ranks.receive_into(&stream, 0, &mut own),
                _ => {
                    // The others come to their exchange meanwhile, or they do not.
                    (0..20 * round).for_each(|_| thread::yield_now());
                    ranks.barrier()
                }
            };
            end.wait();
            outcome
        });
        let [sent, received, _, missed] = <[_; 4]>::try_from(outcomes).unwrap();
        let missed = mistake(missed);
        let CollectiveError::Gone { rank: 2, states } = &missed else { panic!("{missed}") };
        let came = |(state, operation): (&RankState, &str)| matches!(state, RankState::Away(call) if call.operation == operation);
        if states.iter().zip(["send", "receive"]).all(came) {
            sent.unwrap();
            received.unwrap();
            seen += 1;
        }
    }
    assert!(seen > 0, "they have come to it by then");
}

#[test]
fn an_abort_ends_calls_of_all() {
    let errors = on_each(3, TIME_LIMIT, |mut ranks, _| match ranks.rank() {
        1 => {
            ranks.abort();
            None
        }
        _ => Some(mistake(ranks.barrier())),
    });
    assert_eq!(errors, [Some(CollectiveError::Aborted), None, Some(CollectiveError::Aborted)]);
}

#[test]
fn who_does_not_come_in_time_is_named() {
    let limit = Duration::from_millis(300);
    let begun = Instant::now();
    let errors = on_each(2, limit, |mut ranks, _| match ranks.rank() {
        0 => Some(mistake(ranks.barrier())),
        _ => {
            thread::sleep(3 * limit);
            assert!(matches!(mistake(ranks.barrier()), CollectiveError::TimeLimit { .. }));
            None
        }
    });
    let CollectiveError::TimeLimit { states, .. } = errors[0].as_ref().unwrap() else { panic!("{errors:?}") };
    assert!(matches!(states.iter().nth(1), Some(RankState::Away(_))), "{states}");
    assert!(begun.elapsed() < TIME_LIMIT);
}

#[test]
fn a_rank_waits_longer_than_it_may_be_silent() {
    // It says that it is there, again and again.
    let limit = Duration::from_secs(8);
    on_each(2, limit, |mut ranks, _| {
        if ranks.rank() == 1 {
            thread::sleep(Duration::from_secs(5));
        }
        ranks.barrier().unwrap();
        if ranks.rank() == 0 {
            thread::sleep(Duration::from_secs(5));
        }
        ranks.barrier().unwrap();
    });
}

#[test]
fn a_seat_is_taken_once() {
    let id = CommunicatorId::listen("127.0.0.1:0", TIME_LIMIT).unwrap();
    let bytes = id.to_bytes().unwrap();
    let again = CommunicatorId::from_bytes(&bytes).unwrap();
    thread::scope(|scope| {
        let other = scope
            .spawn(|| Communicator::join(&context(), &CommunicatorId::from_bytes(&bytes).unwrap(), 1, 2));
        let mut own = Communicator::join(&context(), &id, 0, 2).unwrap();
        let mut other = other.join().unwrap().unwrap();
        assert_eq!(mistake(Communicator::join(&context(), &again, 1, 2)), CollectiveError::Taken(1));
        // Ranks that are there are not disturbed.
        let barrier = scope.spawn(move || other.barrier());
        own.barrier().unwrap();
        barrier.join().unwrap().unwrap();
    });
}

#[test]
fn splits_of_splits_work_and_outlive_what_they_came_from() {
    let sums = on_each(4, TIME_LIMIT, |mut ranks, context| {
        let (rank, stream) = (ranks.rank(), context.stream().unwrap());
        let mut half = ranks.split(Some(rank / 2)).unwrap().unwrap();
        let none = ranks.split((rank != 3).then_some(0)).unwrap();
        assert_eq!(
            none.as_ref().map(|ranks| (ranks.rank(), ranks.ranks())),
            (rank != 3).then_some((rank, 3))
        );
        drop(none);
        drop(ranks);
        let own = Array::full(&stream, &[3], rank as f32).unwrap();
        // The half without rank 0 lasts as long as the process of rank 0 does.
        let sum = half.all_reduce(&stream, Combination::Sum, &own).map_err(|error| error.to_string());
        sum.map(|sum| sum.to_vec(&stream).unwrap())
    });
    assert!(sums[..2].iter().all(|sum| *sum == Ok(vec![1.0; 3])), "{sums:?}");
    let is_gone = |sum: &Result<_, String>| {
        sum.as_ref().is_err_and(|error| error.contains("the process of rank 0 has left"))
    };
    // The rank that finds this first drops its communicator, and the other rank may be told of that instead. A rank
    // that has its sum cuts no other off.
    let dropped = |sum: &Result<_, String>| {
        sum.as_ref().is_err_and(|error| error.contains("has dropped its communicator"))
    };
    for (sum, other) in [(&sums[2], &sums[3]), (&sums[3], &sums[2])] {
        let is_due = *sum == Ok(vec![5.0; 3]) || is_gone(sum) || dropped(sum) && is_gone(other);
        assert!(is_due, "{sums:?}");
    }
}

/// Nobody compares calls any more when rank 0 has left, so those that join a split then are told.
#[test]
fn who_joins_a_split_that_rank_0_has_left_is_told_at_once() {
    for _ in 0..20 {
        let begun = Instant::now();
        let errors = on_each(3, TIME_LIMIT, |mut ranks, _| match ranks.rank() {
            0 => ranks.split(None).map(drop),
            _ => ranks.split(Some(0)).map(drop),
        });
        assert!(errors[0].is_ok());
        for error in errors.into_iter().skip(1).filter(Result::is_err).map(mistake) {
            // The rank that finds this first leaves the split, and the other may be told of that instead.
            let is_due = match &error {
                // The service may have gone before the rank comes to it.
                CollectiveError::Processes(told) => {
                    matches!(**told, ProcessError::ServiceLeft | ProcessError::NoService)
                }
                CollectiveError::Gone { states, .. } => states.iter().any(|of| *of == RankState::Dropped),
                _ => false,
            };
            assert!(is_due, "{error}");
        }
        assert!(begun.elapsed() < TIME_LIMIT / 2);
    }
}

/// A rank as a launcher would start it, with a secret or none.
fn launched(rank: usize, port: u16, host: &str, secret: Option<&str>) -> Launched {
    let (rank, port) = (rank.to_string(), port.to_string());
    Launched::from_variables(|name| {
        Some(match name {
            "RANK" | "LOCAL_RANK" => rank.clone(),
            "WORLD_SIZE" => "2".into(),
            "MASTER_ADDR" => host.into(),
            "MASTER_PORT" => port.clone(),
            "DEVARRAY_SECRET" => secret?.into(),
            _ => return None,
        })
    })
    .unwrap()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_wrong_secret_is_refused_and_a_right_one_accepted() {
    const RIGHT: Option<&str> = Some("the secret of this test");
    let port = free_port();
    let join = |rank: usize, secret| {
        let id = launched(rank, port, "127.0.0.1", secret).id(TIME_LIMIT).unwrap();
        Communicator::join(&context(), &id, rank, 2)
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| join(0, RIGHT)?.barrier());
        for secret in [Some("not the secret of it"), None] {
            let CollectiveError::Processes(error) = mistake(join(1, secret)) else { panic!() };
            assert!(matches!(*error, ProcessError::Refused { .. }), "{error}");
        }
        join(1, RIGHT).unwrap().barrier().unwrap();
        first.join().unwrap().unwrap();
    });
}

#[test]
fn an_address_that_others_reach_needs_a_secret() {
    for host in ["0.0.0.0", "10.255.255.1"] {
        for rank in [0, 1] {
            // At once, not when the time limit has passed.
            let error = launched(rank, free_port(), host, None).id(TIME_LIMIT).unwrap_err();
            assert!(matches!(error, ProcessError::NoSecret { .. }), "{error}");
            assert!(launched(rank, free_port(), host, Some("0123456789abcdef")).id(TIME_LIMIT).is_ok());
        }
    }
}

#[test]
fn ranks_meet_over_ipv6_and_at_all_addresses() {
    for host in ["::1", "localhost", "127.0.0.2", "0.0.0.0"] {
        let port = free_port();
        if std::net::TcpListener::bind((host, port)).is_err() {
            continue;
        }
        let rank = |rank| -> Result<Vec<f32>> {
            let id = launched(rank, port, host, Some("0123456789abcdef")).id(TIME_LIMIT).unwrap();
            let context = context();
            let stream = context.stream()?;
            let mut ranks = Communicator::join(&context, &id, rank, 2)?;
            let own = Array::full(&stream, &[2], 1.0_f32)?;
            let sum = ranks.all_reduce(&stream, Combination::Sum, &own)?.to_vec(&stream)?;
            ranks.barrier()?;
            Ok(sum)
        };
        thread::scope(|scope| {
            let other = scope.spawn(move || rank(1));
            assert_eq!(rank(0).unwrap(), [2.0; 2], "{host}");
            assert_eq!(other.join().unwrap().unwrap(), [2.0; 2], "{host}");
        });
    }
}

#[test]
fn no_rank_0_is_an_error_in_time() {
    let id = launched(1, free_port(), "127.0.0.1", None).id(Duration::from_millis(300)).unwrap();
    let CollectiveError::Processes(error) = mistake(Communicator::join(&context(), &id, 1, 2)) else {
        panic!()
    };
    assert!(matches!(*error, ProcessError::Unreachable { .. }), "{error}");
}

#[test]
fn the_simulator_refuses_other_processes() {
    let outcome = devarray_mock::Explore::new().run(|device| {
        device.cluster(2, |rank| {
            let id = CommunicatorId::listen("127.0.0.1:0", TIME_LIMIT).unwrap();
            let joined = Communicator::join(&Context::new(rank.device())?, &id, rank.number(), 2);
            assert_eq!(mistake(joined), CollectiveError::Apart(rank.number()));
            Ok::<(), Error>(())
        })
    });
    outcome.map_err(|failure| failure.to_string()).unwrap();
}
