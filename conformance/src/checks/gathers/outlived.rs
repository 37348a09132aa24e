//! Reports of indices out of range when the stream of the operation was dropped.

use devarray::{Array, ArrayView, Error, Result, backend::Compute, gather::OutOfRange};

use crate::{Harness, Outcome, computing::gathering, harness::no_background_errors, violation::ensure};

/// An index error of a gather outlives its stream. It is reported once: by a wait for an event of
/// the stream, for a stream that comes after it, or for the result; and by the context if nobody
/// can wait.
pub fn outlived<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = gathering(harness)? else { return Ok(()) };
    let x = Array::<u8, D>::zeros(&stream, &[5])?;
    let by = Array::<i64, D>::arange(&stream, 0, 100, 1)?;
    stream.synchronize()?;
    let wrong = |value: usize| -> Result<ArrayView<'_, i64, D>> { by.slice_axis(0, value..=value) };
    let tells = |waited: Result<()>, value: i64, wait: &str| {
        let is_due = matches!(&waited, Err(Error::Index { error, .. }) if error.value == value);
        ensure(is_due, || format!("{wait} told {waited:?}, due is index {value}"))
    };
    let silent = |waited: Result<()>, wait: &str| {
        ensure(waited.is_ok(), || format!("{wait} told {waited:?}, and nothing is due"))
    };

    let gone = context.stream()?;
    let _ = x.take(&gone, &wrong(5)?, 0, OutOfRange::Error)?;
    let event = gone.record()?;
    drop(gone);
    silent(stream.synchronize(), "a wait for another stream")?;
    silent(context.stream()?.synchronize(), "a wait for a new stream")?;
    tells(event.synchronize(), 5, "a wait for an event of a stream that is gone")?;
    silent(event.synchronize(), "another wait for it")?;

    let gone = context.stream()?;
    let taken = x.take(&gone, &wrong(6)?, 0, OutOfRange::Error)?;
    drop(gone);
    for _ in 0..3 {
        let other = context.stream()?;
        silent(x.to_vec(&other).map(drop), "a download of what was read")?;
    }
    tells(taken.to_vec(&stream).map(drop), 6, "a download of what a stream made that is gone")?;

    let (gone, after) = (context.stream()?, context.stream()?);
    let _ = x.take(&gone, &wrong(7)?, 0, OutOfRange::Error)?;
    after.wait(&gone.record()?)?;
    drop(gone);
    tells(after.synchronize(), 7, "a wait for a stream that comes after one that is gone")?;
    no_background_errors(&context)?;

    for value in 10..60 {
        let gone = context.stream()?;
        drop(x.take(&gone, &wrong(value)?, 0, OutOfRange::Error)?);
    }
    silent(stream.synchronize(), "a wait for another stream")?;
    silent(context.stream()?.synchronize(), "a wait for a new stream")?;
    let listed = context.take_errors();
    let values = listed.iter().map(|error| match error {
        Error::Index { error, .. } => error.value,
        _ => -1,
    });
    ensure(values.eq(10..60), || {
        format!("the context told {listed:?}, due are indices 10 to 59, each once")
    })?;
    silent(stream.synchronize(), "a wait after that")?;
    no_background_errors(&context)
}
