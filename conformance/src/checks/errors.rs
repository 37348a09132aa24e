//! Errors: they are typed, found in time, and have no lasting effect.

use devarray::{Array, Context, Device, Error, Result, StreamHandle};

use crate::{
    Call, Harness, Instrumented, Log, Outcome, Picture, Violation,
    patterns::elements,
    violation::{ensure, same},
    wrap::is_injected,
};

/// Arrays, streams and events of two contexts do not mix.
pub fn contexts_do_not_mix<D: Device>(harness: &Harness<D>) -> Outcome {
    let (here, there) = (harness.context()?, harness.context()?);
    let (stream, foreign) = (here.stream()?, there.stream()?);
    let data = elements::<u32>(1, 10);
    let mut array = Array::from_slice(&stream, &[10], &data)?;
    let other = Array::<u32, D>::zeros(&foreign, &[10])?;
    let refused = [
        ("a read on a foreign stream", array.to_vec(&foreign).err()),
        ("a copy from a foreign array", array.view_mut().copy_from(&stream, &other.view()).err()),
        ("a copy on a foreign stream", array.view_mut().copy_from(&foreign, &other.view()).err()),
        ("a fill on a foreign stream", array.view_mut().fill(&foreign, 1).err()),
        ("an upload on a foreign stream", array.view_mut().copy_from_slice(&foreign, &data).err()),
        ("a wait for a foreign event", stream.wait(&foreign.record()?).err()),
    ];
    for (what, error) in refused {
        let due = matches!(error, Some(Error::DeviceMismatch { .. }));
        ensure(due, || format!("{what}: {error:?}"))?;
    }
    same(&array.to_vec(&stream)?, &data, "an array after refused operations")
}

/// A strict stream refuses an access that is not ordered (a read after a write, a write after a
/// read, a write after a write), and the refused call has no effect.
pub fn strict_refuses<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (first, second) = (context.strict_stream()?, context.strict_stream()?);
    let data = elements::<u32>(1, 100);
    let mut array = Array::from_slice(&first, &[100], &data)?;
    let mut copy = Array::<u32, D>::uninit(&second, &[100])?;
    let refused = |what: &str, error: Option<Error>| {
        ensure(matches!(error, Some(Error::Hazard { .. })), || format!("{what}: {error:?}"))
    };
    refused("a read after a write", copy.view_mut().copy_from(&second, &array.view()).err())?;
    refused("a write after a write", array.view_mut().fill(&second, 1).err())?;
    second.wait(&first.record()?)?;
    copy.view_mut().copy_from(&second, &array.view())?;
    refused("a write after a read", array.view_mut().fill(&first, 1).err())?;
    first.wait(&second.record()?)?;
    same(&array.to_vec(&first)?, &data, "an array after refused writes")?;
    array.view_mut().fill(&first, 1)?;
    same(&copy.to_vec(&second)?, &data, "a copy made before the write")
}

/// Asking for more memory than the device has is a typed error that tells the requested size, and
/// the device stays usable.
pub fn out_of_memory<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    let memory = context.device().memory()?;
    let (too_many, half) = (memory.total_bytes + 1, memory.free_bytes / 2);
    for _ in 0..3 {
        let error = Array::<u8, D>::uninit(&stream, &[too_many]).err();
        let due = matches!(&error, Some(Error::OutOfMemory { requested_bytes, .. }) if *requested_bytes >= too_many);
        ensure(due, || format!("an allocation of {too_many} bytes: {error:?}"))?;
        ensure(error.is_some_and(|e| e.is_retryable() && !e.is_sticky()), || {
            "out of memory is not retryable".into()
        })?;
        let data = elements::<u8>(1, 1000);
        let array = Array::from_slice(&stream, &[1000], &data)?;
        same(&array.to_vec(&stream)?, &data, "an array after running out of memory")?;
        // A refused call keeps no memory: half of the free memory can still be allocated.
        drop(Array::<u8, D>::uninit(&stream, &[half])?);
    }
    Ok(())
}

/// A failed call has changed nothing, and the same call then succeeds.
pub fn failed_calls_change_nothing<D: Device>(harness: &Harness<D>) -> Outcome {
    let (device, log) = Instrumented::new(harness.open()?);
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let (old, new) = (elements::<u32>(1, 500), elements::<u32>(2, 500));
    let source = Array::from_slice(&stream, &[500], &new)?;
    let mut target = Array::from_slice(&stream, &[500], &old)?;
    log.fail_after(0);
    was_injected("a copy", target.view_mut().copy_from(&stream, &source.view()).err())?;
    same(&target.to_vec(&stream)?, &old, "the destination of a copy that failed")?;
    log.fail_after(0);
    was_injected("a fill", target.view_mut().fill(&stream, 7).err())?;
    same(&target.to_vec(&stream)?, &old, "the destination of a fill that failed")?;
    log.fail_after(0);
    was_injected("an event", stream.record().map(drop).err())?;
    target.view_mut().copy_from(&stream, &source.view())?;
    same(&target.to_vec(&stream)?, &new, "the destination of the copy tried again")
}

