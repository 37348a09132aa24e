//! Tests branches of recorded work on a card: their results equal the calls' results to the bit. Times branches.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_branches:: --nocapture --test-threads 1`.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Instant;

use devarray::{Array, Context, StreamHandle, ix};
use devarray_cuda::CudaDevice;

use super::branches::{Calls, compare};

pub(crate) fn stream() -> StreamHandle<CudaDevice> {
    Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap()
}

/// Runs `DEVARRAY_CASES` programs, or 400 if the variable is not set.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn chains_side_by_side_give_the_bits_of_their_calls() {
    let s = stream();
    let cases = std::env::var("DEVARRAY_CASES").map_or(400, |cases| cases.parse().unwrap());
    let mut calls = 0;
    for case in 0..cases {
        let kinds = if case % 2 == 0 { Calls::All } else { Calls::Computed };
        calls += compare(&s, (case, kinds), &[7, 300, 5_000, 70_001], &mut |_| ()).unwrap();
    }
    println!("{cases} recordings of {calls} calls, 4 launches each: the same bits");
    s.synchronize().unwrap();
}

/// The least time of a launch in microseconds, where each of several batches makes many launches.
pub(crate) fn microseconds(s: &StreamHandle<CudaDevice>, mut launch: impl FnMut()) -> f64 {
    const LAUNCHES: u32 = 50;
    let mut least = f64::INFINITY;
    for _ in 0..12 {
        s.synchronize().unwrap();
        let begun = Instant::now();
        (0..LAUNCHES).for_each(|_| launch());
        s.synchronize().unwrap();
        least = least.min(begun.elapsed().as_secs_f64() * 1e6 / f64::from(LAUNCHES));
    }
    least
}

/// Times eight calls that read and write rows of their own, so that they may run side by side. Then times eight calls
/// that write one row, so that each call comes after the call before it.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn eight_calls_side_by_side_and_in_order() {
    const ROWS: usize = 8;
    let s = stream();
    for len in [1 << 10, 1 << 14, 1 << 17, 1 << 20] {
        let x = Array::full(&s, &[ROWS, len], 1.0_f32).unwrap();
        let mut sums = Array::<f32, _>::zeros(&s, &[ROWS]).unwrap();
        let mut rows = Array::<f32, _>::zeros(&s, &[ROWS, len]).unwrap();
        let reductions = |is_apart: bool, sums: &mut Array<f32, CudaDevice>| {
            let recorded = s
                .record_work((&x, &mut *sums), |on, (x, mut sums)| {
                    (0..ROWS).try_for_each(|row| {
                        let to = if is_apart { row } else { 0 };
                        x.index(&ix![row])?.sum_into(on, 0, &mut sums.reborrow().index(&ix![to])?)
                    })
                })
                .unwrap();
            let time = microseconds(&s, || recorded.launch(&s, (&x, &mut *sums)).unwrap());
            assert!(recorded.is_captured());
            time
        };
        let sum_times = [true, false].map(|is_apart| reductions(is_apart, &mut sums));
        assert_eq!(sums.to_vec(&s).unwrap(), [len as f32; ROWS]);
        let maps = |is_apart: bool, rows: &mut Array<f32, CudaDevice>| {
            let recorded = s
                .record_work((&x, &mut *rows), |on, (x, mut rows)| {
                    (0..ROWS).try_for_each(|row| {
                        let to = if is_apart { row } else { 0 };
                        let mut to = rows.reborrow().index(&ix![to])?;
                        x.index(&ix![row])?.map_into(on, &mut to, |x| x + 1.0)
                    })
                })
                .unwrap();
            microseconds(&s, || recorded.launch(&s, (&x, &mut *rows)).unwrap())
        };
        let map_times = [true, false].map(|is_apart| maps(is_apart, &mut rows));
        assert!(rows.to_vec(&s).unwrap().iter().all(|x| *x == 2.0));
        println!(
            "8 calls on {} KiB each: sums {:.2} us side by side, {:.2} in order; maps {:.2} and {:.2}",
            len / 256,
            sum_times[0],
            sum_times[1],
            map_times[0],
            map_times[1],
        );
    }
}
