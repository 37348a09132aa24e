//! Proves on real devices that collective operations of ranks equal the CPU's, to the bit, and times them.
//!
//! Uses all CUDA devices of the machine, so each test is ignored by default. If there are more ranks than devices,
//! several ranks share a device:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_collectives:: --nocapture
//! --test-threads 1`.
#![allow(unsafe_code)] // makes communicators unchecked
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Instant;

use devarray::{
    Array, Context, StreamHandle,
    collective::{Combination, CommunicatorId, Group},
};
use devarray_conformance::rank_programs::{Functions, RankProgram};
use devarray_cuda::CudaDevice;

use super::{
    ranks_of::{equal_the_cpu, on_each},
    ranks_recorded::{launches_equal_calls, samples, step},
};

fn devices() -> usize {
    let count = devarray_cuda::devices().unwrap().len();
    assert!(count > 0, "a device is needed");
    count
}

fn contexts(ranks: usize) -> Vec<Context<CudaDevice>> {
    let devices = devices();
    (0..ranks).map(|rank| Context::new(CudaDevice::open(rank % devices).unwrap()).unwrap()).collect()
}

#[test]
#[ignore = "needs CUDA devices"]
fn exchanges_equal_the_cpu() {
    for ranks in 1..=4 {
        let contexts = contexts(ranks);
        equal_the_cpu(&contexts, || (), &[1, 7, 1000, 100_003], &[3_000_001]);
        println!("{ranks} ranks on {} devices: the bits of the CPU", devices());
    }
}

/// The order of a stream includes its collective operations: elements that are written just before an operation take
/// part in it, and a later write to the source does not change what it sends.
#[test]
#[ignore = "needs CUDA devices"]
fn neighbours_of_an_exchange_stay_behind_and_before_it() {
    let ranks = devices().max(2);
    let contexts = contexts(ranks);
    let told = on_each(
        &contexts,
        || (),
        |context, ranks| {
            let (stream, count, len) = (context.stream()?, ranks.ranks(), 4 << 20);
            let s = &stream;
            let value_of = |round: usize, rank: usize| i32::try_from(round * 10 + rank).unwrap();
            let mut own = Array::<i32, _>::zeros(s, &[len])?;
            let mut parts = Array::<i32, _>::zeros(s, &[count, len / 8])?;
            let mut sum = Array::<i32, _>::zeros(s, &[len])?;
            let mut came = Array::<i32, _>::zeros(s, &[count, len / 8])?;
            for round in 0..50 {
                let value = value_of(round, ranks.rank());
                own.fill(s, value)?;
                parts.fill(s, value)?;
                ranks.all_reduce_into(s, Combination::Sum, &own, &mut sum)?;
                own.fill(s, -1)?;
                ranks.all_to_all_into(s, &parts, &mut came)?;
                parts.fill(s, -1)?;
                let due = (0..count).map(|rank| value_of(round, rank));
                assert!(sum.to_vec(s)?.iter().all(|&sum| sum == due.clone().sum::<i32>()), "round {round}");
                let came = came.to_vec(s)?;
                let parts = came.chunks(len / 8).zip(due).all(|(part, due)| part.iter().all(|&of| of == due));
                assert!(parts, "round {round}");
            }
            Ok(())
        },
    );
    told.into_iter().for_each(Result::unwrap);
}

/// Makes collective operations of few bytes, one after another, on changing streams; ranks are late now and then. The
/// copy of a source must not be overwritten before all ranks have read it.
#[test]
#[ignore = "needs CUDA devices"]
fn copies_of_few_bytes_stay_until_all_have_read_them() {
    const ROUNDS: usize = 2000;
    for count in 2..=4 {
        let told = on_each(
            &contexts(count),
            || (),
            |context, ranks| {
                let streams = [context.stream()?, context.stream()?];
                let mut own = [Array::<i32, _>::zeros(&streams[0], &[7])?, Array::zeros(&streams[1], &[7])?];
                let mut slow = [
                    Array::<f32, _>::zeros(&streams[0], &[1 << 23])?,
                    Array::zeros(&streams[1], &[1 << 23])?,
                ];
                let (rank, mut sums) = (ranks.rank(), Vec::with_capacity(ROUNDS));
                for round in 0..ROUNDS {
                    // Each rank draws other numbers.
                    let drawn = (round * 7 + 3) * (rank * 5 + 11) / 13;
                    let (on, value) = (drawn % 2, i32::try_from(round * 10 + rank).unwrap());
                    if drawn % 17 == 0 {
                        slow[on].fill(&streams[on], 1.0)?;
                    }
                    own[on].fill(&streams[on], value)?;
                    sums.push(ranks.all_reduce(&streams[on], Combination::Sum, &own[on])?);
                }
                for (round, sum) in sums.iter().enumerate() {
                    let due = (0..count).map(|rank| i32::try_from(round * 10 + rank).unwrap()).sum::<i32>();
                    assert_eq!(sum.to_vec(&streams[0])?, [due; 7], "round {round} of rank {rank}");
                }
                Ok(())
            },
        );
        told.into_iter().for_each(Result::unwrap);
    }
}

