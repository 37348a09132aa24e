//! Four threads that share one context each make a long call: how long all four take beside one alone.
//!
//! `DEVARRAY_THREADS=1 cargo run --release -p devarray-host --example four_calls`, on four free cores: with
//! one thread a call, the four calls take the time of one.

use std::{
    thread,
    time::{Duration, Instant},
};

use devarray::{Array, Context, Result};
use devarray_host::HostDevice;

/// Fewer where nothing is optimized: then no time means anything.
const LEN: usize = if cfg!(debug_assertions) { 1 << 14 } else { 1 << 24 };

/// The time in which each of some threads finishes one call on its own array, from a common start.
fn time(context: &Context<HostDevice>, threads: usize) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let arrays = (0..threads)
            .map(|_| {
                let stream = context.stream()?;
                let x = Array::<f32, _>::full(&stream, &[LEN], 1.5)?;
                // Written once, so that its pages are there.
                let y = Array::<f32, _>::full(&stream, &[LEN], 0.0)?;
                Ok((stream, x, y))
            })
            .collect::<Result<Vec<_>>>()?;
        let begun = Instant::now();
        thread::scope(|scope| {
            let calls: Vec<_> = arrays
                .into_iter()
                .map(|(stream, x, mut y)| {
                    scope.spawn(move || x.view().map_into(&stream, &mut y, |x| (x.sin() + x.exp()).ln()))
                })
                .collect();
            calls.into_iter().try_for_each(|call| call.join().expect("a call does not panic"))
        })?;
        best = best.min(begun.elapsed());
    }
    Ok(best)
}

fn main() -> Result<()> {
    let context = Context::new(HostDevice::new())?;
    let (one, four) = (time(&context, 1)?, time(&context, 4)?);
    let ratio = four.as_secs_f64() / one.as_secs_f64();
    println!("one call {one:.1?}, four calls on four threads {four:.1?}, ratio {ratio:.2}");
    Ok(())
}
