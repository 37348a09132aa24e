//! One element a thread: what every copy can fall back to.

use super::{
    axes::{Problem, loops},
    kernel::Entry,
    launch::{Launch, Params, THREADS},
    params::GatherParams,
};

/// The launch that copies element by element.
pub(super) fn select(problem: &Problem) -> Launch {
    let total = problem.elements();
    let params = GatherParams {
        at: problem.at,
        axes: u32::try_from(problem.axes.len()).unwrap_or(u32::MAX),
        total,
        axis: loops(&problem.axes),
    };
    Launch::new(Entry::Gather, problem.width, total.div_ceil(THREADS), Params::Gather(params))
}
