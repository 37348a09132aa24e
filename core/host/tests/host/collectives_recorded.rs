//! Recorded work of ranks as threads.
#![allow(unsafe_code)] // makes communicators unchecked

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use devarray::{
    Array, ArrayView, ArrayViewMut, Context, Error, Result,
    collective::{CollectiveError, Combination, Communicator, CommunicatorId},
    prelude::*,
    recorded::{Ranks as RanksKind, Reads, Recording, RecordingError, Writes},
};
use devarray_host::HostDevice;

use crate::collectives::{Rank, Ranks, Stream, context, mistake, on_each};

type View<'a> = ArrayView<'a, f32, HostDevice>;
type ViewMut<'a> = ArrayViewMut<'a, f32, HostDevice>;

/// A step of a fit by gradient descent, which knows nothing of recordings.
fn step(on: &Stream, x: &View<'_>, weights: &mut ViewMut<'_>, ranks: &mut Ranks) -> Result<()> {
    let errors = (x, &weights.as_view()).map(on, |(x, w)| x * w - 0.5)?;
    let mut slopes = (&errors, x).map(on, |(error, x)| error * x)?;
    ranks.all_reduce_in_place(on, Combination::Mean, &mut slopes)?;
    let squares = slopes.view().map(on, |slope| slope * slope)?;
    let scale = (&squares, 1e-3).map(on, |(square, least)| (square + least).sqrt())?;
    let largest = ranks.all_reduce(on, Combination::Maximum, &scale)?;
    weights.update(on, (&slopes, &largest), |w, (slope, scale)| w - slope / scale * 0.1)
}

type Step = Recording<HostDevice, (Reads<f32>, Writes<f32>, RanksKind)>;

fn record(
    on: &Stream,
    x: &Array<f32, HostDevice>,
    weights: &mut Array<f32, HostDevice>,
    ranks: &mut Ranks,
) -> Result<Step> {
    on.record_work((x, weights, ranks), |on, (x, mut weights, ranks)| step(on, &x, &mut weights, ranks))
}

fn bits(on: &Stream, of: &Array<f32, HostDevice>) -> Vec<u32> {
    of.to_vec(on).unwrap().into_iter().map(f32::to_bits).collect()
}

/// The samples of a rank.
fn samples(on: &Stream, rank: usize) -> Array<f32, HostDevice> {
    let numbers: Vec<f32> = (0..300).map(|k| ((k * 7 + rank * 13) % 101) as f32 / 50.0 - 1.0).collect();
    Array::from_slice(on, &[300], &numbers).unwrap()
}

/// The calls between exchanges are captured, and no exchange waits for the turn that they run in.
#[test]
fn a_training_step_has_the_bits_of_its_calls() {
    for count in [1, 2, 3] {
        for unchecked in [false, true] {
            let all = on_each(count, |Rank { number, stream, mut ranks }| {
                let x = samples(&stream, number);
                let [mut due, mut weights] = [1.0, 1.0].map(|w| Array::full(&stream, &[300], w).unwrap());
                let recorded = record(&stream, &x, &mut weights, &mut ranks).unwrap();
                assert_eq!((recorded.len(), recorded.is_captured()), (7, false));
                if unchecked {
                    // SAFETY: all ranks make the same calls.
                    ranks = unsafe { ranks.into_unchecked() };
                }
                for round in 0..6 {
                    step(&stream, &x.view(), &mut due.view_mut(), &mut ranks).unwrap();
                    recorded.launch(&stream, (&x, &mut weights, &mut ranks)).unwrap();
                    assert!(recorded.is_captured(), "launch {round}");
                    assert_eq!(bits(&stream, &weights), bits(&stream, &due), "launch {round}");
                }
                bits(&stream, &weights)
            });
            assert!(all.iter().all(|of| *of == all[0]), "all ranks have learnt the same");
        }
    }
}

