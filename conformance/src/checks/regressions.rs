//! Nine ways in which another safe layer over CUDA lets safe programs corrupt memory, as regression
//! tests: none of them is possible here.
//!
//! H1 to H9 were found in cudarc 0.19 by running its real code over a counting driver; each check
//! tells what went wrong there. Some holes are also closed by types, which the compile-fail
//! programs in `core/tests/lifetimes` show: H4 (`pinned_memory_used_in_flight`,
//! `pinned_memory_kept_by_reference`). For H6 there is nothing to write, because no stream means
//! another one on another thread.

use std::thread;

use devarray::{Array, Context, Device, Error, Result, StreamHandle};

use crate::{
    Harness, Instrumented, Outcome, Violation,
    harness::no_background_errors,
    patterns::elements,
    violation::{ensure, same},
};

const LEN: usize = 200_000;

/// Work that keeps a stream busy for a while.
fn busy<D: Device>(stream: &StreamHandle<D>) -> Result<Array<u32, D>> {
    let mut array = Array::zeros(stream, &[LEN])?;
    for value in 0..16 {
        array.view_mut().fill(stream, value)?;
    }
    Ok(array)
}

/// H1: a buffer kept only one event for its readers, so after a second reader a writer or a free
/// waited only for that one.
pub fn last_reader<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let (slow, fast, writer) = (context.stream()?, context.stream()?, context.stream()?);
    for salt in 0..4 {
        let data = elements::<u32>(salt, LEN);
        let mut shared = Array::from_slice(&writer, &[LEN], &data)?;
        let mut copy = busy(&slow)?;
        copy.view_mut().copy_from(&slow, &shared.view())?;
        let other = shared.view().to_contiguous(&fast, devarray::Order::C)?;
        shared.view_mut().fill(&writer, 0xDEAD)?;
        same(&copy.to_vec(&slow)?, &data, "what the first of two readers saw of an array overwritten after")?;

        let mut again = busy(&slow)?;
        again.view_mut().copy_from(&slow, &other.view())?;
        let last = other.view().to_contiguous(&fast, devarray::Order::C)?;
        drop(other);
        let reuse = Array::from_slice(&writer, &[LEN], &elements::<u32>(99, LEN))?;
        same(&again.to_vec(&slow)?, &data, "what the first of two readers saw of an array freed after")?;
        same(&last.to_vec(&fast)?, &data, "what the second reader saw")?;
        drop(reuse);
    }
    no_background_errors(&context)
}

/// H2: dropping the last created stream switched tracking off while the stream's work was in
/// flight.
pub fn dropped_stream<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let reader = context.stream()?;
    for salt in 0..4 {
        let data = elements::<u32>(salt, LEN);
        let writer = context.stream()?;
        let source = Array::from_slice(&writer, &[LEN], &data)?;
        let mut target = busy(&writer)?;
        target.view_mut().copy_from(&writer, &source.view())?;
        drop((writer, source));
        same(&target.to_vec(&reader)?, &data, "what a stream wrote that was dropped at once")?;
    }
    no_background_errors(&context)
}

/// H3: an error that a drop had kept was returned by the next call, which then did not do its own
/// work: waits did not wait.
pub fn kept_error<D: Device>(harness: &Harness<D>) -> Outcome {
    let (device, log) = Instrumented::new(harness.open()?);
    let context = Context::new(device)?;
    let (stream, other) = (context.stream()?, context.stream()?);
    let data = elements::<u32>(5, LEN);
    let source = Array::from_slice(&other, &[LEN], &data)?;
    let lost = Array::<u32, _>::zeros(&stream, &[100])?;
    let mut target = busy(&stream)?;
    log.fail_after(0);
    drop(lost);
    target.view_mut().copy_from(&stream, &source.view())?;
    let transfer = target.view().download(&stream, context.pinned::<u32>(LEN)?).map_err(Error::from)?;
    same(
        &transfer.wait().map_err(Error::from)?,
        &data,
        "pinned memory after a wait, an error kept meanwhile",
    )?;
    stream.synchronize()?;
    let told = context.take_errors().len();
    ensure(told == 1, || format!("one free failed in a drop, and {told} errors are told"))
}

