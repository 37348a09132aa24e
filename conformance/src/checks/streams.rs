//! Streams: the order within one, the order between two, and what happens when they are dropped.

use devarray::{Array, Device};

use crate::{
    Harness, Outcome, Picture,
    harness::no_background_errors,
    patterns::elements,
    violation::{ensure, same},
};

/// Operations of one stream take effect in the order in which they were submitted (S1).
pub fn fifo<D: Device>(harness: &Harness<D>) -> Outcome {
    const LEN: usize = 96;
    let stream = harness.context()?.stream()?;
    for mut rng in harness.rngs() {
        let mut due = [0, 1, 2].map(|salt| elements::<u16>(salt, LEN));
        let mut arrays =
            due.iter().map(|data| Array::from_slice(&stream, &[LEN], data)).collect::<Result<Vec<_>, _>>()?;
        for value in 0..24 {
            let target = rng.below(3);
            let (at, count) = (rng.below(LEN / 2), 1 + rng.below(LEN / 2));
            let range = at..at + count;
            if rng.below(4) == 0 {
                arrays[target].view_mut().slice_axis(0, range.clone())?.fill(&stream, value)?;
                due[target][range].fill(value);
                continue;
            }
            let source = (target + 1 + rng.below(2)) % 3;
            let from = rng.below(LEN / 2);
            let [to_array, from_array] = arrays
                .get_disjoint_mut([target, source])
                .map_err(|e| crate::Violation::new(e.to_string()))?;
            let part = from_array.view().slice_axis(0, from..from + count)?;
            to_array.view_mut().slice_axis(0, range.clone())?.copy_from(&stream, &part)?;
            let moved = due[source][from..from + count].to_vec();
            due[target][range].copy_from_slice(&moved);
        }
        for (array, due) in arrays.iter().zip(&due) {
            same(&array.to_vec(&stream)?, due, "an array after copies and fills of one stream")?;
        }
    }
    Ok(())
}

/// After `synchronize` has returned, everything submitted before is finished (S6): other streams
/// need no wait to see it.
pub fn synchronize<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (stream, strict) = (context.stream()?, context.strict_stream()?);
    for salt in 0..8 {
        let data = elements::<u64>(salt, 5000);
        let source = Array::from_slice(&stream, &[5000], &data)?;
        let mut copy = Array::<u64, D>::uninit(&stream, &[5000])?;
        copy.view_mut().copy_from(&stream, &source.view())?;
        let event = stream.record()?;
        stream.synchronize()?;
        ensure(event.query()?, || "an event recorded before `synchronize` is not ready after it".into())?;
        same(&copy.to_vec(&strict)?, &data, "what another stream sees after `synchronize`")?;
    }
    Ok(())
}

/// Polling an event again and again makes progress; once it is ready it stays so, and the captured
/// work is done.
pub fn polling<D: Device>(harness: &Harness<D>) -> Outcome {
    const ENOUGH: usize = 1_000_000;
    let context = harness.context()?;
    let (stream, strict) = (context.stream()?, context.strict_stream()?);
    for salt in 0..8 {
        let data = elements::<u32>(salt, 5000);
        let source = Array::from_slice(&stream, &[5000], &data)?;
        let mut copy = Array::<u32, D>::uninit(&stream, &[5000])?;
        copy.view_mut().copy_from(&stream, &source.view())?;
        let event = stream.record()?;
        let mut asked = 0;
        while !event.query()? {
            asked += 1;
            ensure(asked < ENOUGH, || format!("an event is not ready after {ENOUGH} queries"))?;
        }
        same(&copy.to_vec(&strict)?, &data, "what another stream sees after a query said ready")?;
        let mut more = Array::<u32, D>::uninit(&stream, &[5000])?;
        more.view_mut().copy_from(&stream, &source.view())?;
        ensure(event.query()?, || "later work made a ready event busy again".into())?;
    }
    Ok(())
}

/// Dropping a stream neither cancels its work (S8) nor loses its order.
pub fn drop_completes<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let other = context.stream()?;
    for salt in 0..16 {
        let data = elements::<u32>(salt, 2000);
        let stream = context.stream()?;
        let source = Array::from_slice(&stream, &[2000], &data)?;
        let mut copy = Array::<u32, D>::uninit(&stream, &[2000])?;
        copy.view_mut().copy_from(&stream, &source.view())?;
        drop(stream);
        same(&copy.to_vec(&other)?, &data, "a copy whose stream was dropped")?;
    }
    no_background_errors(&context)
}

/// Work forks to several streams and joins again: automatic streams see each other's results.
pub fn fork_join<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let trunk = context.stream()?;
    let branches = [context.stream()?, context.stream()?, context.stream()?];
    for salt in 0..8 {
        let data = elements::<u32>(salt, 3000);
        let source = Array::from_slice(&trunk, &[3, 1000], &data)?;
        let mut joined = Array::<u32, D>::uninit(&trunk, &[3, 1000])?;
        for (branch, (row, to)) in branches.iter().zip((0..).zip(joined.view_mut().array_split(0, 3)?)) {
            let mut own = Array::<u32, D>::uninit(branch, &[1, 1000])?;
            own.view_mut().copy_from(branch, &source.view().slice_axis(0, row..row + 1)?)?;
            let mut to = to;
            to.copy_from(branch, &own.view().flip(&[1])?)?;
        }
        let due = Picture::of(&[3, 1000]).flip(1).read(&data);
        same(&joined.to_vec(&trunk)?, &due, "rows reversed by three streams")?;
    }
    no_background_errors(&context)
}

/// A thousand streams can be open at once, and each does its work.
pub fn a_thousand<D: Device>(harness: &Harness<D>) -> Outcome {
    const COUNT: usize = 1000;
    let context = harness.context()?;
    let mut array = Array::<u32, D>::zeros(&context.stream()?, &[COUNT])?;
    let streams = (0..COUNT).map(|_| context.stream()).collect::<Result<Vec<_>, _>>()?;
    for (value, (stream, mut part)) in (1..).zip(streams.iter().zip(array.view_mut().split(1)?)) {
        part.fill(stream, value)?;
    }
    let due: Vec<u32> = (1..).take(COUNT).collect();
    same(&array.to_vec(&streams[0])?, &due, "one element from each of a thousand streams")
}
