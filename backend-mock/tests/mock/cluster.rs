//! Plays ranks of a training step on the simulator. Mistakes of every kind are found, with the calls and lines of
//! both ranks; the correct program has no finding.
#![allow(unsafe_code, clippy::unwrap_used)] // makes mistakes that only unchecked streams let pass; helpers of tests

use std::{cell::Cell, sync::Barrier, time::Duration};

use devarray::{
    Array, Context, Error, Layout, Result, StreamHandle,
    collective::{CollectiveError, Combination, Communicator},
    prelude::*,
};
use devarray_mock::{Code, Explore, Failure, FaultPlan, MockDevice, Rank, Schedule, Wrong, cluster};

/// The mistake that rank 1 makes, or that each rank makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    OtherOperation,
    OtherCount,
    OtherType,
    OtherRoot,
    OtherCombination,
    SkippedCall,
    OtherOrder,
    UnpairedSend,
    UnpairedReceive,
    BothSendFirst,
    EndsEarly,
    Panics,
    NoWaitBefore,
    NoWaitAfter,
    OverlappingBuffers,
}

use Mistake::*;

/// Makes two steps of gradient descent; each rank has its own samples.
fn train(rank: &Rank, mistake: Mistake) -> Result<Vec<f32>> {
    let (here, context) = (rank.number(), Context::new(rank.device())?);
    let stream = context.stream()?;
    // SAFETY: the simulator defines the effect of a missing order.
    let side = unsafe { context.unchecked_stream() }?;
    let does = |what: Mistake| mistake == what && here == 1;
    let mut ranks = Communicator::join(&context, &rank.id(0), here, 2)?;
    let mut losses = Communicator::join(&context, &rank.id(1), here, 2)?;
    let x = Array::from_slice(&stream, &[4], &[1.0_f32, 2.0, 3.0, 4.0].map(|x| x + here as f32))?;
    let y = x.view().map(&stream, |x| x * 0.5)?;
    let mut weights = Array::full(&stream, &[4], 1.0_f32 + here as f32)?;
    ranks.broadcast(&stream, usize::from(does(OtherRoot)), &mut weights)?;
    for _ in 0..2 {
        let mut slopes = (&x, &y, &weights).map(&stream, |(x, y, w)| (x * w - y) * x)?;
        let loss = (&slopes, 0.25).map(&stream, |(slope, share)| slope * slope * share)?;
        let on = if does(NoWaitBefore) { &side } else { &stream };
        if does(OtherOrder) {
            drop(losses.all_reduce(&stream, Combination::Sum, &loss)?);
        }
        match mistake {
            OtherOperation if here == 1 => drop(ranks.all_gather(on, &slopes)?),
            OtherCount if here == 1 => {
                drop(ranks.all_reduce(on, Combination::Mean, &slopes.slice_axis(0, ..3)?)?);
            }
            OtherType if here == 1 => {
                let wide = slopes.view().map(on, |x| x.cast::<f64>())?;
                drop(ranks.all_reduce(on, Combination::Mean, &wide)?);
            }
            OtherCombination if here == 1 => ranks.all_reduce_in_place(on, Combination::Sum, &mut slopes)?,
            OverlappingBuffers if here == 1 => overlapping(&mut ranks, &side, &slopes)?,
            SkippedCall if here == 1 => {}
            _ => ranks.all_reduce_in_place(on, Combination::Mean, &mut slopes)?,
        }
        if does(NoWaitAfter) {
            slopes.view_mut().fill(&side, 0.0)?;
        }
        weights.update(&stream, (&slopes, 0.01), |w, (slope, rate)| w - rate * slope)?;
        if !does(OtherOrder) {
            drop(losses.all_reduce(&stream, Combination::Sum, &loss)?);
        }
        if does(EndsEarly) {
            return weights.to_vec(&stream);
        }
        assert!(!does(Panics), "on purpose");
        match (here, mistake) {
            (1, UnpairedSend) => {}
            (1, BothSendFirst) => ranks.send(&stream, 0, &weights)?,
            (1, _) => drop(ranks.receive::<f32>(&stream, 0, &[4])?),
            (_, UnpairedReceive) => {}
            _ => ranks.send(&stream, 1, &weights)?,
        }
    }
    ranks.barrier()?;
    weights.to_vec(&stream)
}

