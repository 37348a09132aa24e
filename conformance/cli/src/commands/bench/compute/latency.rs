//! Microseconds for each call, in a row of many calls.

use std::time::Instant;

use anyhow::Result;
use devarray::StreamHandle;

use super::Sets;
use crate::bench::{SmallResult, Target, median, repeated};

/// The number of rounds from which the median is taken.
const ROUNDS: usize = 7;
/// The shortest duration of a round in seconds, and the most calls in it.
const ROUND_SECONDS: f64 = 1e-2;
const MAX_CALLS: usize = 2_000;

/// The median time of a call on the host's clock; all calls of a round are waited for. The views
/// are made before. Blocks.
pub(super) fn microseconds<D: Target>(
    stream: &StreamHandle<D>,
    sets: &mut Sets<'_, D>,
    result: SmallResult,
) -> Result<f64> {
    let mut taken = Vec::new();
    sets.with_call(result, &mut |call| {
        let mut round = |calls: usize| -> Result<f64> {
            stream.synchronize()?;
            let begun = Instant::now();
            repeated(calls, |_| call())?;
            stream.synchronize()?;
            Ok(begun.elapsed().as_secs_f64() / calls as f64)
        };
        let once = round(3)?;
        let mut calls = 1;
        while calls < MAX_CALLS && calls as f64 * once < ROUND_SECONDS {
            calls *= 2;
        }
        taken = (0..ROUNDS).map(|_| round(calls)).collect::<Result<_>>()?;
        Ok(())
    })?;
    Ok(median(taken) * 1e6)
}
