//! Microseconds a call, many in a row.

use std::time::Instant;

use anyhow::Result;
use devarray::StreamHandle;

use super::Sets;
use crate::bench::{SmallResult, Target, median, repeated};

/// Rounds that the median is of.
const ROUNDS: usize = 7;
/// Seconds that a round lasts at least, and most calls of it.
const ROUND_SECONDS: f64 = 1e-2;
const MAX_CALLS: usize = 2_000;

/// The median time of a call by the host's clock, all calls of a round finished. Blocks.
pub(super) fn microseconds<D: Target>(
    stream: &StreamHandle<D>,
    sets: &mut Sets<'_, D>,
    result: SmallResult,
) -> Result<f64> {
    let mut round = |calls: usize| -> Result<f64> {
        stream.synchronize()?;
        let begun = Instant::now();
        repeated(calls, |_| match result {
            SmallResult::New => sets.compute().map(drop),
            SmallResult::Into => sets.enqueue(0),
            SmallResult::Item => {
                sets.compute()?.view().to_bytes(stream)?;
                Ok(())
            }
        })?;
        stream.synchronize()?;
        Ok(begun.elapsed().as_secs_f64() / calls as f64)
    };
    let once = round(3)?;
    let mut calls = 1;
    while calls < MAX_CALLS && calls as f64 * once < ROUND_SECONDS {
        calls *= 2;
    }
    let taken = (0..ROUNDS).map(|_| round(calls)).collect::<Result<Vec<_>>>()?;
    Ok(median(taken) * 1e6)
}
