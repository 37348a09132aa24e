//! Timed events, on a device that has them and on one that has not.

use std::time::Duration;

use devarray::{
    Array, Context, Error,
    backend::{Capability, Timing},
};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

/// A context whose device times events; none if it does not, and then says so by name and changes nothing.
fn timed<D: Timing>(harness: &Harness<D>) -> Result<Option<Context<D>>, crate::Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::EventTiming) {
        return Ok(Some(context));
    }
    let stream = context.stream()?;
    let refused = stream.record_timed().err();
    let named = matches!(
        refused,
        Some(Error::Unsupported { operation: "record_timed", capability: Capability::EventTiming, .. })
    );
    ensure(named, || format!("an extra that was not declared: {refused:?}"))?;
    same(&Array::from_slice(&stream, &[2], &[1, 2])?.to_vec(&stream)?, &[1, 2], "a stream after a refusal")?;
    Ok(None)
}

/// What is declared works, and what is not is refused by name.
pub fn elapsed<D: Timing>(harness: &Harness<D>) -> Outcome {
    let Some(context) = timed(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let mut array = Array::<u32, D>::zeros(&stream, &[1 << 20])?;
    let mut marks = vec![stream.record_timed()?];
    for value in 0..4 {
        array.view_mut().fill(&stream, value)?;
        marks.push(stream.record_timed()?);
    }
    marks[4].event().synchronize()?;
    let between = |from: usize, to: usize| -> Result<Duration, crate::Violation> {
        let time = marks[to].elapsed_since(&marks[from])?;
        time.ok_or_else(|| crate::Violation::new(format!("no time from event {from} to {to}, both finished")))
    };
    ensure(!between(0, 4)?.is_zero(), || "four fills of 4 MiB took no time".into())?;
    for to in 1..=4 {
        let (whole, part) = (between(0, to)?, between(0, to - 1)?);
        ensure(part <= whole, || format!("{part:?} to event {}, {whole:?} to the next", to - 1))?;
        ensure(between(to, to - 1)?.is_zero(), || "a time from a later event to an earlier one".into())?;
        ensure(between(to, to)?.is_zero(), || "a time from an event to itself".into())?;
    }
    Ok(())
}

/// A timed event orders as any other does.
pub fn orders<D: Timing>(harness: &Harness<D>) -> Outcome {
    let Some(context) = timed(harness)? else { return Ok(()) };
    let (writer, reader) = (context.strict_stream()?, context.strict_stream()?);
    for salt in 0..8 {
        let data = elements::<u32>(salt, 5000);
        let source = Array::from_slice(&writer, &[5000], &data)?;
        let mut copy = Array::<u32, D>::zeros(&writer, &[5000])?;
        copy.view_mut().copy_from(&writer, &source.view())?;
        reader.wait(writer.record_timed()?.event())?;
        same(&copy.to_vec(&reader)?, &data, "what a stream sees that waited for a timed event")?;
    }
    Ok(())
}

/// Events of two contexts have no time between them.
pub fn contexts_do_not_mix<D: Timing>(harness: &Harness<D>) -> Outcome {
    let Some(context) = timed(harness)? else { return Ok(()) };
    let other = harness.second_context()?;
    if !other.device().info().capabilities.extras.has(Capability::EventTiming) {
        return Ok(());
    }
    let (one, two) = (context.stream()?.record_timed()?, other.stream()?.record_timed()?);
    let refused = one.elapsed_since(&two);
    let due = matches!(refused, Err(Error::DeviceMismatch { operation: "elapsed_since", .. }));
    ensure(due, || format!("the time between events of two contexts: {refused:?}"))
}
