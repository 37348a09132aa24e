//! The pool that memory comes from, on a device that tells of it and on one that does not.

use devarray::{
    Array, Context, Error,
    backend::{Capability, PoolControl},
};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

/// A context whose device tells of its pool; none if it does not, and then says so by name.
fn pooling<D: PoolControl>(harness: &Harness<D>) -> Result<Option<Context<D>>, crate::Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::MemoryPool) {
        return Ok(Some(context));
    }
    for refused in [
        context.pool_statistics().map(drop),
        context.reset_pool_peaks(),
        context.set_pool_release_threshold(0),
        context.trim_pool(0),
    ] {
        let named = matches!(refused, Err(Error::Unsupported { capability: Capability::MemoryPool, .. }));
        ensure(named, || format!("an extra that was not declared: {refused:?}"))?;
    }
    Ok(None)
}

/// Trimming takes nothing that is in use, and what it leaves is no more than was asked for or is in use.
pub fn trim<D: PoolControl>(harness: &Harness<D>) -> Outcome {
    let Some(context) = pooling(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    for (round, keep_bytes) in [(0, 0), (1, 1 << 20), (2, usize::MAX)] {
        let data = elements::<u32>(round, 5000);
        let kept = Array::from_slice(&stream, &[5000], &data)?;
        drop(Array::<u8, D>::zeros(&stream, &[1 << 22])?);
        stream.synchronize()?;
        let before = context.pool_statistics()?;
        context.trim_pool(keep_bytes)?;
        let after = context.pool_statistics()?;
        ensure(after.reserved_bytes >= after.used_bytes && after.used_bytes == before.used_bytes, || {
            format!("trimming to {keep_bytes}: {before:?} became {after:?}")
        })?;
        ensure(after.reserved_bytes <= before.reserved_bytes, || {
            format!("trimming to {keep_bytes} made the pool larger: {before:?} became {after:?}")
        })?;
        same(&kept.to_vec(&stream)?, &data, "an array in a pool that was trimmed")?;
    }
    Ok(())
}

/// The pool holds what is in use, counts it, and remembers the most of it until told to forget.
pub fn statistics<D: PoolControl>(harness: &Harness<D>) -> Outcome {
    let Some(context) = pooling(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let before = context.pool_statistics()?;
    let array = Array::<u8, D>::zeros(&stream, &[1 << 20])?;
    let during = context.pool_statistics()?;
    ensure(during.used_bytes >= before.used_bytes + (1 << 20), || {
        format!("a mebibyte more in use: {before:?} became {during:?}")
    })?;
    drop(array);
    stream.synchronize()?;
    let after = context.pool_statistics()?;
    ensure(after.used_bytes == before.used_bytes && after.peak_used_bytes >= during.used_bytes, || {
        format!("it was given back: {during:?} became {after:?}")
    })?;
    context.reset_pool_peaks()?;
    let reset = context.pool_statistics()?;
    ensure(
        reset.peak_used_bytes == reset.used_bytes && reset.peak_reserved_bytes == reset.reserved_bytes,
        || format!("peaks that begin anew: {reset:?}"),
    )
}