/// One thread runs the ranks of all devices as a group. Neighbours send to each other at once, on their own streams.
#[test]
#[ignore = "needs CUDA devices"]
fn a_group_of_one_thread_trades_edges() {
    const LEN: usize = 1 << 20;
    let ranks = devices().max(2);
    let contexts = contexts(ranks);
    let mut group = Group::join(&contexts, &CommunicatorId::new(), 0, ranks).unwrap();
    for round in 0..20 {
        let came = group.each(&contexts, |communicator, context| {
            let (to, from) = (context.stream()?, context.stream()?);
            let rank = communicator.rank();
            let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
            let own = Array::full(&to, &[LEN], i32::try_from(round * 10 + rank).unwrap())?;
            let mut from_left = Array::<i32, _>::zeros(&from, &[LEN])?;
            let mut from_right = Array::<i32, _>::zeros(&from, &[LEN])?;
            let mut transfers = communicator.transfers();
            transfers.send(&to, right, &own)?;
            transfers.send(&to, left, &own)?;
            transfers.receive_into(&from, left, &mut from_left)?;
            transfers.receive_into(&from, right, &mut from_right)?;
            transfers.run()?;
            Ok([from_left.to_vec(&from)?, from_right.to_vec(&from)?])
        });
        for (rank, came) in came.unwrap().into_iter().enumerate() {
            for (of, came) in [(rank + ranks - 1) % ranks, (rank + 1) % ranks].into_iter().zip(came) {
                let due = i32::try_from(round * 10 + of).unwrap();
                assert!(came.iter().all(|&element| element == due), "round {round}, rank {rank}");
            }
        }
    }
    println!("20 rounds of {ranks} ranks on {} devices", devices());
}

/// Compares random programs of one to four ranks with vectors.
#[test]
#[ignore = "needs CUDA devices"]
fn random_programs_have_the_bits_of_vectors() {
    let count = std::env::var("DEVARRAY_RANK_PROGRAMS").map_or(200, |count| count.parse().unwrap());
    for ranks in 1..=4 {
        let told = on_each(
            &contexts(ranks),
            || (),
            |_, ranks| {
                for seed in 0..count / 4 {
                    let program = RankProgram::drawn(seed, ranks.ranks());
                    let group = ranks.split(Some(0))?.unwrap();
                    let seen =
                        program.play(group, Functions::of_device()).unwrap_or_else(|told| panic!("{told}"));
                    program.compare(ranks.rank(), &seen).unwrap_or_else(|told| panic!("{told}"));
                }
                Ok(())
            },
        );
        told.into_iter().for_each(|outcome| outcome.unwrap());
    }
    println!("{count} programs on {} devices", devices());
}

/// Launches give the same bits as calls, and the work between collective operations is captured.
#[test]
#[ignore = "needs CUDA devices"]
fn launches_have_the_bits_of_calls() {
    for ranks in 1..=4 {
        launches_equal_calls(&contexts(ranks), || (), &[1, 300, 100_003, 3_000_001]);
        println!("{ranks} ranks on {} devices: launches have the bits of calls, and are captured", devices());
    }
}

