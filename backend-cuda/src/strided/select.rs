//! The launches of a copy.

use devarray::copy::Plan;

use super::{
    Addresses, LaunchCache, MemorySpeed, StridedLaunch, strided_copy::StridedCopy,
    strided_launch::LAUNCH_BYTES, tile::Scale,
};

/// The launches that carry out `plan`, handed to `submit` one by one; none if the plan is empty.
/// Launches that were chosen before are looked up in `cache`.
///
/// They touch disjoint destinations and may run in any order. Plans of up to 1 GiB are one launch.
///
/// # Errors
///
/// The first error of `submit`; later launches are not submitted.
pub fn select<E>(
    memory: MemorySpeed,
    plan: &Plan,
    addresses: Addresses,
    cache: &mut LaunchCache,
    submit: impl FnMut(&StridedLaunch) -> Result<(), E>,
) -> Result<(), E> {
    select_at(Scale::of(plan.len_bytes(), memory), plan, addresses, cache, submit)
}

/// [`select`] at a given scale.
pub(super) fn select_at<E>(
    scale: Scale,
    plan: &Plan,
    addresses: Addresses,
    cache: &mut LaunchCache,
    mut submit: impl FnMut(&StridedLaunch) -> Result<(), E>,
) -> Result<(), E> {
    let mut submit_one = |plan: &Plan| match StridedCopy::of(plan, addresses) {
        Some(copy) => submit(cache.launch(copy, scale)),
        None => Ok(()),
    };
    if plan.len_bytes() <= LAUNCH_BYTES {
        return submit_one(plan);
    }
    plan.blocks(LAUNCH_BYTES).try_for_each(|part| submit_one(&part))
}
