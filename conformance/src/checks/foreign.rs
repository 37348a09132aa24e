//! Memory of other code that is used here, our memory that other code uses, and work of other code
//! among ours. A stream below the library stands for the other code.
#![allow(unsafe_code)] // stands for other code: it allocates, fills and frees below the library

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use devarray::{
    Array, Context, Element, Error, Layout, LayoutError, Order, StreamHandle,
    backend::{
        Buffer, Capabilities, Capability, Device, FillOp, ForeignMemory, ForeignStream, FreeOp, Stream,
    },
    copy::Plan,
    ix,
};

use crate::{
    Harness, Outcome, Violation,
    harness::no_background_errors,
    violation::{ensure, same},
};

/// Memory of a stream below the library, freed in that stream's order when it is dropped.
struct Foreign<D: Device> {
    stream: D::Stream,
    buffer: Option<D::Buffer>,
    address: u64,
    /// Counts the drops of such owners.
    drops: Arc<AtomicUsize>,
}

impl<D: Device> Foreign<D> {
    /// Memory filled with one value; `stream` waits for the fill.
    fn new(stream: &StreamHandle<D>, len_bytes: usize, value: u8) -> Result<Self, Violation> {
        let own = stream.context().device().open_stream()?;
        let len_bytes = len_bytes.try_into().map_err(|_| Violation::new("memory of no bytes"))?;
        let buffer = own.alloc(len_bytes)?;
        fill::<D>(&own, &buffer, 0..len_bytes.get(), value)?;
        stream.raw().wait(&own.record()?)?;
        Ok(Self { stream: own, address: buffer.address(), buffer: Some(buffer), drops: Arc::default() })
    }

    /// An array in a part of the memory, with the memory as its owner.
    fn adopted<T: Element>(
        self,
        stream: &StreamHandle<D>,
        at: u64,
        layout: &Layout,
    ) -> Result<Array<T, D>, Error>
    where
        D: ForeignMemory,
    {
        // SAFETY: the elements lie inside the memory, which its owner keeps; nobody else uses it.
        unsafe { Array::adopt(stream, self.address + at, layout, self) }
    }
}

impl<D: Device> Drop for Foreign<D> {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        let Some(buffer) = self.buffer.take() else { return };
        // SAFETY: the buffer is of a stream of this device, and freed once; the library dropped it
        // when nothing used it any more.
        let freed = self.stream.free(unsafe { FreeOp::new_unchecked(buffer) });
        // A failed free leaks the memory, which a device that counts allocations reports.
        drop(freed);
    }
}

/// Sets bytes of a buffer, like a kernel of other code.
fn fill<D: Device>(stream: &D::Stream, to: &D::Buffer, bytes: Range<usize>, value: u8) -> Result<(), Error> {
    let line = Layout::new(&[bytes.len()], &[1], bytes.start)?;
    let plan = Plan::new(&line, &line, 1, &Capabilities::default())?;
    let pattern = [value];
    // SAFETY: inside the buffer; the caller orders it.
    let op = unsafe { FillOp::new_unchecked(to, &plan, &pattern) };
    stream.fill(&op)
}

/// A context whose device takes memory of other code; `None` if it does not and its refusal names
/// the capability.
fn adopting<D: ForeignMemory>(harness: &Harness<D>) -> Result<Option<Context<D>>, Violation> {
    let context = harness.context()?;
    if context.device().info().capabilities.extras.has(Capability::ForeignMemory) {
        return Ok(Some(context));
    }
    let stream = context.stream()?;
    // SAFETY: nothing is adopted.
    let refused =
        unsafe { Array::<u8, D>::adopt(&stream, 512, &Layout::contiguous(&[8], Order::C)?, ()) }.err();
    let named = matches!(refused, Some(Error::Unsupported { capability: Capability::ForeignMemory, .. }));
    ensure(named, || format!("a capability that was not declared: {refused:?}"))?;
    Ok(None)
}

