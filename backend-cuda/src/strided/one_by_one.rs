//! Copies one element per thread: the fallback for every copy.

use super::{
    kernel::Entry,
    params::GatherParams,
    strided_copy::{StridedCopy, loops},
    strided_launch::{Params, StridedLaunch, THREADS},
};

/// The launch that copies element by element.
pub(super) fn select(copy: &StridedCopy) -> StridedLaunch {
    let total = copy.elements();
    let params = GatherParams {
        at: copy.at,
        axes: u32::try_from(copy.axes.len()).unwrap_or(u32::MAX),
        total,
        axis: loops(&copy.axes),
    };
    StridedLaunch::new(Entry::Gather, copy.width, total.div_ceil(THREADS), Params::Gather(params))
}
