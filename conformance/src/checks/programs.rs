//! Random programs, as [`programs`](crate::programs) draws and shrinks them.

use devarray::{Device, backend::Compute};

use crate::{Harness, Outcome, computing::computing, programs::Search};

/// Programs for each case of the harness.
const PROGRAMS: usize = 4;

/// Random programs give what running them call by call gives, and leave nothing behind.
pub fn sequential<D: Device>(harness: &Harness<D>) -> Outcome {
    Ok(Search::new().programs(harness.cases() * PROGRAMS).run(harness)?)
}

/// Random programs with functions and reductions give what running them call by call gives.
pub fn with_functions<D: Compute>(harness: &Harness<D>) -> Outcome {
    if computing(harness)?.is_none() {
        return Ok(());
    }
    Ok(Search::new().programs(harness.cases() * PROGRAMS).run_with_functions(harness)?)
}