/// Elements are read and written in place, at any address, with any strides and any element size.
pub fn elements<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = adopting(harness)? else { return Ok(()) };
    let (stream, other) = (context.stream()?, context.stream()?);
    for (at, is_checked) in
        [0, 4, 8, 252, 256, 300, 1020].into_iter().flat_map(|at| [(at, true), (at, false)])
    {
        let foreign = Foreign::new(&stream, 4096, 7)?;
        let base = foreign.address;
        let layout = Layout::new(&[5, 3], &[-20, 2], 90)?;
        let mut array: Array<u32, D> = if is_checked {
            foreign.adopted(&stream, at, &layout)
        } else {
            // SAFETY: as for `adopted`, and the memory belongs to the device itself.
            unsafe { Array::adopt_unchecked(&stream, base + at, &layout, foreign) }
        }?;
        let address = array.view().address();
        ensure(address == base + at + 360, || format!("an address {at} behind {base} is {address}"))?;
        same(&array.to_vec(&other)?, &[0x0707_0707; 15], "adopted elements")?;
        array.view_mut().copy_from_slice(&other, &(0..15).collect::<Vec<u32>>())?;
        array.view_mut().index(&ix![1, ..])?.fill(&stream, 99)?;
        let corner = array.view().index(&ix![..2, ..; -1])?.to_vec(&other)?;
        same(&corner, &[2, 1, 0, 99, 99, 99], "adopted elements that were written")?;
    }
    // An element of twelve bytes, at addresses that are no whole number of elements after a
    // multiple of 256.
    for at in [0, 4, 100, 2000] {
        let line = Layout::contiguous(&[9], Order::C)?;
        let mut array: Array<[u32; 3], D> = Foreign::new(&stream, 4096, 1)?.adopted(&stream, at, &line)?;
        array.view_mut().slice_axis(0, 3..5)?.fill(&stream, [2, 3, 4])?;
        let mut due = [[0x0101_0101; 3]; 9];
        due[3..5].fill([2, 3, 4]);
        same(&array.to_vec(&other)?, &due, "adopted elements of twelve bytes")?;
    }
    no_background_errors(&context)
}

/// The owner is dropped once, after the work that was in flight when the array was dropped.
pub fn owner_goes_last<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = adopting(harness)? else { return Ok(()) };
    let (stream, other) = (context.stream()?, context.stream()?);
    let (len, few) = (1 << 16, Layout::contiguous(&[8], Order::C)?);
    let foreign = Foreign::new(&stream, len, 5)?;
    let drops = Arc::clone(&foreign.drops);
    let gone = |count: usize, when: &str| {
        let found = drops.load(Relaxed);
        ensure(found == count, || format!("an owner was dropped {found} times, {count} is due: {when}"))
    };
    let mut array: Array<u8, D> = foreign.adopted(&stream, 0, &Layout::contiguous(&[len], Order::C)?)?;
    array.view_mut().slice_axis(0, ..100)?.fill(&stream, 6)?;
    let copy = array.view().to_contiguous(&other, Order::C)?;
    let shared = array.into_shared();
    drop(shared.clone());
    gone(0, "a clone of the array is dropped")?;
    drop(shared);
    let mut due = vec![5; len];
    due[..100].fill(6);
    same(&copy.to_vec(&other)?, &due, "a copy of memory that was given up in flight")?;
    stream.synchronize()?;
    // When the next array is dropped, the device has finished with the first.
    drop(Foreign::new(&stream, 8, 0)?.adopted::<u8>(&stream, 0, &few)?);
    gone(1, "all work is finished")?;
    drop((copy, stream, other, context));
    gone(1, "the context is gone")
}

