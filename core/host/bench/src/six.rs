//! Six programs, each written with devarray for any device and with ndarray. Compares their results, then prints
//! their times and numbers of lines as a table.
//!
//! The inputs of both sides exist already, and both sides make new results. A side is the code between
//! `// devarray` or `// ndarray` and the next marker of its file.

mod agreement;
mod gradients;
mod heat;
mod image;
mod k_means;
mod network;
mod table;
mod top;

use std::time::Instant;

use devarray::{Context, Result, StreamHandle};
use devarray_host::HostDevice;

use crate::Outcome;

/// A stream of the device that is measured.
type Stream = StreamHandle<HostDevice>;

/// The number of timed calls of each side, after one call that is not timed. The least time counts.
const ROUNDS: usize = 5;

/// Runs all programs, and prints the table if all results agree.
pub(crate) fn run() -> Outcome {
    let context = Context::new(HostDevice::new())?;
    let stream = context.stream()?;
    let rows = [
        k_means::compare(&stream)?,
        gradients::compare(&stream)?,
        image::compare(&stream)?,
        top::compare_one(&stream)?,
        top::compare_rows(&stream)?,
        heat::compare(&stream)?,
        network::compare(&stream)?,
    ];
    table::print(&rows, context.device().threads());
    Ok(())
}

/// Returns the results of both sides, and the least seconds of each. The sides take turns, so that other work
/// on the machine slows both alike.
fn race<A, B>(
    stream: &Stream,
    mut ours: impl FnMut() -> Result<A>,
    mut theirs: impl FnMut() -> B,
) -> Result<(A, B, [f64; 2])> {
    let mut ours = || -> Result<A> {
        let result = ours()?;
        stream.synchronize()?;
        Ok(result)
    };
    let (found, due) = (ours()?, theirs());
    let mut least = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let again = ours()?;
        least[0] = least[0].min(begun.elapsed().as_secs_f64());
        drop(again);
        let begun = Instant::now();
        let again = theirs();
        least[1] = least[1].min(begun.elapsed().as_secs_f64());
        drop(again);
    }
    Ok((found, due, least))
}
