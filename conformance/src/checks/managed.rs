//! Managed memory, which moves between host and device by itself: on a device that has it and on
//! one that does not.

use devarray::{
    Context, Error, ManagedArray,
    backend::{Advice, Capability, Location, ManagedMemory},
};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

/// A context whose device has managed memory; `None` if it has none, and refuses with the right
/// error.
fn managing<D: ManagedMemory>(harness: &Harness<D>) -> Result<Option<Context<D>>, crate::Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::ManagedMemory) {
        return Ok(Some(context));
    }
    let refused = ManagedArray::<u8, D>::zeros(&context, &[8]).err();
    let named = matches!(refused, Some(Error::Unsupported { capability: Capability::ManagedMemory, .. }));
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    Ok(None)
}

/// Managed memory holds the same bytes at any location and with any advice.
pub fn one_memory<D: ManagedMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = managing(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let mut managed = ManagedArray::<u32, D>::zeros(&context, &[3000])?;
    same(managed.host()?, &[0; 3000], "managed memory that nobody wrote")?;
    let expected = elements::<u32>(7, 3000);
    managed.host_mut()?.copy_from_slice(&expected);
    managed.advise(Advice::ReadMostly)?;
    for to in [Location::Device, Location::Host] {
        managed.prefetch(&stream, to)?;
        same(&managed.view().to_vec(&stream)?, &expected, "managed memory after a prefetch")?;
    }
    managed.view_mut().fill(&stream, 3)?;
    same(managed.host()?, &[3; 3000], "managed memory that the device wrote")
}

/// Asking for more memory than the device has free is refused.
pub fn no_more_than_is_free<D: ManagedMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = managing(harness)? else { return Ok(()) };
    let too_much = context.device().memory()?.free_bytes + 1;
    let refused = ManagedArray::<u8, D>::zeros(&context, &[too_much]).err();
    let typed = matches!(refused, Some(Error::OutOfMemory { .. }));
    ensure(typed, || format!("more managed memory than is free: {refused:?}"))
}
