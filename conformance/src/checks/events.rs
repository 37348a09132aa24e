//! Events: the work that they capture, and the edges that a wait for them makes.
//!
//! The streams here are strict: the only edges between two of them are those that the check makes.

use devarray::{Array, Device, Error};

use crate::{
    Harness, Outcome,
    patterns::elements,
    violation::{ensure, same},
};

const LEN: usize = 4000;

/// An event of a stream without work is ready, and waiting for it delays nothing.
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

/// A wait orders later work after the work that the event captured (S3, S4): the work before the
/// record, and no work after it.
pub fn snapshot<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (writer, reader) = (context.strict_stream()?, context.strict_stream()?);
    for salt in 0..8 {
        let data = elements::<u32>(salt, LEN);
        let first = Array::from_slice(&writer, &[LEN], &data)?;
        let event = writer.record()?;
        // Not an upload: collecting staging memory in between would tell the host that the upload
        // is finished.
        let second = Array::full(&writer, &[LEN], 7_u32)?;
        reader.wait(&event)?;
        same(&first.to_vec(&reader)?, &data, "work before the event")?;
        refused("work after the event", second.to_vec(&reader).err())?;
        reader.wait(&writer.record()?)?;
        same(&second.to_vec(&reader)?, &[7; LEN], "work before a later event")?;
    }
    Ok(())
}

/// An earlier event still captures the same work when the stream has recorded others since then.
pub fn earlier_events<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (writer, reader) = (context.strict_stream()?, context.strict_stream()?);
    let marks = (0..6)
        .map(|value| {
            let array = Array::full(&writer, &[LEN], value)?;
            Ok((writer.record()?, array, [value; LEN]))
        })
        .collect::<devarray::Result<Vec<(_, Array<u32, D>, _)>>>()?;
    for (at, (event, array, data)) in marks.iter().enumerate() {
        reader.wait(event)?;
        same(&array.to_vec(&reader)?, data, "what an earlier event captured")?;
        // The read waited for the reader's work, and therefore for the event, but not for later
        // work of the writer.
        if let Some((_, next, _)) = marks.get(at + 1) {
            refused("work beyond the event", next.to_vec(&reader).err())?;
        }
    }
    Ok(())
}

/// The edge stays if the event and its stream are dropped before the work has run.
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

/// Work that a stream waited for comes before work that waits for the stream (S5).
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

/// After an event's `synchronize` has returned, the captured work is finished: other streams need
/// no wait to see it.
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

fn refused(what: &str, error: Option<Error>) -> Outcome {
    ensure(matches!(error, Some(Error::Hazard { .. })), || {
        format!("{what}: a hazard is due, and it ended with {error:?}")
    })
}