/// The recording of an error of a call.
fn refused<T>(outcome: Result<T>) -> (&'static str, RecordingError) {
    match outcome {
        Err(Error::Recording { operation, error, .. }) => (operation, error),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

/// The stand-in of a communicator does nothing behind its recording, and nobody misses it.
#[test]
fn a_stand_in_that_escapes_is_refused_by_every_call() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let mut x = Array::full(&stream, &[4], 1.0_f32).unwrap();
        let mut escaped = Communicator::join(&context(), &CommunicatorId::new(), 0, 1).unwrap();
        let mut kept = None;
        let recorded = stream.record_work((&mut x, &mut ranks), |on, (mut x, ranks)| {
            ranks.all_reduce_in_place(on, Combination::Sum, &mut x)?;
            kept = Some(on.clone());
            mem::swap(ranks, &mut escaped);
            Ok(())
        });
        let recorded = recorded.unwrap();
        assert!(format!("{escaped:?}").contains(&format!("rank {number} of 2")), "{escaped:?}");
        // SAFETY: no exchange of it is made.
        let mut escaped = unsafe { escaped.into_unchecked() };
        let (outside, not) = (RecordingError::Outside, RecordingError::NotRecorded);
        assert_eq!(refused(escaped.barrier()), ("barrier", not));
        assert_eq!(refused(escaped.split(None)), ("split", not));
        assert_eq!(refused(escaped.broadcast(&stream, 0, &mut x)), ("broadcast", outside));
        assert_eq!(refused(escaped.all_gather(&stream, &x)), ("all_gather", outside));
        let counted = escaped.all_to_all_counted(&stream, &x.slice_axis(0, ..2).unwrap(), &[1, 1]);
        assert_eq!(refused(counted), ("all_to_all_counted", not));
        let again = stream.record_work((&mut x, &mut escaped), |_, _| Ok(()));
        assert_eq!(refused(again), ("record_work", outside));
        assert_eq!(refused(recorded.launch(&stream, (&mut x, &mut escaped))), ("launch", outside));
        let over = escaped.all_gather(&kept.unwrap(), &x);
        assert_eq!(refused(over), ("alloc", RecordingError::Over));
        drop(escaped);
        recorded.launch(&stream, (&mut x, &mut ranks)).unwrap();
        assert_eq!(x.to_vec(&stream).unwrap(), [2.0; 4]);
        ranks.barrier().unwrap();
    });
}

/// A closure that panics tells no other rank, and neither does one that is forgotten.
#[test]
fn a_recording_that_panics_is_nobody_elses() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let mut x = Array::full(&stream, &[4], 1_i32).unwrap();
        if number == 1 {
            let recorded = catch_unwind(AssertUnwindSafe(|| {
                stream.record_work((&mut x, &mut ranks), |on, (mut x, ranks)| {
                    ranks.all_reduce_in_place(on, Combination::Sum, &mut x)?;
                    std::panic::resume_unwind(Box::new("on purpose"))
                })
            }));
            assert!(recorded.is_err());
            let forgotten = stream.record_work((&mut x, &mut ranks), |on, (mut x, ranks)| {
                ranks.all_reduce_in_place(on, Combination::Sum, &mut x)
            });
            mem::forget(forgotten.unwrap());
        }
        ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x).unwrap();
        assert_eq!(x.to_vec(&stream).unwrap(), [2; 4]);
    });
}

/// A strict stream refuses a launch before any rank is asked.
#[test]
fn a_strict_stream_refuses_all_of_a_launch() {
    on_each(2, |Rank { number, stream, mut ranks }| {
        let strict = ranks.context().strict_stream().unwrap();
        let [mut x, mut y] = [1_i32, 2].map(|of| Array::full(&stream, &[4], of).unwrap());
        let recorded = stream.record_work((&mut x, &mut y, &mut ranks), |on, (mut x, mut y, ranks)| {
            x.fill(on, 5)?;
            ranks.all_reduce_in_place(on, Combination::Sum, &mut x)?;
            y.copy_from(on, &x.as_view())
        });
        let recorded = recorded.unwrap();
        strict.wait(&stream.record().unwrap()).unwrap();
        // The conflict is with a call behind the exchange.
        y.view_mut().fill(&stream, 3).unwrap();
        if number == 0 {
            let hazard = recorded.launch(&strict, (&mut x, &mut y, &mut ranks));
            assert!(matches!(hazard, Err(Error::Hazard { operation: "launch", .. })), "{hazard:?}");
            assert_eq!(x.to_vec(&strict).unwrap(), [1; 4]);
        }
        strict.wait(&stream.record().unwrap()).unwrap();
        recorded.launch(&strict, (&mut x, &mut y, &mut ranks)).unwrap();
        assert_eq!(y.to_vec(&strict).unwrap(), [10; 4]);
    });
}

