//! The program's own kernels: their results, the waits before and after them, and calls that are
//! refused or fail.

pub(crate) mod declared;
mod recorded;

use devarray::{
    Array, Context, Error, Order, StreamHandle,
    backend::{Capability, Launch},
    ix,
    kernel::KernelError,
};

pub use super::programs::with_kernels as programs;
use crate::{
    Harness, Instrumented, Outcome, Violation,
    harness::no_background_errors,
    patterns::elements,
    violation::{ensure, same},
    wrap::is_injected,
};
use declared::{AddTo, Asks, LookUp, Reverse, SQUARES, Scale};
pub use recorded::recorded;

/// An opened device, and a stream of it.
type Opened<D> = (Context<D>, StreamHandle<D>);

/// A context and a stream; `None` if the device declares no kernels, and refuses them.
pub(super) fn launching<D: Launch>(harness: &Harness<D>) -> Result<Option<Opened<D>>, Violation> {
    let context = harness.context()?;
    let stream = context.stream()?;
    if context.device().info().capabilities.extras.has(Capability::Kernels) {
        return Ok(Some((context, stream)));
    }
    let (x, mut y) = (Array::full(&stream, &[1], 1_u32)?, Array::full(&stream, &[1], 2_u32)?);
    let refused = Scale::launch(&stream, &x, &mut y, 3);
    let named = matches!(refused, Err(Error::Unsupported { capability: Capability::Kernels, .. }));
    ensure(named, || {
        format!("a device that declares no kernels must refuse them by name, and said {refused:?}")
    })?;
    same(&y.to_vec(&stream)?, &[2], "what a kernel would have written that is not supported")?;
    Ok(None)
}

fn scaled(from: &[u32], k: u32) -> Vec<u32> {
    (0..).zip(from).map(|(at, from)| k.wrapping_mul(*from).wrapping_add(at)).collect()
}

/// A kernel computes the same as its host function, for any number of elements at any offset, with
/// each call's own values.
pub fn computes<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = launching(harness)? else { return Ok(()) };
    for (salt, (len, skipped)) in [(1, 0), (127, 1), (128, 0), (129, 3), (5000, 2)].into_iter().enumerate() {
        let from: Vec<u32> = elements(salt as u64, len + skipped);
        let x = Array::from_slice(&stream, &[len + skipped], &from)?;
        let x = x.slice_axis(0, skipped.cast_signed()..)?;
        let mut y = Array::full(&stream, &[len + 5], 7_u32)?;
        for k in [3, 1 << 20] {
            Scale::launch(&stream, &x, &mut y.view_mut().slice_axis(0, 2..len.cast_signed() + 2)?, k)?;
            let mut due = vec![7; len + 5];
            due[2..len + 2].copy_from_slice(&scaled(&from[skipped..], k));
            same(&y.to_vec(&stream)?, &due, "what a kernel wrote, and what lies around it")?;
        }
    }
    no_background_errors(&context)
}

/// Arguments of any strides are read and written in place, and no other bytes are.
pub fn strided<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = launching(harness)? else { return Ok(()) };
    let old: Vec<u16> = elements(1, 7 * 90);
    let from: Vec<u16> = elements(2, 12 * 31);
    let x = Array::from_slice(&stream, &[12, 31], &from)?;
    // To read: transposed and reversed elements, one row repeated, one column.
    let turned = x.index(&ix![..; -4, 1..])?.transpose();
    let row = x.slice_axis(0, 5..6)?.squeeze_axes(&[0])?.slice_axis(0, ..3)?.broadcast_to(&[30, 3])?;
    let column = x.slice_axis(1, 3..4)?.slice_axis(0, ..3)?.transpose().broadcast_to(&[30, 3])?;
    for view in [turned, row, column] {
        let mut y = Array::from_slice(&stream, &[7, 90], &old)?;
        // To write: every second row, reversed, of every third column.
        AddTo::launch(&stream, &view, &mut y.view_mut().index(&ix![1..; 2, ..; -3])?.transpose())?;
        let (added, mut due) = (view.to_vec(&stream)?, old.clone());
        for column in 0..30 {
            for row in 0..3 {
                let at = (1 + 2 * row) * 90 + 89 - 3 * column;
                due[at] = due[at].wrapping_add(added[column * 3 + row]);
            }
        }
        same(&y.to_vec(&stream)?, &due, "what a kernel wrote through strides, and what lies between")?;
    }
    no_background_errors(&context)
}