/// Every call of a program fails once in turn. Each run gives a typed error or the right result,
/// without a panic, and nothing leaks that was not reported; afterwards the same program runs on
/// the same context.
pub fn every_call_failed_once<D: Device>(harness: &Harness<D>) -> Outcome {
    for failing in 0.. {
        let (device, log) = Instrumented::new(harness.open()?);
        log.fail_after(failing);
        let context = match Context::new(device) {
            Ok(context) => context,
            Err(error) => {
                was_injected("opening", Some(error))?;
                continue;
            }
        };
        let outcome = program(&context);
        let still_to_come = log.stop_failing();
        let background = context.take_errors();
        if still_to_come {
            return same(&outcome?, &expected(), "the program with no call failing");
        }
        let told = outcome.as_ref().err().into_iter().chain(&background).collect::<Vec<_>>();
        match told.first() {
            Some(first) => ensure(is_injected(first), || {
                format!("call {failing} failed, and the error told is {first}")
            })?,
            // A failure without consequences need not be reported: a failed query before a
            // successful wait.
            None => same(
                &outcome?,
                &expected(),
                &format!("the program, in which call {failing} failed and nobody was told"),
            )?,
        }
        same(&program(&context)?, &expected(), &format!("the program after call {failing} had failed"))?;
        drop(context);
        leaks_at_most(&log, background.len(), failing)?;
    }
    Ok(())
}

/// Everything allocated was freed, except memory lost by a failed free, which was reported.
fn leaks_at_most(log: &Log, background_errors: usize, failing: usize) -> Outcome {
    let calls = log.calls();
    let failed = calls.get(failing).copied();
    let count = |call| calls.iter().filter(|&&c| c == call).count();
    // The log also holds failed calls: a failed allocation needs no free, and a failed free has
    // been tried.
    let allocated = count(Call::Alloc) - usize::from(failed == Some(Call::Alloc));
    let missing = allocated.saturating_sub(count(Call::Free));
    ensure(missing <= background_errors, || {
        format!("call {failing} ({failed:?}) failed, and {missing} buffers were not freed")
    })
}

/// The program: allocations, transfers both ways, strided copies, fills, two streams and an event.
fn program<D: Device>(context: &Context<D>) -> Result<Vec<u32>> {
    let (stream, other): (StreamHandle<D>, _) = (context.stream()?, context.stream()?);
    let source = Array::from_slice(&stream, &[6, 10], &elements::<u32>(1, 60))?;
    let mut target = Array::<u32, D>::zeros(&other, &[10, 6])?;
    target.view_mut().copy_from(&other, &source.view().transpose())?;
    target.view_mut().slice_axis(0, ..2)?.fill(&stream, 9)?;
    other.wait(&stream.record()?)?;
    target.view_mut().flip(&[0, 1])?.slice_axis(1, ..1)?.copy_from_slice(&other, &elements::<u32>(2, 10))?;
    drop(source);
    stream.synchronize()?;
    target.to_vec(&stream)
}

/// The result of the program, by the oracle.
fn expected() -> Vec<u32> {
    let base = Picture::of(&[10, 6]);
    let mut due = Picture::of(&[6, 10]).permute(&[1, 0]).read(&elements::<u32>(1, 60));
    base.slice(0, 0, 1, 2).write(&mut due, &[9; 12]);
    base.flip(0).flip(1).slice(1, 0, 1, 1).write(&mut due, &elements::<u32>(2, 10));
    due
}

/// A free that fails in a drop is not lost: nothing panics, and the context reports the error.
pub fn failing_drop_is_told<D: Device>(harness: &Harness<D>) -> Outcome {
    let (device, log) = Instrumented::new(harness.open()?);
    let context = Context::new(device)?;
    let stream = context.stream()?;
    let array = Array::<u32, _>::zeros(&stream, &[100])?;
    log.fail_after(0);
    drop(array);
    let failed = log.calls().last().copied();
    ensure(failed == Some(Call::Free), || format!("dropping an array called {failed:?}, a free is due"))?;
    let told = context.take_errors();
    ensure(told.len() == 1 && is_injected(&told[0]), || {
        format!("a free failed in a drop, and what was told is {told:?}")
    })?;
    ensure(context.take_errors().is_empty(), || "an error is told twice".into())?;
    Array::<u32, _>::zeros(&stream, &[100])?.to_vec(&stream).map(drop).map_err(Violation::from)
}

fn was_injected(what: &str, error: Option<Error>) -> Outcome {
    ensure(error.as_ref().is_some_and(is_injected), || format!("{what} that was made to fail: {error:?}"))
}