/// Makes an all-reduce whose result begins one element after its source, in the same memory.
fn overlapping(
    ranks: &mut Communicator<MockDevice>,
    side: &StreamHandle<MockDevice>,
    slopes: &Array<f32, MockDevice>,
) -> Result<()> {
    let memory = Array::from_slice(side, &[5], &[0.0_f32; 5])?.release(side)?;
    let line = |offset| Layout::new(&[4], &[1], offset);
    // SAFETY: the memory exists until `reclaim`; the overlap is the mistake to be found.
    let source = unsafe { Array::<f32, _>::adopt(side, memory.address(), &line(0)?, ()) }?;
    // SAFETY: as above.
    let mut result = unsafe { Array::<f32, _>::adopt(side, memory.address(), &line(1)?, ()) }?;
    ranks.all_reduce_into(side, Combination::Mean, &source, &mut result)?;
    side.synchronize()?;
    drop((source, result, slopes));
    // SAFETY: it is the memory that was released, and nobody uses it any more.
    drop(unsafe { Array::<f32, _>::reclaim(side, memory) }?);
    side.synchronize()
}

fn run(schedules: u64, mistake: Mistake) -> Result<u64, Failure> {
    Explore::new().schedules(schedules).run(|device| device.cluster(2, |rank| train(&rank, mistake)))
}

#[test]
fn a_training_step_of_two_ranks_is_right_under_many_schedules() {
    run(30, None).unwrap_or_else(|failure| panic!("{failure}"));
    let outcomes = MockDevice::new().cluster(2, |rank| train(&rank, None).unwrap());
    assert_eq!(outcomes[0], outcomes[1]);
}

#[test]
fn fifteen_mistakes_of_a_training_step_are_found() {
    let mistakes = [
        (OtherOperation, Code::RanksDisagree, ["all_reduce(mean) of 4 f32", "all_gather of 4 f32"]),
        (OtherCount, Code::RanksDisagree, ["all_reduce(mean) of 4 f32", "all_reduce(mean) of 3 f32"]),
        (OtherType, Code::RanksDisagree, ["all_reduce(mean) of 4 f32", "all_reduce(mean) of 4 f64"]),
        (
            OtherRoot,
            Code::RanksDisagree,
            ["broadcast of 4 f32 with root 0", "broadcast of 4 f32 with root 1"],
        ),
        (OtherCombination, Code::RanksDisagree, ["all_reduce(mean) of 4 f32", "all_reduce(sum) of 4 f32"]),
        (SkippedCall, Code::RanksStuck, ["all_reduce(mean) of 4 f32", "all_reduce(sum) of 4 f32"]),
        (OtherOrder, Code::RanksStuck, ["all_reduce(mean) of 4 f32", "all_reduce(sum) of 4 f32"]),
        (UnpairedSend, Code::Unpaired, ["send of 4 f32 to rank 1", "all_reduce(mean) of 4 f32"]),
        (UnpairedReceive, Code::Unpaired, ["receive of 4 f32 from rank 0", "all_reduce(mean) of 4 f32"]),
        (BothSendFirst, Code::Unpaired, ["send of 4 f32 to rank 1", "send of 4 f32 to rank 0"]),
        (EndsEarly, Code::RankGone, ["send of 4 f32 to rank 1", "rank 1 has dropped its communicator"]),
        (Panics, Code::RankGone, ["send of 4 f32 to rank 1", "rank 1 has panicked"]),
    ];
    for (mistake, code, due) in mistakes {
        let failure = run(0, mistake).expect_err("a mistake");
        let Wrong::Found(finding) = &failure.wrong else { panic!("{mistake:?}: {failure}") };
        assert_eq!(finding.code, code, "{mistake:?}: {failure}");
        let notes = finding.notes.join("\n");
        assert!(due.iter().all(|due| notes.contains(due)), "{mistake:?}: {notes}");
        let lines = notes.matches("cluster.rs:").count();
        assert_eq!(lines, if code == Code::RankGone { 1 } else { 2 }, "{mistake:?}: {notes}");
    }
    for (mistake, code, kind) in [
        (NoWaitBefore, Code::UseBeforeAlloc, "all_reduce"),
        (NoWaitAfter, Code::UseBeforeAlloc, "fill"),
        (OverlappingBuffers, Code::Overlap, "all_reduce"),
    ] {
        let failure = run(0, mistake).expect_err("a mistake");
        let Wrong::Found(finding) = &failure.wrong else { panic!("{mistake:?}: {failure}") };
        assert_eq!((finding.code, finding.operation.kind), (code, kind), "{mistake:?}: {failure}");
        assert!(finding.operation.location.file().ends_with("cluster.rs"), "{failure}");
    }
}

