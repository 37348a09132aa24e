//! Host memory that the device reaches in place: on a device that can and on one that cannot.

use devarray::{
    Array, Context, Error, MappedArray,
    backend::{Capability, MapHost},
};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

/// A context whose device maps memory; none if it does not, and refuses with the right error.
fn mapping<D: MapHost>(harness: &Harness<D>) -> Result<Option<Context<D>>, crate::Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::MappedMemory) {
        return Ok(Some(context));
    }
    let refused = MappedArray::<u8, D>::zeros(&context, &[8]).err();
    let named = matches!(refused, Some(Error::Unsupported { capability: Capability::MappedMemory, .. }));
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    Ok(None)
}

/// Each side sees the other's writes, through slices too.
pub fn one_memory<D: MapHost>(harness: &Harness<D>) -> Outcome {
    let Some(context) = mapping(harness)? else { return Ok(()) };
    let (left, right) = (context.stream()?, context.stream()?);
    let mut expected = elements::<u32>(7, 600);
    let mut mapped = MappedArray::from_slice(&context, &[20, 30], &expected)?;
    same(&mapped.view().to_vec(&left)?, &expected, "what the host wrote, read by the device")?;
    mapped.view_mut().slice_axis(1, 10..20)?.fill(&left, 5)?;
    (0..20).for_each(|row| expected[row * 30 + 10..row * 30 + 20].fill(5));
    same(mapped.host()?, &expected, "what the device wrote to a slice, read by the host")?;
    mapped.host_mut()?.fill(6);
    let source = Array::full(&right, &[20, 30], 8_u32)?;
    let copy = mapped.view().to_contiguous(&left, devarray::Order::F)?;
    mapped.view_mut().copy_from(&right, &source.view())?;
    same(mapped.host_mut()?, &[8; 600], "a copy on another stream")?;
    same(&copy.to_vec(&left)?, &[6; 600], "a copy made before")
}

/// Mapped memory may be dropped while operations use it.
pub fn dropped_in_flight<D: MapHost>(harness: &Harness<D>) -> Outcome {
    let Some(context) = mapping(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    for round in 0..20 {
        let mut mapped = MappedArray::<u32, D>::zeros(&context, &[1000])?;
        mapped.view_mut().fill(&stream, round)?;
        let copy = mapped.view().to_contiguous(&stream, devarray::Order::C)?;
        drop(mapped);
        same(&copy.to_vec(&stream)?, &[round; 1000], "a copy of memory dropped in flight")?;
    }
    stream.synchronize()?;
    let pinned = context.host_memory_statistics().pinned;
    ensure(pinned == 0, || format!("{pinned} mapped arrays were not freed"))
}
