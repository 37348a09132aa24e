//! Plays raw streams of two ranks that reach each other's memory. Work that one rank has waited for may race
//! with the other.
#![allow(unsafe_code, clippy::unwrap_used)] // makes a race on purpose; no fault is planned

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
};

use devarray::{
    Array, Context, Crossing,
    backend::{CopyOp, PeerAccess},
    collective::{Combination, Communicator},
};
use devarray_mock::{Code, MockBuffer, MockDevice, MockEvent, Schedule};

use super::support::{Queue, linear};

/// Rank 0 fills memory, waits for that and reads the memory; rank 1 copies from it, ordered only after its
/// allocation. The read does not hide the fill, because rank 1 has not waited for the fill. Behind a barrier it need
/// not: its calls come after the wait of rank 0. An exchange is no barrier.
#[test]
fn a_write_that_one_rank_has_waited_for_races_with_another_rank() {
    let run = |schedule: Schedule, is_event_late: bool, has_barrier: bool| {
        let device = MockDevice::builder().schedule(schedule).build();
        let lent: Mutex<Option<(MockBuffer, MockEvent)>> = Mutex::new(None);
        let devices: Mutex<Vec<MockDevice>> = Mutex::default();
        device.cluster(2, |rank| {
            let context = Context::new(rank.device()).unwrap();
            let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2).unwrap();
            devices.lock().unwrap().push(rank.device());
            ranks.barrier().unwrap();
            let queue = Queue::open(&rank.device());
            let own = queue.alloc(8);
            if rank.number() == 0 {
                let b = queue.alloc(8);
                let mut event = queue.record();
                queue.fill(&b, 0, 8, 1).unwrap();
                queue.synchronize();
                if is_event_late {
                    event = queue.record();
                }
                queue.copy(&own, 0, &b, 0, 8).unwrap();
                *lent.lock().unwrap() = Some((b, event));
            }
            if has_barrier {
                ranks.barrier().unwrap();
            } else {
                let stream = context.stream().unwrap();
                let mut zeros = Array::<i32, _>::zeros(&stream, &[1]).unwrap();
                ranks.all_reduce_in_place(&stream, Combination::Sum, &mut zeros).unwrap();
            }
            if rank.number() == 1 {
                let lent = lent.lock().unwrap();
                let (b, event) = lent.as_ref().unwrap();
                let peers = devices.lock().unwrap();
                peers.iter().for_each(|peer| rank.device().enable_peer_access(peer).unwrap());
                rank.device().wait_for_peer(&queue.0, event).unwrap();
                let plan = linear(0, 0, 8);
                // SAFETY: the simulator defines the effect of a race.
                let op = unsafe { CopyOp::new_unchecked(&own, b, &plan) };
                rank.device().copy_from_peer(&queue.0, &op).unwrap();
            }
            queue.synchronize();
            ranks.barrier().unwrap();
            if rank.number() == 0 {
                lent.lock().unwrap().take();
            }
            queue.free(own).unwrap();
        });
        let findings = device.report().findings;
        findings.iter().map(|found| (found.code, found.with.len())).collect::<Vec<_>>()
    };
    for schedule in [Schedule::Eager, Schedule::Lazy, Schedule::Random] {
        assert_eq!(run(schedule.clone(), true, false), []);
        assert_eq!(run(schedule.clone(), false, true), []);
        assert_eq!(run(schedule, false, false), [(Code::Race, 1)]);
    }
}

/// A program knows nothing of the ranks it starts but that they begin after its waits, and end before it
/// goes on.
#[test]
fn ranks_begin_and_end_with_the_waits_of_their_program() {
    let run = |program_waits: bool, rank_waits: bool| {
        let device = MockDevice::builder().schedule(Schedule::Eager).build();
        let queue = Queue::open(&device);
        let b = queue.alloc(8);
        queue.synchronize();
        queue.fill(&b, 0, 8, 1).unwrap();
        if program_waits {
            queue.synchronize();
        }
        device.cluster(2, |rank| {
            if rank.number() == 1 {
                let here = rank.device();
                here.enable_peer_access(&device).unwrap();
                let reads = Queue::open(&here);
                let own = reads.alloc(8);
                let plan = linear(0, 0, 8);
                // SAFETY: the simulator defines the effect of a race.
                let op = unsafe { CopyOp::new_unchecked(&own, &b, &plan) };
                here.copy_from_peer(&reads.0, &op).unwrap();
                if rank_waits {
                    reads.synchronize();
                }
                reads.free(own).unwrap();
            }
        });
        queue.fill(&b, 0, 8, 2).unwrap();
        queue.free(b).unwrap();
        device.report().findings.iter().map(|found| (found.code, found.operation.kind)).collect::<Vec<_>>()
    };
    assert_eq!(run(true, true), []);
    assert_eq!(run(false, true), [(Code::Race, "copy")]);
    assert_eq!(run(true, false)[0], (Code::Race, "fill"));
}

/// A rank's thread uses and drops what belongs to another rank, at its own turn and by its own host.
#[test]
fn a_rank_uses_handles_of_another() {
    for schedule in [Schedule::Eager, Schedule::Lazy, Schedule::Random] {
        let device = MockDevice::builder().schedule(schedule).build();
        let lent = Mutex::new(None);
        device.cluster(2, |rank| {
            let context = Context::new(rank.device()).unwrap();
            let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2).unwrap();
            let stream = context.stream().unwrap();
            if rank.number() == 0 {
                let own = Array::full(&stream, &[4], 7).unwrap();
                *lent.lock().unwrap() = Some((context.clone(), stream, own));
                return ranks.barrier().unwrap();
            }
            ranks.barrier().unwrap();
            let (theirs, source_stream, source) = lent.lock().unwrap().take().unwrap();
            let mut own = Array::<i32, _>::zeros(&stream, &[4]).unwrap();
            // Staged, and then in place.
            let copy = |own: &mut Array<i32, _>| {
                own.view_mut().copy_from_peer(&stream, &source_stream, &source.view()).unwrap()
            };
            assert_eq!(copy(&mut own), Crossing::Staged);
            context.enable_peer_access(&theirs).unwrap();
            assert_eq!(copy(&mut own), Crossing::InPlace);
            assert_eq!(own.to_vec(&stream).unwrap(), [7; 4]);
            drop((source, source_stream, theirs));
        });
        assert_eq!(device.report().findings, []);
    }
}

#[test]
fn a_cluster_within_a_rank_is_refused() {
    let device = MockDevice::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        device.cluster(2, |rank| rank.device().cluster(2, |_| ()));
    }));
    let panic = outcome.unwrap_err();
    let text = panic.downcast_ref::<&str>().unwrap();
    assert!(text.contains("while another one runs"), "{text}");
    // Afterwards there may be another.
    assert_eq!(device.cluster(2, |rank| rank.number()), [0, 1]);
}

/// The results of ranks are used and dropped by the program that started them.
#[test]
fn handles_outlive_their_rank() {
    let device = MockDevice::new();
    let results = device.cluster(2, |rank| {
        let stream = Context::new(rank.device()).unwrap().stream().unwrap();
        let own = Array::full(&stream, &[4], rank.number()).unwrap();
        (stream, own)
    });
    for (rank, (stream, own)) in results.iter().enumerate() {
        assert_eq!(own.to_vec(stream).unwrap(), [rank; 4]);
    }
    drop(results);
    assert_eq!(device.report().findings, []);
}