/// Rank 1 waits for the sum, which comes after the earlier work of rank 0. This is not a wait of rank 0.
#[test]
fn the_wait_of_a_rank_does_not_stand_for_that_of_another() {
    let run = |rank_0_waits: bool| {
        let device = MockDevice::builder().schedule(Schedule::Eager).build();
        device.cluster(2, |rank| {
            let context = Context::new(rank.device()).unwrap();
            // SAFETY: the simulator defines the effect of a missing order.
            let [one, two] = [(); 2].map(|()| unsafe { context.unchecked_stream() }.unwrap());
            let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2).unwrap();
            let mut x = Array::full(&one, &[4], 1_u8).unwrap();
            ranks.all_reduce_in_place(&one, Combination::Sum, &mut x).unwrap();
            if rank_0_waits || rank.number() == 1 {
                one.synchronize().unwrap();
            }
            if rank.number() == 0 {
                x.view_mut().fill(&two, 2).unwrap();
            }
            two.synchronize().unwrap();
            one.synchronize().unwrap();
        });
        device.report().findings
    };
    assert_eq!(run(true), []);
    let found: Vec<Code> = run(false).iter().map(|finding| finding.code).collect();
    assert_eq!(found, [Code::UseBeforeAlloc]);
}

#[test]
fn a_run_is_repeated_by_its_trace() {
    let run = |schedule: Schedule| {
        let device = MockDevice::builder().schedule(schedule).seed(5).record_trace(true).build();
        let outcomes = device.cluster(3, |rank| {
            let context = Context::new(rank.device()).unwrap();
            let stream = context.stream().unwrap();
            let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 3).unwrap();
            let own = Array::full(&stream, &[2], rank.number() as f64).unwrap();
            ranks.all_reduce(&stream, Combination::Sum, &own).unwrap().to_vec(&stream).unwrap()
        });
        assert_eq!(outcomes, [[3.0; 2]; 3]);
        device.finish();
        (device.trace().unwrap(), device.trace_hash())
    };
    let (trace, hash) = run(Schedule::Random);
    assert_eq!(run(Schedule::Random), (trace.clone(), hash));
    assert_eq!(run(Schedule::Replay(trace.clone())), (trace.clone(), hash));
    assert_ne!(run(Schedule::Eager).0, trace);
}

/// The simulator chooses the rank that runs first, and schedules differ in this choice.
#[test]
fn schedules_choose_who_goes_on() {
    let first = |seed| {
        let device = MockDevice::builder().schedule(Schedule::Random).seed(seed).build();
        let order = std::sync::Mutex::new(Vec::new());
        device.cluster(2, |rank| {
            let _context = Context::new(rank.device()).unwrap();
            order.lock().unwrap().push(rank.number());
        });
        order.into_inner().unwrap()
    };
    let orders: Vec<Vec<usize>> = (0..20).map(first).collect();
    assert!(orders.contains(&vec![0, 1]) && orders.contains(&vec![1, 0]), "{orders:?}");
}

#[test]
fn a_rank_that_waits_outside_the_library_is_told_of() {
    let device = MockDevice::builder().rank_time_limit(Duration::from_millis(20)).build();
    let both = Barrier::new(2);
    device.cluster(2, |rank| {
        // Outside the library, a waiting rank does not let the other rank run.
        both.wait();
        drop(Context::new(rank.device()).unwrap());
    });
    let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::RankBlocked]);
}

#[test]
fn a_call_that_fails_on_one_rank_ends_it_on_all() {
    for (site, due) in [("collect#0=refused", 1), ("collect#1=refused", 1), ("join#1=refused", 0)] {
        let plan: FaultPlan = site.parse().unwrap();
        let failed = Cell::new(0);
        Explore::new()
            .schedules(10)
            .faults(plan)
            .run(|device| {
                let told = device.cluster(2, |rank| -> Result<()> {
                    let context = Context::new(rank.device())?;
                    let stream = context.stream()?;
                    let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2)?;
                    let mut x = Array::full(&stream, &[4], 1.0_f32)?;
                    ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x)?;
                    x.to_vec(&stream).map(drop)
                });
                assert!(told.iter().all(Result::is_err), "{told:?}");
                let aborted = told.iter().filter(|told| {
                    matches!(told, Err(Error::Collective { error: CollectiveError::Aborted, .. }))
                });
                failed.set(aborted.count());
            })
            .unwrap_or_else(|failure| panic!("{site}: {failure}"));
        assert_eq!(failed.get(), due, "{site}");
    }
}

