//! Ranks of one thread, and sends and receives that are carried out together.
#![allow(unsafe_code)] // makes communicators unchecked

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
    time::Instant,
};

use devarray::{
    Array, Context, Error, LayoutError,
    collective::{CollectiveError, Combination, Communicator, CommunicatorId, Group},
};
use devarray_host::HostDevice;
use devarray_mock::MockDevice;

use super::collectives::{Rank, Stream, context, mistake, on_each};

/// A time that no test takes without an error, and less than the time limit of the ids.
const SOON_SECONDS: f64 = 60.0;

/// The streams of a group's contexts, by rank.
fn group(count: usize) -> (Vec<Stream>, Group<HostDevice>) {
    let contexts: Vec<_> = (0..count).map(|_| context()).collect();
    let streams = contexts.iter().map(|context| context.stream().unwrap()).collect();
    (streams, Group::join(&contexts, &CommunicatorId::new(), 0, count).unwrap())
}

#[test]
fn a_thread_makes_the_calls_of_all_its_ranks() {
    for count in 1..5_u16 {
        let (streams, mut group) = group(usize::from(count));
        assert_eq!(group.len(), usize::from(count));
        let own: Vec<Array<u16, _>> =
            streams.iter().zip(0..).map(|(on, rank)| Array::full(on, &[3], 1 + rank).unwrap()).collect();
        let sums = group
            .each(streams.iter().zip(&own), |ranks, (on, own)| ranks.all_reduce(on, Combination::Sum, own))
            .unwrap();
        for (on, sum) in streams.iter().zip(&sums) {
            assert_eq!(sum.to_vec(on).unwrap(), [count * (count + 1) / 2; 3]);
        }
        // The communicators are the caller's.
        let numbers: Vec<_> = group.communicators().iter().map(|of| (of.rank(), of.ranks())).collect();
        assert_eq!(numbers, (0..count.into()).map(|rank| (rank, count.into())).collect::<Vec<_>>());
        let parts = group.into_communicators();
        let meet = |mut of: Communicator<HostDevice>| thread::spawn(move || of.barrier());
        let threads: Vec<_> = parts.into_iter().map(meet).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    }
}

