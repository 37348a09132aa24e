//! Measures the time of a small call on the CPU: made a thousand times, and recorded a thousand times in one launch.
//!
//! `DEVARRAY_THREADS=1 cargo run --release -p devarray-host --example recorded_calls`. A plain loop is timed,
//! too: the rest of the time is overhead.

use std::{hint::black_box, time::Instant};

use devarray::{Array, Context, Result};
use devarray_host::HostDevice;

const CALLS: usize = 1000;

/// Without optimization there is nothing to measure.
const ROUNDS: usize = if cfg!(debug_assertions) { 1 } else { 200 };

/// The least time of several rounds of all calls, in nanoseconds per call.
fn nanoseconds(mut calls: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        calls()?;
        least = least.min(begun.elapsed().as_secs_f64() * 1e9 / CALLS as f64);
    }
    Ok(least)
}

/// Does the work of one call in a plain loop.
#[inline(never)]
fn bare(v: &mut [f32], y: &[f32]) {
    v.iter_mut().zip(y).for_each(|(v, y)| *v = *v * 0.5 + y);
}

fn main() -> Result<()> {
    let stream = Context::new(HostDevice::new())?.stream()?;
    for len in [16, 1024] {
        let y = Array::full(&stream, &[len], 0.5_f32)?;
        let mut v = Array::zeros(&stream, &[len])?;
        let plain = nanoseconds(|| (0..CALLS).try_for_each(|_| v.update(&stream, &y, |v, y| v * 0.5 + y)))?;
        let due = v.to_vec(&stream)?;
        let recorded = stream.record_work((&y, &mut v), |on, (y, mut v)| {
            (0..CALLS).try_for_each(|_| v.update(on, &y, |v, y| v * 0.5 + y))
        })?;
        let launched = nanoseconds(|| recorded.launch(&stream, (&y, &mut v)))?;
        assert_eq!(v.to_vec(&stream)?, due);
        let (mut loop_v, loop_y) = (vec![0.0_f32; len], vec![0.5_f32; len]);
        let alone = nanoseconds(|| {
            (0..CALLS).for_each(|_| bare(black_box(&mut loop_v), black_box(&loop_y)));
            Ok(())
        })?;
        println!(
            "{len} elements: {plain:.0} ns a call, recorded {launched:.0} ns, of which {:.0} ns are not the loop",
            launched - alone
        );
    }
    Ok(())
}
