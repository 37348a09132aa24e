//! Memory shared with another process. If the harness has none, the law of two processes is not run.
#![allow(unsafe_code)] // keeps what is exported while it is open

use devarray::{
    Array, Context, Error, LayoutError, Order,
    backend::{Capability, Ipc},
    ipc::{RemoteArray, RemoteEvent},
    ix,
};

use crate::{
    Harness, Outcome, Violation,
    harness::no_background_errors,
    patterns::elements,
    violation::{ensure, same},
};

/// A context whose device can share memory; `None` if it cannot, and refuses with the right error.
fn sharing<D: Ipc>(harness: &Harness<D>) -> Result<Option<Context<D>>, Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::Ipc) {
        return Ok(Some(context));
    }
    let stream = context.stream()?;
    let refused = Array::<u8, D>::zeros_exportable(&stream, &[8]).err();
    let named = matches!(refused, Some(Error::Unsupported { capability: Capability::Ipc, .. }));
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    Ok(None)
}

/// Returns this device in another process, if the harness has it.
fn elsewhere<D: Ipc>(harness: &Harness<D>, here: &Context<D>) -> Result<Option<Context<D>>, Violation> {
    let there = harness.other_process_context()?;
    let uuid = |context: &Context<D>| context.device().info().properties.uuid;
    let other = there.device().process() != here.device().process() && uuid(&there) == uuid(here);
    if !other {
        harness.leave_out("the device is not open in another process");
    }
    Ok(other.then_some(there))
}

/// Exportable memory can be used like any other memory.
pub fn exportable<D: Ipc>(harness: &Harness<D>) -> Outcome {
    let Some(context) = sharing(harness)? else { return Ok(()) };
    let (stream, other) = (context.stream()?, context.stream()?);
    let mut array = Array::<u32, D>::zeros_exportable(&stream, &[30, 40])?;
    same(&array.to_vec(&other)?, &[0; 1200], "exportable memory that nobody wrote")?;
    let data = elements::<u32>(3, 1200);
    array.view_mut().copy_from_slice(&other, &data)?;
    let exported = array.export(&stream)?;
    let turned = array.view().transpose().to_contiguous(&stream, Order::C)?;
    // Exported memory stays, also after its array is dropped.
    drop(array);
    drop(exported);
    let due: Vec<u32> = (0..1200).map(|k| data[k % 30 * 40 + k / 30]).collect();
    same(&turned.to_vec(&other)?, &due, "a copy of exportable memory that was dropped in flight")?;
    let pooled = Array::<u8, D>::zeros(&stream, &[8])?.export(&stream).err();
    let named = matches!(pooled, Some(Error::Unsupported { capability: Capability::Ipc, .. }));
    ensure(named, || format!("memory that was not allocated to be exported: {pooled:?}"))?;
    no_background_errors(&context)
}

/// Both processes have the same memory, with slices at their places, and events order their work.
pub fn one_memory<D: Ipc>(harness: &Harness<D>) -> Outcome {
    let Some(here) = sharing(harness)? else { return Ok(()) };
    let Some(there) = elsewhere(harness, &here)? else { return Ok(()) };
    let (s, t) = (here.stream()?, there.stream()?);
    let mut array = Array::<u16, D>::zeros_exportable(&s, &[10, 12])?;
    let mut due = elements::<u16>(1, 120);
    array.view_mut().copy_from_slice(&here.stream()?, &due)?;
    let exported = array.export(&s)?;
    let remote = RemoteArray::from_bytes(&exported.array().to_bytes());
    let remote = remote.map_err(|error| Violation::new(error.to_string()))?;
    let column = remote.clone().with_layout(remote.layout().index(&ix![..; -1, 5])?)?;
    // SAFETY: the exported memory is kept until the end, and events order the two processes.
    let whole = unsafe { Array::<u16, D>::open(&t, &remote) }?;
    // SAFETY: as above.
    let mut part = unsafe { Array::<u16, D>::open(&t, &column) }?;
    same(&whole.to_vec(&t)?, &due, "an array of another process")?;
    let old: Vec<u16> = (0..10).rev().map(|row| due[row * 12 + 5]).collect();
    same(&part.to_vec(&there.stream()?)?, &old, "a slice of an array of another process")?;

    part.view_mut().fill(&t, 77)?;
    let written = t.record_exported()?;
    let event = RemoteEvent::from_bytes(&written.event().to_bytes());
    let event = event.map_err(|error| Violation::new(error.to_string()))?;
    // SAFETY: the event is kept until the wait is enqueued.
    unsafe { s.wait_exported(&event) }?;
    (0..10).for_each(|row| due[row * 12 + 5] = 77);
    same(&array.to_vec(&s)?, &due, "what another process wrote")?;
    drop((whole, part));
    t.synchronize()?;
    no_background_errors(&here)?;
    no_background_errors(&there)
}

/// A handle that cannot be opened is refused with the right error: one of this process, one for
/// another element size, or one that is no handle at all.
pub fn refused<D: Ipc>(harness: &Harness<D>) -> Outcome {
    let Some(context) = sharing(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let array = Array::<u32, D>::zeros_exportable(&stream, &[6])?;
    let exported = array.export(&stream)?;
    // SAFETY: nothing is opened.
    let own = unsafe { Array::<u32, D>::open(&stream, exported.array()) }.err();
    ensure(matches!(own, Some(Error::Handle { operation: "open", .. })), || {
        format!("an own array: {own:?}")
    })?;
    let event = stream.record_exported()?;
    // SAFETY: nothing is opened.
    let own = unsafe { stream.wait_exported(event.event()) }.err();
    ensure(matches!(own, Some(Error::Handle { .. })), || format!("an own event: {own:?}"))?;
    // SAFETY: nothing is opened.
    let size = unsafe { Array::<u8, D>::open(&stream, exported.array()) }.err();
    let due = matches!(size, Some(Error::Layout(LayoutError::ElementSize { item_bytes: 4, .. }, ..)));
    ensure(due, || format!("elements of another size: {size:?}"))?;
    let message = exported.array().to_bytes();
    for len in 0..message.len() {
        ensure(RemoteArray::from_bytes(&message[..len]).is_err(), || {
            format!("{len} bytes of a name are one")
        })?;
    }
    ensure(RemoteArray::from_bytes(&message).as_ref() == Ok(exported.array()), || {
        "a name in bytes is another one".to_owned()
    })
}