/// The rank's call returns without an error. The device is lost when the exchange runs, and the elements are moved or
/// not. The twin loses the device at the call, which returns the error.
#[test]
fn an_exchange_is_torn_when_it_runs() {
    let mut moved = [0, 0];
    for (site, is_told_later) in
        [("collect#0=torn", true), ("collect#1=torn", true), ("collect#0=lost", false)]
    {
        for seed in 0..20 {
            let builder = MockDevice::builder().schedule(Schedule::Random).seed(seed);
            let device = builder.faults(site.parse().unwrap()).build();
            let outcomes = device.cluster(2, |rank| {
                let context = Context::new(rank.device()).unwrap();
                let stream = context.stream().unwrap();
                let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2).unwrap();
                let mut x = Array::full(&stream, &[4], 1.0_f32).unwrap();
                let called = ranks.all_reduce_in_place(&stream, Combination::Sum, &mut x);
                (called.is_ok(), x.to_vec(&stream))
            });
            assert_eq!(device.faults_fired().len(), 1, "{site}");
            assert_eq!(device.report().findings, [], "{site}");
            assert_eq!(device.statistics().enqueued.exchanges.count, if is_told_later { 2 } else { 0 });
            assert!(outcomes.iter().all(|(called, _)| *called == is_told_later), "{site}: {outcomes:?}");
            // The other rank may be done before.
            let done: Vec<_> = outcomes.iter().filter_map(|(_, came)| came.as_ref().ok()).collect();
            assert!(done.len() < 2 && done.iter().all(|came| ***came == [2.0; 4]), "{site}: {outcomes:?}");
            moved[done.len()] += u32::from(is_told_later);
        }
    }
    assert!(moved.iter().all(|&times| times > 0), "{moved:?}");
}

#[test]
#[should_panic(expected = "the calls of the ranks differ")]
fn a_wrong_program_fails_like_a_test() {
    cluster(2, |rank| {
        let context = Context::new(rank.device()).unwrap();
        let stream = context.stream().unwrap();
        let mut ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2).unwrap();
        let x = Array::full(&stream, &[2 + rank.number()], 1_i32).unwrap();
        drop(ranks.all_reduce(&stream, Combination::Sum, &x).unwrap());
    });
}

/// Calls of an unchecked communicator that differ are found, too, with the calls of both ranks.
#[test]
fn unchecked_calls_that_differ_are_found() {
    let run = |len: usize, combination: Combination, is_skipped: bool| {
        Explore::new().schedules(3).run(|device| {
            device.cluster(2, |rank| -> Result<()> {
                let context = Context::new(rank.device())?;
                let stream = context.stream()?;
                let ranks = Communicator::join(&context, &rank.id(0), rank.number(), 2)?;
                // SAFETY: the simulator compares the calls.
                let mut ranks = unsafe { ranks.into_unchecked() };
                let is_last = rank.number() == 1;
                let own = Array::full(&stream, &[if is_last { len } else { 4 }], 1.0_f32)?;
                let combination = if is_last { combination } else { Combination::Sum };
                if !(is_last && is_skipped) {
                    drop(ranks.all_reduce(&stream, combination, &own)?);
                }
                let all = ranks.all_gather(&stream, &own)?;
                all.to_vec(&stream).map(drop)
            });
        })
    };
    run(4, Combination::Sum, false).unwrap_or_else(|failure| panic!("{failure}"));
    for (len, combination, is_skipped) in
        [(5, Combination::Sum, false), (4, Combination::Minimum, false), (4, Combination::Sum, true)]
    {
        let failure = run(len, combination, is_skipped).expect_err("a mistake");
        let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
        assert_eq!(finding.code, Code::RanksDisagree, "{failure}");
        assert!(finding.notes.join("\n").contains("rank 0 calls all_reduce(sum) of 4 f32"), "{failure}");
    }
}

/// In a ring, each rank sends to both neighbours. Grouped transfers are correct under every schedule;
/// transfers one after another are a finding ([`BothSendFirst`]).
#[test]
fn transfers_of_a_ring_have_no_order_to_keep() {
    const RANKS: usize = 3;
    cluster(RANKS, |rank| {
        let (here, context) = (rank.number(), Context::new(rank.device()).unwrap());
        let stream = context.stream().unwrap();
        let mut ranks = Communicator::join(&context, &rank.id(0), here, RANKS).unwrap();
        let (left, right) = ((here + RANKS - 1) % RANKS, (here + 1) % RANKS);
        let own = Array::full(&stream, &[4], here as u64).unwrap();
        let mut came = [left, right].map(|_| Array::<u64, _>::zeros(&stream, &[4]).unwrap());
        let [from_left, from_right] = &mut came;
        let mut transfers = ranks.transfers();
        transfers.send(&stream, right, &own).unwrap();
        transfers.send(&stream, left, &own).unwrap();
        transfers.receive_into(&stream, right, from_right).unwrap();
        transfers.receive_into(&stream, left, from_left).unwrap();
        transfers.run().unwrap();
        for (of, came) in [left, right].into_iter().zip(&came) {
            assert_eq!(came.to_vec(&stream).unwrap(), [of as u64; 4]);
        }
    });
}
