//! The ledger of live memory, limits, and the time at which memory is given back.

use devarray::{
    Array, Context, Device, Error,
    memory::{MemoryKind, MemoryLimit, ReleaseLimits, tagged},
};

use crate::{
    Harness, Outcome,
    harness::no_background_errors,
    patterns::elements,
    violation::{ensure, same},
};

/// The ledger lists live allocations, and its sums are exact; arrays that come and go do not touch
/// the elements of others.
pub fn ledger<D: Device>(harness: &Harness<D>) -> Outcome {
    for mut rng in harness.rngs() {
        let context = harness.context()?;
        let stream = context.stream()?;
        let (mut held, mut made, mut peak_bytes) = (Vec::new(), 0_u64, 0);
        for _ in 0..20 {
            if rng.below(3) > 0 {
                let data = elements::<u32>(made, 1 + rng.below(500));
                made += 1;
                held.push((made, tagged("kept", || Array::from_slice(&stream, &[data.len()], &data))?, data));
            } else if !held.is_empty() {
                let (_, array, data) = held.swap_remove(rng.below(held.len()));
                same(&array.to_vec(&stream)?, &data, "an array beside which others came and went")?;
            }
            let live_bytes: usize = held.iter().map(|(_, _, data)| 4 * data.len()).sum();
            peak_bytes = live_bytes.max(peak_bytes);
            let told = context.memory_statistics().of(MemoryKind::Device);
            let sums = [told.live, told.live_bytes, told.peak_bytes];
            same(
                &sums,
                &[held.len(), live_bytes, peak_bytes],
                "arrays alive, their bytes, and the most bytes",
            )?;
            same(&[told.allocations - told.frees], &[held.len() as u64], "allocations less frees")?;
        }
        held.sort_by_key(|&(number, ..)| number);
        let named: Vec<_> =
            context.live_allocations().iter().map(|r| (r.number, r.len_bytes, r.tag)).collect();
        let due: Vec<_> = held.iter().map(|(number, _, d)| (*number, 4 * d.len(), Some("kept"))).collect();
        ensure(named == due, || format!("live are {due:?}, named are {named:?}"))?;
        drop(held);
        ensure(context.live_allocations().is_empty(), || "the ledger names what is no more".into())?;
        no_background_errors(&context)?;
    }
    Ok(())
}

/// An allocation over a limit is refused and changes nothing; one within the limit succeeds.
pub fn limit<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    context.set_memory_limit(MemoryLimit::Bytes(10_000))?;
    let data = elements::<u8>(1, 6000);
    let array = Array::from_slice(&stream, &[6000], &data)?;
    for too_many in [4001, 10_000, usize::MAX / 2] {
        refused(&context, too_many, 4000)?;
        same(&array.to_vec(&stream)?, &data, "an array after a refusal")?;
        drop(Array::<u8, D>::zeros(&stream, &[4000])?);
    }
    drop(array);
    refused(&context, 10_001, 10_000)?;
    same(&Array::<u8, D>::zeros(&stream, &[10_000])?.to_vec(&stream)?, &[0; 10_000], "all that is allowed")?;
    context.set_memory_limit(MemoryLimit::Unlimited)?;
    let _ = Array::<u8, D>::zeros(&stream, &[10_001])?;
    no_background_errors(&context)
}

/// Memory that waits to be given back does not disturb work in flight, and is given back at the
/// limit.
pub fn put_off<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (one, two) = (context.stream()?, context.stream()?);
    context.set_release_limits(ReleaseLimits::new(10, usize::MAX));
    let mut copies = Vec::new();
    for round in 0..25 {
        let data = elements::<u32>(round, 700);
        let source = Array::from_slice(&one, &[700], &data)?;
        let mut copy = Array::<u32, D>::uninit(&two, &[700])?;
        copy.view_mut().copy_from(&two, &source.view())?;
        copies.push((copy, data));
        drop(source);
        let waiting = context.pending_releases();
        let due = copies.len() % 11;
        ensure((waiting.count, waiting.len_bytes) == (due, 2800 * due), || {
            format!("{} arrays were dropped, {due} are to wait: {waiting:?}", copies.len())
        })?;
    }
    for (copy, data) in &copies {
        same(&copy.to_vec(&two)?, data, "a copy of an array that was dropped, and waited")?;
    }
    context.release_pending();
    ensure(context.live_allocations().len() == copies.len(), || "what waited is live still".into())?;
    no_background_errors(&context)
}

/// If there is no room for an allocation, waiting memory is given back, and the allocation
/// succeeds.
pub fn short<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    context.set_memory_limit(MemoryLimit::Bytes(10_000))?;
    let data = elements::<u8>(1, 3000);
    let kept = Array::from_slice(&stream, &[3000], &data)?;
    context.defer_cleanup(|| {
        for _ in 0..5 {
            drop(Array::<u8, D>::zeros(&stream, &[2000])?);
            same(
                &Array::full(&stream, &[6000], 9_u8)?.to_vec(&stream)?,
                &[9; 6000],
                "memory that was short",
            )?;
        }
        same(&kept.to_vec(&stream)?, &data, "an array beside it")
    })?;
    refused(&context, 7001, 7000)?;
    no_background_errors(&context)
}

fn refused<D: Device>(context: &Context<D>, too_many: usize, left_bytes: usize) -> Outcome {
    let error = Array::<u8, D>::zeros(&context.stream()?, &[too_many]).err();
    let due = matches!(
        &error,
        Some(Error::OutOfMemory { requested_bytes, free_bytes: Some(left), limited: true, .. })
            if *requested_bytes == too_many && *left == left_bytes
    );
    ensure(due, || format!("{too_many} bytes, {left_bytes} left of the limit: {error:?}"))
}
