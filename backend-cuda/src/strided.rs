//! From a copy plan to kernel launches: which precompiled kernel, with which parameters, and why.
//! Pure; no driver.
//!
//! | family | takes | idea |
//! |---|---|---|
//! | rows | a destination contiguous along its innermost axis, the source fastest along the same | one aligned 16-byte store a thread; the source side is shifted, reversed, repeated or picked into place |
//! | tile | sides that are fastest along different axes | whole rows of the source into shared memory, whole runs of the destination out of it |
//! | gather | everything | one element a thread |
//!
//! `join` makes one launch of several copies to one destination, where that is faster.
//!
//! No kernel is made for a shape or a type. A selection depends on the extents, the strides, the
//! width of an element, the alignment of the addresses and the speed of the device's memory;
//! [`Launch::explain`] puts the choice in words.

mod axes;
mod chosen;
mod explain;
mod fill;
mod gather;
mod image;
mod join;
pub mod kernel;
pub mod launch;
mod memory_speed;
pub mod params;
pub mod rows;
mod tile;

#[cfg(test)]
#[allow(dead_code, reason = "fills are emulated for the fake driver alone")]
#[path = "../tests/emulate/kernels.rs"]
mod emulate;
#[cfg(test)]
mod tests;

use devarray::copy::Plan;

pub use self::chosen::Chosen;
pub use self::explain::explain_copy;
pub(crate) use self::fill::fill;
pub(crate) use self::image::waits_for_the_launch_before;
pub use self::join::{JoinParams, Part, Step, join};
pub use self::launch::{Launch, Params};
pub use self::memory_speed::MemorySpeed;
use self::{axes::Problem, launch::LAUNCH_BYTES};

/// Where the two allocations start that the offsets of a plan count from, as the device sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// First byte of the destination's allocation.
    pub dst: u64,
    /// First byte of the source's allocation.
    pub src: u64,
}

/// The launches that carry out `plan`, handed to `submit` one by one; none if the plan is empty.
/// Those that were chosen before are looked up in `chosen`.
///
/// They touch disjoint destinations and may run in any order. Plans of up to 1 GiB are one launch.
///
/// # Errors
///
/// The first error of `submit`; later launches are not made.
pub fn select<E>(
    memory: MemorySpeed,
    plan: &Plan,
    addresses: Addresses,
    chosen: &mut Chosen,
    submit: impl FnMut(&Launch) -> Result<(), E>,
) -> Result<(), E> {
    select_at(tile::Scale::of(plan.len_bytes(), memory), plan, addresses, chosen, submit)
}

/// As [`select`], at a given scale.
fn select_at<E>(
    scale: tile::Scale,
    plan: &Plan,
    addresses: Addresses,
    chosen: &mut Chosen,
    mut submit: impl FnMut(&Launch) -> Result<(), E>,
) -> Result<(), E> {
    let mut submit_one = |plan: &Plan| match Problem::of(plan, addresses) {
        Some(problem) => submit(chosen.launch(problem, scale)),
        None => Ok(()),
    };
    if plan.len_bytes() <= LAUNCH_BYTES {
        return submit_one(plan);
    }
    plan.blocks(LAUNCH_BYTES).try_for_each(|part| submit_one(&part))
}

/// The best launch for one problem. Gather takes what no other family does.
fn choose(problem: &Problem, scale: tile::Scale) -> Launch {
    rows::select(problem, scale)
        .or_else(|| tile::select(problem, scale))
        .unwrap_or_else(|| gather::select(problem))
}
