//! Events: what they capture, and the edges that waiting for them makes.
//!
//! The streams here are strict: every edge between two of them is one that the check asked for.

use devarray::{Array, Device, Error};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

const LEN: usize = 4000;

/// An event of a stream without work is ready, and waiting for it holds nothing up.
pub fn idle<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (idle, stream) = (context.stream()?, context.stream()?);
    let event = idle.record()?;
    stream.wait(&event)?;
    let data = elements::<u32>(1, LEN);
    let array = Array::from_slice(&stream, &[LEN], &data)?;
    same(&array.to_vec(&stream)?, &data, "an array of a stream that waited for an idle one")?;
    event.synchronize()?;
    ensure(event.query()?, || "an event is not ready after a wait for it".into())
}

/// A wait orders what follows it after what the event captured (S3, S4): the work before it, and none after.
pub fn snapshot<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (writer, reader) = (context.strict_stream()?, context.strict_stream()?);
    for salt in 0..8 {
        let data = elements::<u32>(salt, LEN);
        let first = Array::from_slice(&writer, &[LEN], &data)?;
        let event = writer.record()?;
        let second = Array::from_slice(&writer, &[LEN], &data)?;
        reader.wait(&event)?;
        same(&first.to_vec(&reader)?, &data, "work before the event")?;
        let later = second.to_vec(&reader);
        ensure(matches!(later, Err(Error::Hazard { .. })), || format!("work after the event: {later:?}"))?;
        reader.wait(&writer.record()?)?;
        same(&second.to_vec(&reader)?, &data, "work before a later event")?;
    }
    Ok(())
}

/// An earlier event still captures what it did when the stream has recorded others since.
pub fn earlier_events<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (writer, reader) = (context.strict_stream()?, context.strict_stream()?);
    let mut marks = Vec::new();
    for salt in 0..6 {
        let data = elements::<u32>(salt, LEN);
        let array = Array::from_slice(&writer, &[LEN], &data)?;
        marks.push((writer.record()?, array, data));
    }
    for at in 0..marks.len() {
        let (event, array, data) = &marks[at];
        reader.wait(event)?;
        same(&array.to_vec(&reader)?, data, "what an earlier event captured")?;
        let Some((_, next, _)) = marks.get(at + 1) else { break };
        // The read above waited on the host; only the reader's own work and what it waited for is known since.
        let later = next.view().to_vec(&reader);
        ensure(matches!(later, Err(Error::Hazard { .. })), || format!("beyond the event: {later:?}"))?;
    }
    Ok(())
}

/// The edge stays when the event, and the stream it is of, are dropped before the work has run.
pub fn edge_outlives_event<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let reader = context.strict_stream()?;
    for salt in 0..8 {
        let data = elements::<u32>(salt, LEN);
        let writer = context.strict_stream()?;
        let source = Array::from_slice(&writer, &[LEN], &data)?;
        reader.wait(&writer.record()?)?;
        drop(writer);
        let mut copy = Array::<u32, D>::uninit(&reader, &[LEN])?;
        copy.view_mut().copy_from(&reader, &source.view())?;
        same(&copy.to_vec(&reader)?, &data, "a copy ordered by an event that is gone")?;
    }
    Ok(())
}

/// What a stream waited for, waits for it too (S5).
pub fn transitive<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let streams = [context.strict_stream()?, context.strict_stream()?, context.strict_stream()?];
    let [first, middle, last] = &streams;
    for salt in 0..8 {
        let data = elements::<u32>(salt, LEN);
        let source = Array::from_slice(first, &[LEN], &data)?;
        let mut copy = Array::<u32, D>::uninit(first, &[LEN])?;
        copy.view_mut().copy_from(first, &source.view())?;
        middle.wait(&first.record()?)?;
        last.wait(&middle.record()?)?;
        same(&copy.to_vec(last)?, &data, "what reached the last of three streams")?;
        first.wait(&last.record()?)?;
    }
    Ok(())
}

/// When an event's `synchronize` returned, what it captured is finished: other streams need no wait to see it.
pub fn synchronize<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (writer, reader) = (context.strict_stream()?, context.strict_stream()?);
    for salt in 0..8 {
        let data = elements::<u32>(salt, LEN);
        let source = Array::from_slice(&writer, &[LEN], &data)?;
        let mut copy = Array::<u32, D>::uninit(&writer, &[LEN])?;
        copy.view_mut().copy_from(&writer, &source.view())?;
        let event = writer.record()?;
        event.synchronize()?;
        ensure(event.query()?, || "an event is not ready after a wait for it".into())?;
        same(&copy.to_vec(&reader)?, &data, "what another stream sees after a wait of the host")?;
    }
    Ok(())
}