/// A launch that is refused on one rank ends an unchecked communicator for all, as a call does; other ranks of a
/// checked one know nothing of it.
#[test]
fn a_launch_that_is_refused_ends_an_unchecked_communicator() {
    for unchecked in [false, true] {
        let told = on_each(2, |Rank { number, stream, mut ranks }| {
            let mut x = Array::full(&stream, &[4], 1_i32).unwrap();
            let sum = stream.record_work((&mut x, &mut ranks), |on, (mut x, ranks)| {
                ranks.all_reduce_in_place(on, Combination::Sum, &mut x)
            });
            let sum = sum.unwrap();
            if unchecked {
                // SAFETY: all ranks make the same exchanges, until one is refused.
                ranks = unsafe { ranks.into_unchecked() };
            }
            if number == 0 {
                let mut short = Array::full(&stream, &[3], 1_i32).unwrap();
                let refusal = refused(sum.launch(&stream, (&mut short, &mut ranks)));
                assert_eq!(refusal, ("launch", RecordingError::Argument(0)));
            }
            sum.launch(&stream, (&mut x, &mut ranks)).map(|()| x.to_vec(&stream).unwrap())
        });
        for told in told {
            match told {
                Ok(sum) => assert!(!unchecked && sum == [2; 4], "{sum:?}"),
                told => assert_eq!((mistake(told), unchecked), (CollectiveError::Aborted, true)),
            }
        }
    }
}

/// The aborter of a stand-in ends the communicator that was given.
#[test]
fn an_abort_in_a_recording_happens_at_once() {
    let told = on_each(2, |Rank { number, stream, mut ranks }| {
        let mut x = Array::full(&stream, &[4], 1_i32).unwrap();
        if number == 0 {
            let recorded = stream.record_work((&mut ranks,), |_, (ranks,)| {
                ranks.aborter().abort();
                Ok(())
            });
            assert!(recorded.unwrap().is_empty());
        }
        ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x)
    });
    told.into_iter().for_each(|told| assert_eq!(mistake(told), CollectiveError::Aborted));
}

#[test]
fn communicators_of_other_contexts_are_refused() {
    let (here, there) = (context(), context());
    let join = |of: &Context<HostDevice>| Communicator::join(of, &CommunicatorId::new(), 0, 1).unwrap();
    let (mut own, mut other, stream) = (join(&here), join(&there), here.stream().unwrap());
    let mut x = Array::full(&stream, &[2], 3_u8).unwrap();
    let elsewhere = |outcome: Result<()>| matches!(outcome, Err(Error::DeviceMismatch { .. }));
    assert!(elsewhere(stream.record_work((&mut other,), |_, _| Ok(())).map(drop)));
    let recorded = stream
        .record_work((&mut x, &mut own), |on, (mut x, ranks)| {
            ranks.all_reduce_in_place(on, Combination::Sum, &mut x)
        })
        .unwrap();
    assert!(elsewhere(recorded.launch(&stream, (&mut x, &mut other))));
    recorded.launch(&stream, (&mut x, &mut own)).unwrap();
    assert_eq!(format!("{recorded:?}"), "Recording(1 calls of 2 arguments)");
}

/// Launches of one recording on several threads, each with a communicator of its own, do not mix.
#[test]
fn launches_of_several_threads_follow_each_other() {
    const LEN: usize = 5_000;
    on_each(2, |Rank { number, stream, mut ranks }| {
        // Each thread's communicator has one rank, so that no launch waits for another thread.
        let alone = |ranks: &mut Ranks| ranks.split(Some(number)).unwrap().unwrap();
        let mut groups = [alone(&mut ranks), alone(&mut ranks), alone(&mut ranks)];
        let x = Array::full(&stream, &[LEN], 1_i64).unwrap();
        let mut y = Array::<i64, _>::zeros(&stream, &[LEN]).unwrap();
        let recorded = stream
            .record_work((&x, &mut y, &mut groups[0], 0_i64), |on, (x, mut y, ranks, by)| {
                let scratch = (&x, &by).map(on, |(x, by)| x + by)?;
                let all = ranks.all_reduce(on, Combination::Sum, &scratch)?;
                (&all, &scratch).map_into(on, &mut y, |(all, scratch)| all * 1000 + scratch)
            })
            .unwrap();
        let (recorded, x, stream) = (&recorded, &x, &stream);
        thread::scope(|scope| {
            for (by, group) in (1_i64..).zip(&mut groups) {
                scope.spawn(move || {
                    let mut y = Array::<i64, _>::zeros(stream, &[LEN]).unwrap();
                    for round in 0..20 {
                        recorded.launch(stream, (x, &mut y, &mut *group, by + round)).unwrap();
                        assert_eq!(y.to_vec(stream).unwrap(), vec![1001 * (1 + by + round); LEN]);
                    }
                });
            }
        });
    });
}