#[test]
fn a_group_and_threads_are_ranks_of_one_communicator() {
    let id = CommunicatorId::new();
    let total = |first: usize, count: usize| {
        let contexts: Vec<_> = (0..count).map(|_| context()).collect();
        let mut group = Group::join(&contexts, &id, first, 4).unwrap();
        let sums = group.each(&contexts, |ranks, context| {
            let on = context.stream()?;
            let own = Array::full(&on, &[1], 1_u64 << ranks.rank())?;
            ranks.all_reduce(&on, Combination::Sum, &own)?.item(&on)
        });
        sums.unwrap()
    };
    let found = thread::scope(|scope| {
        let threads = [(0, 1), (1, 2), (3, 1)].map(|(first, count)| scope.spawn(move || total(first, count)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(found.concat(), [15; 4]);
}

/// The group stays usable if every rank makes the same local mistake. If another rank waits for the rank that made the
/// mistake, the group ends, and `each` returns the mistake instead of the waiting rank's error.
#[test]
fn mistakes_of_a_function_are_told() {
    let (streams, mut group) = group(3);
    let shape = |error: &Error| matches!(error, Error::Layout(LayoutError::ShapeMismatch { .. }, _));
    let wrong = |failing: fn(usize) -> bool| {
        move |ranks: &mut Communicator<HostDevice>, on: &Stream| {
            let source = Array::<f32, _>::zeros(on, &[2])?;
            let mut result = Array::zeros(on, &[if failing(ranks.rank()) { 3 } else { 2 }])?;
            ranks.all_reduce_into(on, Combination::Sum, &source, &mut result)
        }
    };
    let begun = Instant::now();
    let error = group.each(&streams, wrong(|_| true)).unwrap_err();
    assert!(shape(&error), "{error}");
    group.each(&streams, wrong(|_| false)).unwrap();
    let error = group.each(&streams, wrong(|rank| rank == 1)).unwrap_err();
    assert!(shape(&error), "{error}");
    let after = mistake(group.each(&streams, wrong(|_| false)));
    assert!(matches!(after, CollectiveError::Stuck(_)), "{after}");
    assert!(begun.elapsed().as_secs_f64() < SOON_SECONDS);
}

/// A rank whose function makes fewer calls than the others' is found at once.
#[test]
fn a_call_that_a_rank_leaves_out_is_found() {
    let (_streams, mut group) = group(3);
    let begun = Instant::now();
    let error = group.each(0..3, |ranks, number| {
        ranks.barrier()?;
        if number == 1 { Ok(()) } else { ranks.barrier() }
    });
    let error = mistake(error);
    let CollectiveError::Stuck(states) = &error else { panic!("{error}") };
    assert!(states.to_string().contains("rank 1 makes no call since barrier (call 1"), "{states}");
    assert!(begun.elapsed().as_secs_f64() < SOON_SECONDS);
}

/// A rank that has returned rests until the function has returned for all, and no longer.
#[test]
fn ranks_that_have_returned_are_waited_for_in_the_next_function() {
    let (_streams, mut group) = group(2);
    for _ in 0..200 {
        group.each(0..2, |ranks, _| ranks.barrier()).unwrap();
    }
}

/// Ranks outside the group wait for its next function, however long its thread does something else before.
#[test]
fn ranks_that_have_all_returned_may_call_again() {
    for sizes in [&[1, 1][..], &[2, 1], &[2, 2], &[1, 2, 1]] {
        let (id, ranks) = (&CommunicatorId::new(), sizes.iter().sum());
        thread::scope(|scope| {
            let mut first = 0;
            for (at, &count) in sizes.iter().enumerate() {
                let begin = first;
                first += count;
                scope.spawn(move || {
                    let contexts: Vec<_> = (0..count).map(|_| context()).collect();
                    let mut group = Group::join(&contexts, id, begin, ranks).unwrap();
                    for round in 0..200 {
                        if (round + at) % 2 == 0 {
                            // The others wait in their next calls meanwhile.
                            (0..50).for_each(|_| thread::yield_now());
                        }
                        if at == 0 && count == 1 {
                            group.communicators()[0].barrier().unwrap();
                        } else {
                            group.each(0..count, |ranks, _| ranks.barrier()).unwrap();
                        }
                    }
                });
            }
        });
    }
}

/// A rank outside the group is told of a call that will not come, too.
#[test]
fn a_call_that_a_rank_of_a_group_leaves_out_is_found_outside() {
    let id = &CommunicatorId::new();
    let begun = Instant::now();
    let errors = thread::scope(|scope| {
        let outside = scope.spawn(|| {
            let mut ranks = Communicator::join(&context(), id, 0, 3).unwrap();
            mistake(ranks.barrier())
        });
        let mut group = Group::join(&[context(), context()], id, 1, 3).unwrap();
        let leaves_out = group.each(0..2, |ranks, number| if number == 1 { Ok(()) } else { ranks.barrier() });
        [outside.join().unwrap(), mistake(leaves_out)]
    });
    for error in errors {
        let CollectiveError::Stuck(states) = &error else { panic!("{error}") };
        assert!(states.to_string().contains("rank 2 makes no call since join (call 0"), "{states}");
    }
    assert!(begun.elapsed().as_secs_f64() < SOON_SECONDS);
}

#[test]
fn a_panic_goes_on_when_all_have_ended() {
    for unchecked in [false, true] {
        let (_streams, group) = group(3);
        let into = |of: Communicator<HostDevice>| {
            if !unchecked {
                return of;
            }
            // SAFETY: all ranks make the same exchanges.
            unsafe { of.into_unchecked() }
        };
        let mut group = Group::from(group.into_communicators().into_iter().map(into).collect::<Vec<_>>());
        let begun = Instant::now();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            group.each(0..3, |ranks, number| {
                let on = ranks.context().stream()?;
                assert!(number != 2, "rank 2 does");
                ranks.all_reduce(&on, Combination::Sum, &Array::<f32, _>::zeros(&on, &[4])?).map(drop)
            })
        }));
        let told = panicked.unwrap_err();
        assert_eq!(told.downcast_ref::<&str>(), Some(&"rank 2 does"));
        assert!(group.each(0..3, |ranks, _| ranks.barrier()).is_err());
        assert!(begun.elapsed().as_secs_f64() < SOON_SECONDS);
    }
}

/// Other threads drop the communicators of a group, so these do not see that the group's thread panics.
#[test]
fn a_panic_between_calls_ends_the_other_ranks() {
    for unchecked in [false, true] {
        let id = CommunicatorId::new();
        let into = |of: Communicator<HostDevice>| {
            if !unchecked {
                return of;
            }
            // SAFETY: all ranks make the same exchanges until a thread panics.
            unsafe { of.into_unchecked() }
        };
        let told = thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let contexts = [context(), context()];
                let group = Group::join(&contexts, &id, 0, 3).unwrap();
                let group: Vec<_> = group.into_communicators().into_iter().map(into).collect();
                let _group = Group::from(group);
                resume_unwind(Box::new("on purpose"));
            });
            let context = context();
            let mut ranks = into(Communicator::join(&context, &id, 2, 3).unwrap());
            let on = context.stream().unwrap();
            assert!(panics.join().is_err());
            let own = Array::full(&on, &[3], 1.0_f32).unwrap();
            mistake(ranks.all_reduce(&on, Combination::Sum, &own))
        });
        match told {
            CollectiveError::Aborted => assert!(unchecked),
            told => {
                assert!(!unchecked);
                assert!(told.to_string().contains("rank 0 has panicked"), "{told}");
            }
        }
    }
}

