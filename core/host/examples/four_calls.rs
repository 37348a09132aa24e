//! Compares the time of four threads, which share one context and make one long call each, with the time of one.
//!
//! `DEVARRAY_THREADS=1 cargo run --release -p devarray-host --example four_calls`, on four free cores. If each
//! call has one thread, the four calls should take the time of one call.

use std::{
    thread,
    time::{Duration, Instant},
};

use devarray::{Array, Context, Result};
use devarray_host::HostDevice;

/// The number of elements. It is small without optimization, because times then mean nothing.
const LEN: usize = if cfg!(debug_assertions) { 1 << 14 } else { 1 << 24 };

/// The least time in which some threads make one call each on arrays of their own, after a common start.
fn time(context: &Context<HostDevice>, threads: usize) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let arrays = (0..threads)
            .map(|_| {
                let stream = context.stream()?;
                let x = Array::<f32, _>::full(&stream, &[LEN], 1.5)?;
                // The array is written once, so that its pages are mapped.
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