/// An array without elements adopts nothing, whatever its address is.
pub fn no_elements<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = adopting(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let owner = Arc::new(());
    let none = Layout::contiguous(&[3, 0], Order::C)?;
    // SAFETY: there are no elements.
    let empty = unsafe { Array::<u64, D>::adopt(&stream, 1, &none, Arc::clone(&owner)) }?;
    ensure(Arc::strong_count(&owner) == 1, || "the owner of no elements was kept".to_owned())?;
    same(empty.shape(), &[3, 0], "the shape of no elements")?;
    same(&[empty.view().address()], &[0], "the address of no elements")
}

/// Declared work of other code is ordered with the work of every stream.
pub fn declared_work<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = adopting(harness)? else { return Ok(()) };
    let (one, two) = (context.stream()?, context.stream()?);
    let foreign = Arc::new(Foreign::new(&one, 3000, 1)?);
    let Some(target) = &foreign.buffer else { return Ok(()) };
    let line = Layout::contiguous(&[3000], Order::C)?;
    // SAFETY: the owner keeps the memory; all other uses of it below are declared.
    let mut array = unsafe { Array::<u8, D>::adopt(&one, foreign.address, &line, Arc::clone(&foreign)) }?;
    let mut copy = Array::<u8, D>::zeros(&one, &[3000])?;
    for round in 2..20 {
        copy.view_mut().copy_from(&one, &array.view())?;
        let mut view = array.view_mut();
        let work = two.foreign_work().writes(&mut view);
        work.enqueue(|raw| fill::<D>(raw, target, 0..3000, round))?;
        same(&copy.to_vec(&one)?, &[round - 1; 3000], "what was read before other code wrote")?;
        copy.view_mut().copy_from(&one, &array.view())?;
        same(&copy.to_vec(&one)?, &[round; 3000], "what is read after other code wrote")?;
    }
    // Readers need no order between each other; a strict stream shows the difference.
    let strict = context.strict_stream()?;
    strict.wait(&two.record()?)?;
    copy.view_mut().copy_from(&one, &array.view())?;
    strict.foreign_work().reads(&array.view()).enqueue(|_| Ok(()))?;
    let refused = strict.foreign_work().writes(&mut array.view_mut()).enqueue(|_| Ok(()));
    let due = matches!(refused, Err(Error::Hazard { operation: "foreign_work", .. }));
    ensure(due, || format!("work on a strict stream that writes what another reads: {refused:?}"))
}

/// Memory goes out, is used by other code, and comes back.
pub fn released<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = adopting(harness)? else { return Ok(()) };
    let (one, two) = (context.stream()?, context.stream()?);
    let mut array = Array::from_slice(&one, &[2, 3], &[1_u16, 2, 3, 4, 5, 6])?;
    array.view_mut().index(&ix![0, ..])?.fill(&two, 9)?;
    let released = array.release(&one).map_err(Error::from)?;
    let told = [released.len_bytes(), released.item_bytes(), released.layout().len()];
    same(&told, &[12, 2, 6], "what is told of released memory")?;
    // SAFETY: it is unchanged since the release, and nobody used it.
    let array = unsafe { Array::<u16, D>::reclaim(&two, released) }?;
    same(&array.to_vec(&one)?, &[9, 9, 9, 4, 5, 6], "memory that came back")?;
    // Other code frees it itself, in the order of the stream that the release named.
    let copy = array.view().to_contiguous(&two, Order::C)?;
    if let Some(buffer) = array.release(&one).map_err(Error::from)?.into_buffer() {
        // SAFETY: the buffer was given up, and the stream is ordered after its uses.
        one.raw().free(unsafe { FreeOp::new_unchecked(buffer) })?;
    }
    same(&copy.to_vec(&one)?, &[9, 9, 9, 4, 5, 6], "a copy of memory that other code freed")?;
    // An array that does not own its memory comes back unchanged.
    let line = Layout::contiguous(&[2], Order::C)?;
    let lent: Array<u32, D> = Foreign::new(&one, 8, 1)?.adopted(&one, 0, &line)?;
    let Err(refused) = lent.release(&two) else {
        return Err(Violation::new("memory of an owner was given away"));
    };
    let named = matches!(refused.error(), Error::Unsupported { capability: Capability::ForeignMemory, .. });
    ensure(named, || format!("memory of an owner, released: {refused}"))?;
    same(&refused.into_array().to_vec(&two)?, &[0x0101_0101; 2], "an array that could not be released")?;
    no_background_errors(&context)
}