#[test]
fn who_joins_a_group_wrongly_is_told_at_once() {
    let begun = Instant::now();
    let contexts = [context(), context()];
    let beyond = mistake(Group::join(&contexts, &CommunicatorId::new(), 1, 2));
    assert_eq!(beyond, CollectiveError::NoRank { rank: 2, ranks: 2 });
    let twice = [contexts[0].clone(), contexts[0].clone()];
    let twice = mistake(Group::join(&twice, &CommunicatorId::new(), 0, 2));
    assert_eq!(twice, CollectiveError::OneContext(0, 1));
    assert!(Group::<HostDevice>::join(&[], &CommunicatorId::new(), 0, 2).unwrap().is_empty());
    // The simulator's cluster has a thread for each rank.
    let apart = MockDevice::new().cluster(1, |rank| {
        let contexts = [rank.device(), rank.device().sibling()].map(|device| Context::new(device).unwrap());
        mistake(Group::join(&contexts, &rank.id(0), 0, 2))
    });
    assert_eq!(apart, [CollectiveError::Apart(0)]);
    assert!(begun.elapsed().as_secs_f64() < SOON_SECONDS);
}

#[test]
#[should_panic(expected = "one value for each of its ranks")]
fn a_group_takes_a_value_for_each_rank() {
    let (_streams, mut group) = group(2);
    drop(group.each(0..3, |_, _| Ok(())));
}

/// The elements that a rank sends to another, as the `nth`.
fn sent(from: usize, to: usize, nth: usize) -> i32 {
    i32::try_from(from * 100 + to * 10 + nth).unwrap()
}

/// Each rank names two sends to each other rank and the two receives, in an order of its own.
#[test]
fn transfers_need_no_order_between_ranks() {
    for count in 1..5 {
        let found = on_each(count, |Rank { number, stream, mut ranks }| {
            let all = (0..count).map(|step| (number * 3 + step) % count);
            let others: Vec<usize> = all.filter(|&other| other != number).collect();
            let array = |to: usize, nth: usize| Array::full(&stream, &[2], sent(number, to, nth)).unwrap();
            let sources: Vec<[_; 2]> = others.iter().map(|&to| [array(to, 0), array(to, 1)]).collect();
            let room = || Array::<i32, _>::zeros(&stream, &[2]).unwrap();
            let mut came: Vec<[_; 2]> = others.iter().map(|_| [room(), room()]).collect();
            let mut transfers = ranks.transfers();
            for ((&other, sources), came) in others.iter().zip(&sources).zip(&mut came) {
                let [first, second] = came;
                transfers.receive_into(&stream, other, first).unwrap();
                sources.iter().for_each(|of| transfers.send(&stream, other, of).unwrap());
                transfers.receive_into(&stream, other, second).unwrap();
            }
            transfers.run().unwrap();
            for (&other, came) in others.iter().zip(&came) {
                for (nth, of) in came.iter().enumerate() {
                    assert_eq!(of.to_vec(&stream).unwrap(), [sent(other, number, nth); 2]);
                }
            }
        });
        assert_eq!(found.len(), count);
    }
}

#[test]
fn transfers_that_do_not_fit_are_told_with_their_lines() {
    let line = line!() + 4;
    let errors = on_each(2, |Rank { number, stream, mut ranks }| {
        let own = Array::<f32, _>::zeros(&stream, &[2 + number]).unwrap();
        let (mut came, mut transfers) = (Array::<f32, _>::zeros(&stream, &[2]).unwrap(), ranks.transfers());
        transfers.send(&stream, 1 - number, &own).unwrap();
        transfers.receive_into(&stream, 1 - number, &mut came).unwrap();
        let itself = mistake(transfers.send(&stream, number, &own));
        assert_eq!(itself, CollectiveError::Itself(number));
        mistake(transfers.run())
    });
    for error in errors {
        let CollectiveError::Disagree(states) = &error else { panic!("{error}") };
        let states = states.to_string();
        assert!(states.contains(&format!("group.rs:{line}:19")), "{states}");
        assert!(
            states.contains("send of 3 f32 to rank 0") && states.contains("receive of 2 f32"),
            "{states}"
        );
    }
}

/// Dropped without being run, they are nothing.
#[test]
fn transfers_that_are_not_run_are_not_made() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let own = Array::<f32, _>::zeros(&stream, &[2]).unwrap();
        ranks.transfers().send(&stream, 1 - number, &own).unwrap();
        ranks.barrier().unwrap();
    });
}
