//! The pool that memory comes from: on a device that reports on it and on one that does not.

use devarray::{
    Array, Context, Error,
    backend::{Capability, PoolControl},
};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

/// A context whose device reports on its pool; none if it does not, and refuses with the right
/// error.
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
        ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    }
    Ok(None)
}

/// Trimming to any size takes no memory that is in use. The rest of the process may use the pool,
/// too.
pub fn trim<D: PoolControl>(harness: &Harness<D>) -> Outcome {
    let Some(context) = pooling(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    is_used_no_more(&context)?;
    for (round, keep_bytes) in [(0, 0), (1, 1 << 20), (2, usize::MAX)] {
        let data = elements::<u32>(round, 5000);
        let kept = Array::from_slice(&stream, &[5000], &data)?;
        drop(Array::<u8, D>::zeros(&stream, &[1 << 22])?);
        let mut late = Array::<u32, D>::uninit(&stream, &[5000])?;
        late.view_mut().copy_from(&stream, &kept.view())?;
        context.set_pool_release_threshold(keep_bytes)?;
        context.trim_pool(keep_bytes)?;
        same(&late.to_vec(&stream)?, &data, "an array that was written while the pool was trimmed")?;
        stream.synchronize()?;
        context.trim_pool(keep_bytes)?;
        same(&kept.to_vec(&stream)?, &data, "an array in a pool that was trimmed")?;
    }
    context.set_pool_release_threshold(usize::MAX).map_err(crate::Violation::from)
}

/// Freed memory is not in use, whether it is kept or not. Others may use the pool meanwhile, so it
/// is enough to see this once.
fn is_used_no_more<D: PoolControl>(context: &Context<D>) -> Outcome {
    let (stream, len_bytes) = (context.stream()?, 3 << 20);
    for _ in 0..100 {
        let array = Array::<u8, D>::zeros(&stream, &[len_bytes])?;
        let during = context.pool_statistics()?.used_bytes;
        drop(array);
        stream.synchronize()?;
        if context.pool_statistics()?.used_bytes.saturating_add(len_bytes) <= during {
            return Ok(());
        }
    }
    ensure(false, || format!("{len_bytes} bytes were freed 100 times, and are in use"))
}

/// The pool counts memory in use, also as reserved, and in its peaks, however often they are reset.
pub fn statistics<D: PoolControl>(harness: &Harness<D>) -> Outcome {
    let Some(context) = pooling(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let len_bytes = 3 << 20;
    let array = Array::<u8, D>::zeros(&stream, &[len_bytes])?;
    for begin_anew in [false, true] {
        if begin_anew {
            context.reset_pool_peaks()?;
        }
        let told = context.pool_statistics()?;
        let sums = [told.used_bytes, told.reserved_bytes, told.peak_used_bytes, told.peak_reserved_bytes];
        ensure(sums.iter().all(|&sum| sum >= len_bytes), || {
            format!("{len_bytes} bytes are in use, peaks begun anew: {begin_anew}; told is {told:?}")
        })?;
    }
    drop(array);
    stream.synchronize()?;
    let told = context.pool_statistics()?;
    ensure(told.peak_used_bytes >= len_bytes, || {
        format!("{len_bytes} bytes were in use, and the peak is forgotten: {told:?}")
    })
}
