//! One element a thread: what every copy can fall back to.

use super::{
    axes::Problem,
    kernel::{Entry, Kernel},
    launch::{Launch, Params, THREADS},
    params::{GatherParams, Loop, MAX_GATHER_AXES},
};

/// The launch that copies element by element.
pub(super) fn select(problem: &Problem) -> Launch {
    let mut axis = [Loop::default(); MAX_GATHER_AXES];
    for (to, from) in axis.iter_mut().zip(&problem.axes) {
        *to = from.lowered();
    }
    let total = problem.len();
    Launch {
        kernel: Kernel::new(Entry::Gather, problem.width),
        grid: total.div_ceil(THREADS),
        threads: THREADS,
        shared_bytes: 0,
        params: Params::Gather(GatherParams {
            at: problem.operands(),
            axes: u32::try_from(problem.axes.len()).unwrap_or(u32::MAX),
            total,
            axis,
        }),
    }
}