/// A kernel has its constant tables from the first launch on, and values of many bytes in each
/// launch.
pub fn tables<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = launching(harness)? else { return Ok(()) };
    let from: Vec<u8> = elements(9, 3000);
    let x = Array::from_slice(&stream, &[30, 100], &from)?;
    let mut y = Array::uninit(&stream, &[3000])?;
    for values in [[0, 1, 2, 3, 4, 5, 6, 7], [1 << 30; 8], [5, 0, 0, 0, 0, 0, 0, 9]] {
        LookUp::launch(&stream, &x, &mut y, values)?;
        let due = from.iter().map(|byte| SQUARES[usize::from(*byte)] + values[usize::from(*byte) % 8]);
        same(&y.to_vec(&stream)?, &due.collect::<Vec<_>>(), "what a kernel found in tables")?;
    }
    no_background_errors(&context)
}

/// A block has the shared memory that it asks for, up to the size that every device has.
pub fn shared<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = launching(harness)? else { return Ok(()) };
    for (lines, len) in [(1, 1), (3, 63), (70, 640), (2, 49_152)] {
        let from: Vec<u8> = elements(len as u64, lines * len);
        let x = Array::from_slice(&stream, &[lines, len], &from)?;
        let mut y = Array::uninit(&stream, &[lines, len])?;
        Reverse::launch(&stream, &x, &mut y)?;
        let due: Vec<u8> = from.chunks(len).flat_map(|line| line.iter().rev().copied()).collect();
        same(&y.to_vec(&stream)?, &due, "lines that went through shared memory")?;
    }
    no_background_errors(&context)
}

/// A kernel waits for work that writes its inputs and for work that uses its outputs; all later
/// uses of its memory wait for the kernel.
pub fn ordered<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, one)) = launching(harness)? else { return Ok(()) };
    let (two, three) = (context.stream()?, context.stream()?);
    let len = 2000;
    let line = |salt| -> Vec<u32> { elements(salt, len) };
    for salt in 0..8 {
        let (first, second, old) = (line(salt), line(salt + 50), line(99));
        let mut x = Array::<u32, D>::zeros(&one, &[len])?;
        let mut y = Array::from_slice(&one, &[len], &old)?;
        // Another stream reads it before it is written.
        let kept = y.view().to_contiguous(&two, Order::C)?;
        x.view_mut().copy_from_slice(&one, &first)?;
        Scale::launch(&three, &x, &mut y, 3)?;
        // Another stream writes it after it was read.
        x.view_mut().copy_from_slice(&two, &second)?;
        let mut z = Array::uninit(&one, &[len])?;
        Scale::launch(&one, &y, &mut z, 5)?;
        y.view_mut().fill(&two, 1)?;
        same(&z.to_vec(&two)?, &scaled(&scaled(&first, 3), 5), "a kernel of what another kernel wrote")?;
        same(&kept.to_vec(&three)?, &old, "what was read before a kernel wrote over it")?;
        same(&x.to_vec(&one)?, &second, "what was written after a kernel had read")?;
        same(&y.to_vec(&three)?, &vec![1; len], "a fill over what a kernel wrote")?;
        // The memory of an argument is reused only after the kernel is done.
        let mut w = Array::uninit(&two, &[len])?;
        Scale::launch(&two, &Array::full(&one, &[len], 2)?, &mut w, 4)?;
        let recycled = Array::full(&one, &[len], 7)?;
        same(&w.to_vec(&one)?, &scaled(&vec![2; len], 4), "a kernel of an array that was dropped")?;
        same(&recycled.to_vec(&two)?, &vec![7; len], "memory allocated after an argument was dropped")?;
    }
    no_background_errors(&context)
}

/// A strict stream refuses a kernel that is not ordered after conflicting work, and work that is
/// not ordered after a conflicting kernel.
pub fn strict<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, _)) = launching(harness)? else { return Ok(()) };
    let (one, two) = (context.strict_stream()?, context.strict_stream()?);
    let x = Array::full(&one, &[100], 5_u32)?;
    let mut y = Array::full(&two, &[100], 6_u32)?;
    let unordered = Scale::launch(&two, &x, &mut y, 1);
    let named = matches!(unordered, Err(Error::Hazard { operation: "Scale", .. }));
    ensure(named, || {
        format!("a kernel that reads what another stream writes must be a hazard, and was {unordered:?}")
    })?;
    two.wait(&one.record()?)?;
    Scale::launch(&two, &x, &mut y, 1)?;
    let unordered = y.to_vec(&one);
    let named = matches!(unordered, Err(Error::Hazard { .. }));
    ensure(named, || format!("a read of what a kernel writes must be a hazard, and was {unordered:?}"))?;
    one.wait(&two.record()?)?;
    same(&y.to_vec(&one)?, &scaled(&[5; 100], 1), "a kernel that was ordered")
}