/// The least seconds of a call, over batches of calls on the stream. Each batch ends with a wait for the stream.
fn seconds(stream: &StreamHandle<CudaDevice>, calls: u32, mut call: impl FnMut()) -> f64 {
    (0..5)
        .map(|_| {
            stream.synchronize().unwrap();
            let begun = Instant::now();
            (0..calls).for_each(|_| call());
            stream.synchronize().unwrap();
            begun.elapsed().as_secs_f64() / f64::from(calls)
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "needs CUDA devices"]
fn times() {
    let contexts = contexts(devices());
    let n = contexts.len();
    for (bytes, calls) in [(8_usize, 300_u32), (4096, 300), (1 << 20, 100), (256 << 20, 10)] {
        let all = on_each(
            &contexts,
            || (),
            |context, ranks| {
                let (stream, len) = (context.stream()?, bytes / 4);
                let s = &stream;
                let own = Array::<f32, _>::zeros(s, &[len])?;
                let mut result = Array::<f32, _>::zeros(s, &[len])?;
                let (part, rank) = (len / n, ranks.rank());
                let small = Array::<f32, _>::zeros(s, &[part])?;
                let parts = Array::<f32, _>::zeros(s, &[n, part])?;
                let mut gathered = Array::<f32, _>::zeros(s, &[n, part])?;
                let mut scattered = Array::<f32, _>::zeros(s, &[part])?;
                let mut times = Vec::new();
                times.push(seconds(s, calls, || {
                    ranks.all_reduce_into(s, Combination::Sum, &own, &mut result).unwrap()
                }));
                times.push(seconds(s, calls, || ranks.all_gather_into(s, &small, &mut gathered).unwrap()));
                times.push(seconds(s, calls, || {
                    ranks.reduce_scatter_into(s, Combination::Sum, &parts, &mut scattered).unwrap();
                }));
                times.push(seconds(s, calls, || ranks.broadcast(s, 0, &mut result).unwrap()));
                times.push(seconds(s, calls, || ranks.all_to_all_into(s, &parts, &mut gathered).unwrap()));
                if n > 1 && rank < 2 {
                    times.push(seconds(s, calls, || match rank {
                        0 => ranks.send(s, 1, &own).unwrap(),
                        _ => ranks.receive_into(s, 0, &mut result).unwrap(),
                    }));
                }
                ranks.barrier()?;
                Ok(times)
            },
        );
        let all: Vec<Vec<f64>> = all.into_iter().map(Result::unwrap).collect();
        let share = (n - 1) as f64 / n as f64;
        let buses = [
            ("all_reduce", 2.0 * share),
            ("all_gather", share),
            ("reduce_scatter", share),
            ("broadcast", 1.0),
            ("all_to_all", share),
            ("send", 1.0),
        ];
        for (at, (name, factor)) in buses.into_iter().enumerate() {
            let slowest = all.iter().filter_map(|times| times.get(at)).copied().fold(0.0, f64::max);
            if slowest == 0.0 {
                continue; // a single rank sends nothing
            }
            let bus = bytes as f64 * factor / slowest / 1e9;
            println!("{n} devices, {bytes} bytes: {name} {:.2} us, {bus:.1} GB/s", slowest * 1e6);
        }
    }
}

/// Times a training step by calls and by launches, with checks and without.
#[test]
#[ignore = "needs CUDA devices"]
fn times_of_launches() {
    for len in [256, 65_536] {
        let all = on_each(
            &contexts(devices()),
            || (),
            |context, ranks| {
                let stream = context.stream()?;
                let (s, mut group) = (&stream, ranks.split(Some(0))?.unwrap());
                let x = samples(s, ranks.rank(), len)?;
                let mut weights = Array::full(s, &[len], 1.0_f32)?;
                let recorded = s
                    .record_work((&x, &mut weights, &mut group), |on, (x, mut weights, ranks)| {
                        step(on, &x, &mut weights, ranks)
                    })?;
                let mut times = Vec::new();
                for is_checked in [true, false] {
                    if !is_checked {
                        // SAFETY: all ranks make the same calls and launches from here on.
                        group = unsafe { group.into_unchecked() };
                    }
                    times.push(seconds(s, 100, || {
                        step(s, &x.view(), &mut weights.view_mut(), &mut group).unwrap();
                    }));
                    times.push(seconds(s, 100, || {
                        recorded.launch(s, (&x, &mut weights, &mut group)).unwrap();
                    }));
                }
                ranks.barrier()?;
                Ok(times)
            },
        );
        let all: Vec<Vec<f64>> = all.into_iter().map(Result::unwrap).collect();
        let slowest = |at: usize| all.iter().map(|times| times[at]).fold(0.0, f64::max) * 1e6;
        println!(
            "{} devices, a step of {len} floats with 2 exchanges: calls {:.1} us, launches {:.1} us; unchecked: calls {:.1} \
             us, launches {:.1} us",
            all.len(),
            slowest(0),
            slowest(1),
            slowest(2),
            slowest(3),
        );
    }
}
