//! A thousand small calls on the CPU, as they come and recorded: how long each takes.
//!
//! `DEVARRAY_THREADS=1 cargo run --release -p devarray-host --example recorded_calls`. The time of a call on
//! one element is what is not work.

use std::time::Instant;

use devarray::{Array, Context, Result};
use devarray_host::HostDevice;

const CALLS: usize = 1000;

/// The least time of some rounds of all calls, in nanoseconds a call.
fn nanoseconds(mut calls: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..20 {
        let begun = Instant::now();
        calls()?;
        least = least.min(begun.elapsed().as_secs_f64() * 1e9 / CALLS as f64);
    }
    Ok(least)
}

fn main() -> Result<()> {
    let stream = Context::new(HostDevice::new())?.stream()?;
    for len in [1, 1000] {
        let y = Array::full(&stream, &[len], 0.5_f32)?;
        let mut v = Array::zeros(&stream, &[len])?;
        let plain = nanoseconds(|| (0..CALLS).try_for_each(|_| v.update(&stream, &y, |v, y| v * 0.5 + y)))?;
        let due = v.to_vec(&stream)?;
        let recorded = stream.record_work((&y, &mut v), |on, (y, mut v)| {
            (0..CALLS).try_for_each(|_| v.update(on, &y, |v, y| v * 0.5 + y))
        })?;
        let launched = nanoseconds(|| recorded.launch(&stream, (&y, &mut v)))?;
        assert_eq!(v.to_vec(&stream)?, due);
        println!("{len} elements: {plain:.0} ns a call, recorded {launched:.0} ns");
    }
    Ok(())
}