/// H4: a copy to pinned memory that was passed as a plain slice was not waited for.
pub fn pinned_as_slice<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    for salt in 0..4 {
        let data = elements::<u32>(salt, LEN);
        let source = Array::from_slice(&stream, &[LEN], &data)?;
        let mut late = busy(&stream)?;
        late.view_mut().copy_from(&stream, &source.view())?;
        let mut pinned = context.pinned::<u32>(LEN)?;
        late.view().copy_to_slice(&stream, &mut pinned)?;
        same(&pinned, &data, "pinned memory that was copied to as a slice, when the call returned")?;
    }
    Ok(())
}

/// H5: buffers of one context were used on streams of another context of the same device, without
/// any order.
pub fn two_contexts<D: Device>(harness: &Harness<D>) -> Outcome {
    let device = harness.open()?;
    let stream = Context::new(device)?.stream()?;
    let stranger = harness.context()?.stream()?;
    let array = Array::from_slice(&stream, &[3], &[1_u8, 2, 3])?;
    let mut target = Array::<u8, D>::zeros(&stranger, &[3])?;
    for refused in [
        target.view_mut().copy_from(&stranger, &array.view()).err(),
        target.view_mut().copy_from(&stream, &array.view()).err(),
        array.to_vec(&stranger).err(),
        stranger.wait(&stream.record()?).err(),
    ] {
        let due = matches!(refused, Some(Error::DeviceMismatch { .. }));
        ensure(due, || format!("two contexts mixed: {refused:?}"))?;
    }
    same(&target.to_vec(&stranger)?, &[0; 3], "a destination after refused copies")
}

/// H6: the default stream of a thread was one handle that meant two streams on two threads.
pub fn one_stream_on_two_threads<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.strict_stream()?;
    for salt in 0..4 {
        let data = elements::<u32>(salt, LEN);
        let source = Array::from_slice(&stream, &[LEN], &data)?;
        let mut target = busy(&stream)?;
        let there = stream.clone();
        let moved = thread::spawn(move || -> Result<Array<u32, D>> {
            target.view_mut().copy_from(&there, &source.view())?;
            Ok(target)
        });
        let target = moved.join().map_err(|_| Violation::new("another thread panicked"))??;
        same(&target.to_vec(&stream)?, &data, "what one stream did for two threads, in order")?;
    }
    no_background_errors(&context)
}

/// H7: the source of a copy to another device was freed while the copy was in flight.
pub fn source_of_another_device<D: Device>(harness: &Harness<D>) -> Outcome {
    let (here, there) = (harness.context()?, harness.second_context()?);
    let (s, t) = (here.stream()?, there.stream()?);
    for salt in 0..4 {
        let data = elements::<u32>(salt, LEN);
        let source = Array::from_slice(&t, &[LEN], &data)?;
        let mut target = busy(&s)?;
        target.view_mut().copy_across(&s, &t, &source.view())?;
        drop(source);
        let reuse = Array::from_slice(&t, &[LEN], &elements::<u32>(99, LEN))?;
        same(&target.to_vec(&s)?, &data, "what came of an array that was dropped at once")?;
        drop(reuse);
    }
    no_background_errors(&here)?;
    no_background_errors(&there)
}

/// H8: a length multiplied by a size overflowed, and safe code wrote beyond the few bytes that were
/// allocated.
pub fn wrapped_size<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for len in [(1 << 61) + 1, usize::MAX / 8 + 2, usize::MAX] {
        let refused = Array::<u64, D>::zeros(&stream, &[len]).err();
        let due = matches!(refused, Some(Error::Layout(..)));
        ensure(due, || format!("{len} elements of 8 bytes: {refused:?}"))?;
    }
    same(&Array::from_slice(&stream, &[1], &[7_u64])?.to_vec(&stream)?, &[7], "a stream after refusals")
}

/// H9: memory that was dropped on a thread without the device's context leaked, or was freed out of
/// order on another device.
pub fn dropped_elsewhere<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    for salt in 0..4 {
        let data = elements::<u32>(salt, LEN);
        let source = Array::from_slice(&stream, &[LEN], &data)?;
        let mut copy = busy(&stream)?;
        copy.view_mut().copy_from(&stream, &source.view())?;
        let dropped = thread::spawn(move || drop(source)).join();
        dropped.map_err(|_| Violation::new("another thread panicked"))?;
        let reuse = Array::from_slice(&stream, &[LEN], &elements::<u32>(99, LEN))?;
        same(&copy.to_vec(&stream)?, &data, "what was read of an array that another thread dropped")?;
        drop(reuse);
        no_background_errors(&context)?;
    }
    Ok(())
}