/// Arguments that differ from the declaration, and launches that no device can do, are refused with
/// the right error and change nothing.
pub fn refused<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = launching(harness)? else { return Ok(()) };
    let x = Array::full(&stream, &[6, 4], 5_u32)?;
    let mut y = Array::full(&stream, &[24], 6_u32)?;
    let kernel = |result: &Result<(), Error>, expected: &KernelError| {
        let is_it = matches!(result, Err(Error::Kernel { error, .. }) if error == expected);
        ensure(is_it, || format!("expected {expected:?}, found {result:?}"))
    };
    let turned = Scale::launch(&stream, &x.transpose(), &mut y, 1);
    kernel(&turned, &KernelError::NotContiguous { argument: "from" })?;
    let short = Scale::launch(&stream, &x, &mut y.view_mut().slice_axis(0, 1..)?, 1);
    kernel(&short, &KernelError::Length { argument: "from", expected: 23, found: 24 })?;
    let line = Array::full(&stream, &[4], 1_u8)?;
    let flat = Reverse::launch(&stream, &line, &mut Array::full(&stream, &[1, 4], 1)?);
    kernel(&flat, &KernelError::Rank { argument: "from", expected: 2, found: 1 })?;
    for (blocks, threads, shared_bytes, what, requested, most) in [
        (0, 1, 0, "blocks along x", 0, 2_147_483_647),
        (1, 0, 0, "threads of a block along x", 0, 1024),
        (1, 1025, 0, "threads of a block along x", 1025, 1024),
        (u32::MAX, 1, 0, "blocks along x", u64::from(u32::MAX), 2_147_483_647),
    ] {
        let asked = Asks::launch(&stream, &mut y, blocks, threads, shared_bytes);
        // The entry has other parameters. A device that notices this reports it first, or not at
        // all.
        kernel(&asked, &KernelError::Limit { what, requested, most })?;
    }
    let stranger = harness.context()?.stream()?;
    let mixed = Scale::launch(&stranger, &x, &mut y, 1);
    let told = matches!(mixed, Err(Error::DeviceMismatch { .. }));
    ensure(told, || format!("an argument of another context was not refused: {mixed:?}"))?;
    same(&y.to_vec(&stream)?, &[6; 24], "what refused kernels would have written")?;
    Scale::launch(&stream, &x, &mut y, 1)?;
    same(&y.to_vec(&stream)?, &scaled(&[5; 24], 1), "the twin that fits")?;
    no_background_errors(&context)
}

/// A kernel that has nothing to write is not launched; a kernel that has something to write is.
pub fn empty<D: Launch>(harness: &Harness<D>) -> Outcome {
    let Some((context, stream)) = launching(harness)? else { return Ok(()) };
    let x = Array::<u32, _>::zeros(&stream, &[0])?;
    Scale::launch(&stream, &x, &mut Array::zeros(&stream, &[3, 0])?, 1)?;
    let launches = context.statistics().launches;
    ensure(launches == 0, || format!("{launches} launches of a kernel that has nothing to write"))?;
    let (x, mut y) = (Array::full(&stream, &[1], 7)?, Array::full(&stream, &[1], 0)?);
    Scale::launch(&stream, &x, &mut y, 6)?;
    same(&y.to_vec(&stream)?, &[42], "the twin of one element")?;
    no_background_errors(&context)
}

/// A failed launch has changed nothing, and succeeds when it is made again.
pub fn failed<D: Launch>(harness: &Harness<D>) -> Outcome {
    if launching(harness)?.is_none() {
        return Ok(());
    }
    let (device, log) = Instrumented::new(harness.open()?);
    let stream = Context::new(device)?.stream()?;
    let x = Array::from_slice(&stream, &[3], &[1_u32, 2, 3])?;
    let mut y = Array::full(&stream, &[3], 9_u32)?;
    stream.synchronize()?;
    log.fail_after(0);
    let failed = Scale::launch(&stream, &x, &mut y, 10);
    ensure(failed.as_ref().is_err_and(is_injected), || format!("a launch that fails said {failed:?}"))?;
    same(&y.to_vec(&stream)?, &[9; 3], "what a kernel that failed would have written")?;
    Scale::launch(&stream, &x, &mut y, 10)?;
    same(&y.to_vec(&stream)?, &scaled(&[1, 2, 3], 10), "a kernel whose launch failed once")
}
