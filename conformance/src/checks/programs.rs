//! Random programs, as [`programs`](crate::programs) draws and shrinks them.

use devarray::{
    Device,
    backend::{Compute, Launch},
};

use crate::{
    Harness, Outcome,
    checks::kernels::launching,
    computing::computing,
    programs::{Extras, Search},
};

/// The number of programs for each case of the harness.
const PROGRAMS: usize = 4;

fn search<D: Device>(harness: &Harness<D>, extras: Extras<D>) -> Outcome {
    Ok(Search::new().programs(harness.cases() * PROGRAMS).run_with(harness, extras)?)
}

/// Random programs give the results of a run call by call, and leave nothing behind.
pub fn sequential<D: Device>(harness: &Harness<D>) -> Outcome {
    search(harness, Extras::none())
}

/// Random programs with functions, reductions, gathers, order and products give the results of a
/// run call by call.
pub fn with_functions<D: Compute>(harness: &Harness<D>) -> Outcome {
    if computing(harness)?.is_none() {
        return Ok(());
    }
    search(harness, Extras::none().functions())
}

/// Random programs with kernels give the results of a run call by call.
pub fn with_kernels<D: Launch>(harness: &Harness<D>) -> Outcome {
    if launching(harness)?.is_none() {
        return Ok(());
    }
    search(harness, Extras::none().kernels())
}
