//! Proves on real devices that exchanges of ranks equal the CPU's, to the bit, and times them.
//!
//! Takes all CUDA devices that there are, and NCCL, so each test is ignored by default. One device is one rank,
//! which exchanges with itself:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_collectives:: --nocapture
//! --test-threads 1`.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Instant;

use devarray::{Array, Context, StreamHandle, collective::Combination};
use devarray_conformance::rank_programs::{Functions, RankProgram};
use devarray_cuda::CudaDevice;

use super::ranks_of::{equal_the_cpu, on_each};

fn contexts() -> Vec<Context<CudaDevice>> {
    let count = devarray_cuda::devices().unwrap().len();
    assert!(count > 0, "a device is needed");
    (0..count).map(|ordinal| Context::new(CudaDevice::open(ordinal).unwrap()).unwrap()).collect()
}

#[test]
#[ignore = "needs CUDA devices and NCCL"]
fn exchanges_equal_the_cpu() {
    let contexts = contexts();
    equal_the_cpu(&contexts, || (), &[1, 7, 1000, 100_003], &[3_000_001]);
    println!("{} devices: the bits of the CPU", contexts.len());
}

/// Random programs, each on as many cards as there are, but no more than four.
#[test]
#[ignore = "needs CUDA devices and NCCL"]
fn random_programs_have_the_bits_of_vectors() {
    let count = std::env::var("DEVARRAY_RANK_PROGRAMS").map_or(200, |count| count.parse().unwrap());
    let mut contexts = contexts();
    contexts.truncate(4);
    let ranks = on_each(
        &contexts,
        || (),
        |_, ranks| {
            for seed in 0..count {
                let program = RankProgram::drawn(seed, ranks.ranks());
                let group = ranks.split(Some(0))?.unwrap();
                let seen =
                    program.play(group, Functions::of_device()).unwrap_or_else(|told| panic!("{told}"));
                program.compare(ranks.rank(), &seen).unwrap_or_else(|told| panic!("{told}"));
            }
            Ok(())
        },
    );
    ranks.into_iter().for_each(|outcome| outcome.unwrap());
    println!("{count} programs on {} devices", contexts.len());
}

/// The least seconds of a call: many on the stream, between two waits, of the slowest rank.
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
#[ignore = "needs CUDA devices and NCCL"]
fn times() {
    let contexts = contexts();
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
                continue; // one rank sends nothing
            }
            let bus = bytes as f64 * factor / slowest / 1e9;
            println!("{n} devices, {bytes} bytes: {name} {:.2} us, {bus:.1} GB/s", slowest * 1e6);
        }
    }
}
