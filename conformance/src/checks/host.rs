//! Owned and borrowed host memory: pinned buffers, transfers in flight, scopes.

use std::{
    future::Future,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context as TaskContext, Poll, Waker},
};

use devarray::{Array, Device, Error, LayoutError};

use crate::{
    Harness, Outcome, Pattern, Violation,
    harness::no_background_errors,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// A transfer that is still not ready after this many polls breaks the law.
const ENOUGH: usize = 1_000_000;

/// Pinned memory starts zeroed, at a multiple of 64, and is an ordinary slice.
pub fn pinned<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    for len in [0, 1, 63, 64, 65, 100_003] {
        let mut host = context.pinned::<u8>(len)?;
        same(&host, &vec![0; len], "fresh pinned memory")?;
        ensure(len == 0 || host.as_ptr().addr() % 64 == 0, || {
            "pinned memory is not aligned to 64 bytes".into()
        })?;
        let data = elements::<u8>(1, len);
        host.copy_from_slice(&data);
        same(&host, &data, "pinned memory that was written")?;
    }
    Ok(())
}

/// A pinned buffer is uploaded to a view of any layout, and a download returns its elements.
pub fn owned<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    for (case, mut rng) in harness.rngs().enumerate() {
        let pattern = Pattern::random(&mut rng, SHAPES[case % SHAPES.len()], false);
        let mut due = elements::<u32>(2, pattern.base_len());
        let mut array = Array::from_slice(&stream, &pattern.base, &due)?;
        let data = elements::<u32>(3, pattern.picture().places.len());
        let mut host = context.pinned(data.len())?;
        host.copy_from_slice(&data);
        let upload = pattern.view_mut(&mut array)?.upload(&stream, host).map_err(Error::from)?;
        let mut host = upload.wait().map_err(Error::from)?;
        same(&host, &data, "a pinned buffer that was read")?;
        pattern.picture().write(&mut due, &data);
        same(&array.to_vec(&stream)?, &due, &format!("an array after an upload to {pattern:?}"))?;
        host.fill(0);
        let download = pattern.view(&array)?.download(&stream, host).map_err(Error::from)?;
        same(&download.wait().map_err(Error::from)?, &data, &format!("a download of {pattern:?}"))?;
    }
    no_background_errors(&context)
}

/// One buffer is used again and again, each time after a wait.
pub fn used_again<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    let mut array = Array::<u16, D>::zeros(&stream, &[3000])?;
    let mut host = context.pinned(3000)?;
    for salt in 0..12 {
        let data = elements::<u16>(salt, 3000);
        host.copy_from_slice(&data);
        host =
            array.view_mut().upload(&stream, host).and_then(devarray::Transfer::wait).map_err(Error::from)?;
        host.fill(0);
        host =
            array.view().download(&stream, host).and_then(devarray::Transfer::wait).map_err(Error::from)?;
        same(&host, &data, "a buffer used again")?;
    }
    Ok(())
}

/// Polling a transfer makes progress, and a transfer that is used as a future becomes ready without
/// a wake-up.
pub fn polled<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    let data = elements::<u64>(1, 5000);
    let array = Array::from_slice(&stream, &[5000], &data)?;
    let asked = array.view().download(&stream, context.pinned(5000)?).map_err(Error::from)?;
    let mut asks = 0;
    while !asked.is_done()? {
        asks += 1;
        ensure(asks < ENOUGH, || format!("a transfer is not done after {ENOUGH} questions"))?;
    }
    same(&asked.wait().map_err(Error::from)?, &data, "a transfer that said it is done")?;
    let mut awaited = array.view().download(&stream, context.pinned(5000)?).map_err(Error::from)?;
    let mut task = TaskContext::from_waker(Waker::noop());
    for _ in 0..ENOUGH {
        if let Poll::Ready(host) = Pin::new(&mut awaited).poll(&mut task) {
            return same(&host.map_err(Error::from)?, &data, "a transfer that was awaited");
        }
    }
    Err(Violation::new(format!("a transfer is not ready after {ENOUGH} polls")))
}

/// A transfer that is dropped in flight still happens, and one that is forgotten does no harm.
pub fn dropped_and_forgotten<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    let mut array = Array::<u32, D>::zeros(&stream, &[4000])?;
    for salt in 0..8 {
        let data = elements::<u32>(salt, 4000);
        let mut host = context.pinned(4000)?;
        host.copy_from_slice(&data);
        let upload = array.view_mut().upload(&stream, host).map_err(Error::from)?;
        let download = array.view().download(&stream, context.pinned(4000)?).map_err(Error::from)?;
        if salt % 2 == 0 {
            drop((upload, download));
        } else {
            mem::forget((upload, download));
        }
        same(&array.to_vec(&stream)?, &data, "an array after an upload nobody waited for")?;
    }
    no_background_errors(&context)
}

/// A transfer that does not fit is refused and gives the buffer back.
pub fn refused<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let stream = context.stream()?;
    let mut array = Array::<u8, D>::zeros(&stream, &[4])?;
    let Err(refused) = array.view_mut().upload(&stream, context.pinned(5)?) else {
        return Err(Violation::new("a buffer of 5 elements went to a view of 4"));
    };
    let due =
        matches!(refused.error(), Error::Layout(LayoutError::LengthMismatch { expected: 4, found: 5 }, ..));
    ensure(due, || format!("a buffer of 5 for 4 elements: {refused}"))?;
    ensure(refused.into_buffer().is_some_and(|host| host.len() == 5), || "the buffer was lost".into())
}

/// Borrowed memory, many copies in flight, one wait: all sources and destinations are right when
/// the scope ends.
pub fn scope<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (case, mut rng) in harness.rngs().enumerate() {
        let pattern = Pattern::random(&mut rng, SHAPES[case % SHAPES.len()], false);
        let mut due = elements::<u16>(2, pattern.base_len());
        let mut array = Array::from_slice(&stream, &pattern.base, &due)?;
        let data = elements::<u16>(3, pattern.picture().places.len());
        let (mut part, mut whole) = (vec![0; data.len()], vec![0; due.len()]);
        stream.scope(|s| -> Outcome {
            s.upload(&data, &mut pattern.view_mut(&mut array)?)?;
            s.download(&pattern.view(&array)?, &mut part)?;
            s.download(&array.view(), &mut whole)?;
            Ok(())
        })??;
        pattern.picture().write(&mut due, &data);
        same(&part, &data, &format!("what a scope read back of {pattern:?}"))?;
        same(&whole, &due, &format!("all of an array after a scope wrote {pattern:?}"))?;
    }
    Ok(())
}

/// A scope waits before it lets a panic through: the memory that it borrowed may be gone right
/// after.
pub fn panic_in_scope<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    let data = elements::<u64>(5, 3000);
    let mut array = Array::<u64, D>::zeros(&stream, &[3000])?;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut short_lived = data.clone();
        let _ = stream.scope(|s| {
            if s.upload(&short_lived, &mut array.view_mut()).is_ok() {
                std::panic::resume_unwind(Box::new("on purpose"));
            }
        });
        short_lived.fill(0);
    }));
    ensure(outcome.is_err(), || "a panic was lost in a scope".into())?;
    same(&array.to_vec(&stream)?, &data, "an array written by a scope that panicked")
}
