//! One element a thread: what every copy can fall back to.

use std::fmt;

use super::{
    axes::Problem,
    launch::{Block, Kernel, Launch, Loop, Module, Operands, Params, THREADS},
};

/// Loops a launch can have. Each has two steps or more, and a launch fewer than 2^31 elements.
const MAX_AXES: usize = 32;

/// Parameters of the kernels of `gather.cu`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub(super) struct GatherParams {
    pub(super) at: Operands,
    pub(super) axes: u32,
    pub(super) total: u32,
    pub(super) axis: [Loop; MAX_AXES],
}

const _: () = assert!(size_of::<GatherParams>() == 1064);

impl GatherParams {
    pub(super) fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one element a thread over {} loops", self.axes)
    }
}

/// The launch that copies element by element.
pub(super) fn select(problem: &Problem) -> Launch {
    let mut axis = [Loop::NONE; MAX_AXES];
    for (to, from) in axis.iter_mut().zip(&problem.axes) {
        *to = from.lowered();
    }
    let total = problem.len();
    let name = match problem.width {
        1 => c"gather_1",
        2 => c"gather_2",
        4 => c"gather_4",
        8 => c"gather_8",
        _ => c"gather_16",
    };
    Launch {
        kernel: Kernel { module: Module::Gather, name },
        grid: total.div_ceil(THREADS),
        threads: THREADS,
        shared_bytes: 0,
        params: Params(Block::Gather(GatherParams {
            at: problem.operands(),
            axes: u32::try_from(problem.axes.len()).unwrap_or(u32::MAX),
            total,
            axis,
        })),
    }
}