/// Work of one stream is finished before work of another that waits for the legacy default stream,
/// if the legacy default stream was made to wait for the first one.
pub fn legacy_stream<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    through(harness, ForeignStream::LEGACY, ForeignStream::LEGACY)
}

/// Like [`legacy_stream`], for the default stream of this thread. Each of the two default streams
/// also waits for the other by itself.
pub fn thread_stream<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    through(harness, ForeignStream::PER_THREAD, ForeignStream::PER_THREAD)?;
    through(harness, ForeignStream::PER_THREAD, ForeignStream::LEGACY)?;
    through(harness, ForeignStream::LEGACY, ForeignStream::PER_THREAD)
}

/// Passes memory from one stream to another, with no order except the one through streams of other
/// code.
fn through<D: ForeignMemory>(
    harness: &Harness<D>,
    waits: ForeignStream,
    waited_for: ForeignStream,
) -> Outcome {
    let Some(context) = adopting(harness)? else { return Ok(()) };
    let (one, two) = (context.stream()?, context.stream()?);
    let (len, what) = (1 << 14, format!("what was written before {waits} waited, read after {waited_for}"));
    let line = Layout::contiguous(&[len], Order::C)?;
    let mut array = Array::<u8, D>::zeros(&one, &[len])?;
    one.synchronize()?;
    for round in 1..5 {
        array.view_mut().fill(&one, round)?;
        one.foreign_waits(waits)?;
        two.wait_for_foreign(waited_for)?;
        // To the library this is memory of other code, and it knows none of its uses.
        // SAFETY: the array keeps the memory, and all earlier work on it comes before later work of
        // `two`.
        let seen = unsafe { Array::<u8, D>::adopt(&two, array.view().address(), &line, ()) }?;
        same(&seen.to_vec(&two)?, &vec![round; len], &what)?;
        drop(seen);
        two.synchronize()?;
    }
    no_background_errors(&context)
}

/// Unsuitable memory is refused with the right error, and the owner is dropped.
pub fn refused<D: ForeignMemory>(harness: &Harness<D>) -> Outcome {
    let Some(context) = adopting(harness)? else { return Ok(()) };
    let stream = context.stream()?;
    let foreign = Foreign::new(&stream, 4096, 7)?;
    let line = Layout::contiguous(&[4], Order::C)?;
    let repeated = Layout::new(&[4], &[0], 0)?;
    let cases = [
        ("an unaligned address", foreign.address + 2, &line),
        ("repeated elements", foreign.address, &repeated),
        ("the last address", u64::MAX - 3, &line),
        ("an address of nothing", 1 << 13, &line),
    ];
    for (what, address, layout) in cases {
        let owner = Arc::new(());
        // SAFETY: nothing is adopted.
        let refused = unsafe { Array::<u32, D>::adopt(&stream, address, layout, Arc::clone(&owner)) }.err();
        let named = match &refused {
            Some(Error::Layout(LayoutError::ElementSize { item_bytes: 4, .. }, ..)) => "an unaligned address",
            Some(Error::Layout(LayoutError::AliasedDestination, ..)) => "repeated elements",
            Some(Error::Layout(LayoutError::Overflow, ..)) => "the last address",
            Some(Error::Driver { operation: "adopt", .. }) => "an address of nothing",
            _ => "",
        };
        ensure(named == what, || format!("{what}: {refused:?}"))?;
        ensure(Arc::strong_count(&owner) == 1, || format!("{what}: the owner was kept"))?;
    }
    Ok(())
}
