//! Memory of the program that is pinned for a while: on a device that can do it and on one that
//! cannot.

use devarray::{
    Array, Context, Error,
    backend::{Capability, RegisterHost},
};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

/// A context whose device pins memory; none if it does not, and refuses with the right error.
fn pinning<D: RegisterHost>(harness: &Harness<D>) -> Result<Option<Context<D>>, crate::Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::RegisteredMemory) {
        return Ok(Some(context));
    }
    let refused = context.with_pinned(&mut [0_u8; 8], |_| ()).err();
    let named = matches!(refused, Some(Error::Unsupported { capability: Capability::RegisteredMemory, .. }));
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    Ok(None)
}

/// Copies of pinned slices, whole, in part and side by side, give the same results as any others.
pub fn copies<D: RegisterHost>(harness: &Harness<D>) -> Outcome {
    let Some(context) = pinning(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let (mut source, mut target) = (elements::<u32>(7, 5000), vec![0_u32; 5000]);
    let mut array = Array::<u32, D>::zeros(&stream, &[5000])?;
    context.with_all_pinned([&mut source[..], &mut target[..]], |[source, target]| {
        stream.scope(|s| {
            s.upload(source, &mut array.view_mut())?;
            s.download(&array.view(), target)
        })?
    })??;
    same(&target, &source, "elements that went through pinned slices")?;
    let (left, right) = target.split_at_mut(2500);
    context.with_pinned(left, |left| {
        context.with_all_pinned([&mut left[100..200], right], |[inside, beside]| {
            let (first, half) = (array.view().slice_axis(0, ..100)?, array.view().slice_axis(0, ..2500)?);
            stream.scope(|s| {
                s.download(&first, inside)?;
                s.download(&half, beside)
            })?
        })
    })???;
    same(&target[100..200], &source[..100], "a part of a pinned slice, pinned again")?;
    same(&target[2500..], &source[..2500], "a slice pinned beside another")
}

/// A range can be pinned again and again: pinning ends with the call.
pub fn again<D: RegisterHost>(harness: &Harness<D>) -> Outcome {
    let Some(context) = pinning(harness)? else { return Ok(()) };
    let mut data = elements::<u32>(7, 3000);
    for _ in 0..3 {
        context.with_pinned(&mut data, |data| data[0] += 1)?;
        let registered = context.host_memory_statistics().registered;
        ensure(registered == 0, || format!("{registered} ranges are still pinned"))?;
    }
    let errors = context.take_errors();
    ensure(errors.is_empty(), || format!("errors of unpinning: {errors:?}"))
}
