//! The recording of calls: the closure is run, and what it called becomes a recording.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex},
};

use super::{
    RecordedArguments, Recording, RecordingError,
    arguments::{Given, Stand},
    launch::Argument,
    recorder::{MOST_APART_BYTES, Memory, Recorded, Recorder},
    segments::{Segment, segments},
};
use crate::{
    Result,
    allocation::Allocation,
    backend::Device,
    layout::{Layout, Order},
    stream::{Role, StreamCore, StreamHandle},
};

impl<D: Device> StreamHandle<D> {
    /// Records the calls that `work` makes on the stream that it is given. Enqueues nothing but the
    /// allocation of memory, and uploads of elements of odd sizes that `work` fills with. Does not synchronize, and
    /// asks no other rank.
    ///
    /// `work` is called once, with views that have the shapes and strides of the arguments; whether a
    /// call is made, and with which extents, is decided now. The arguments' elements are neither read nor
    /// written. See [`recorded`](crate::recorded) for the calls that it may make, and an example.
    ///
    /// # Errors
    ///
    /// - The errors that `work` returns, among them [`Error::Recording`](crate::Error::Recording) for a call that
    ///   cannot be recorded; then nothing is recorded.
    /// - [`Error::Recording`](crate::Error::Recording): an array that `work` made is alive after it, or this is
    ///   the stream of another recording.
    /// - Out of memory, and [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): an argument of another context.
    #[track_caller]
    pub fn record_work<A, F>(&self, mut arguments: A, work: F) -> Result<Recording<D, A::Kinds>>
    where
        A: RecordedArguments<D>,
        F: for<'r> FnOnce(&'r Self, A::Stands<'r>) -> Result<()>,
    {
        const OPERATION: &str = "record_work";
        self.0.check_runs(OPERATION)?;
        let recorder = Arc::new(Recorder::new());
        let mut stands = Vec::new();
        let mut expected = Vec::new();
        for given in arguments.given() {
            let mut ranks = None;
            let (layout, item_bytes, len_bytes) = match given {
                Given::Elements { elements, .. } => {
                    self.0.check_context(OPERATION, [elements.allocation])?;
                    let (layout, item_bytes) = (elements.layout.clone(), elements.item_bytes);
                    expected.push(Argument::Elements(layout.clone()));
                    // A layout without elements may have any offset.
                    let len_bytes = if layout.is_empty() { 0 } else { layout.span().end * item_bytes };
                    (layout, item_bytes, len_bytes)
                }
                Given::Number(_, item_bytes) => {
                    expected.push(Argument::Number);
                    (Layout::contiguous(&[], Order::C)?, item_bytes, item_bytes)
                }
                Given::Ranks(of) => {
                    self.0.check_core(OPERATION, of.core())?;
                    if of.is_stand() {
                        return Err(RecordingError::Outside.of(OPERATION));
                    }
                    expected.push(Argument::Ranks(of.place()));
                    ranks = Some(of);
                    (Layout::contiguous(&[0], Order::C)?, 1, 0)
                }
            };
            let allocation = recorder.argument(&self.0.core, len_bytes)?;
            let ranks = ranks.zip(allocation.part()).map(|(ranks, part)| ranks.stand(part));
            stands.push(Stand { allocation, layout, item_bytes, ranks });
        }
        let StreamCore { raw, lane, mode, core, .. } = &*self.0;
        let on = Self(Arc::new(StreamCore {
            raw: Arc::clone(raw),
            lane: *lane,
            mode: *mode,
            core: Arc::clone(core),
            role: Role::Records(Arc::clone(&recorder), Arc::clone(&self.0)),
        }));
        let ends = Ends(&recorder);
        let done = work(&on, A::stands(&mut stands));
        let recorded = ends.0.end();
        done?;
        drop(stands);
        let Some(Recorded { memory, calls, exchanges, branches }) = recorded else {
            return Err(RecordingError::Over.of(OPERATION));
        };
        let lens_bytes: Vec<_> =
            (0..).zip(&memory).map(|(number, of)| movable_bytes(of, expected.get(number))).collect();
        let homes = branches.homes(&lens_bytes);
        let (mut owned, mut places) = (Vec::new(), vec![0; memory.len()]);
        for (number, memory) in memory.into_iter().enumerate() {
            let own = match memory {
                Memory::Later(of) if Arc::strong_count(&of) > 1 => {
                    return Err(RecordingError::Escaped.of(OPERATION));
                }
                _ if homes[number] != number => continue,
                Memory::Now(allocation) => Some(allocation),
                Memory::Later(of) => match expected.get(number) {
                    Some(Argument::Elements(_)) => None,
                    _ => Some(Allocation::new(&self.0, of.len_bytes())?),
                },
            };
            places[number] = owned.len();
            owned.push(own);
        }
        let homes = homes.into_iter().map(|home| places[home]).collect();
        let segments = segments(calls, exchanges, branches);
        Ok(Recording {
            arguments: expected,
            memory: owned,
            homes,
            launches: Arc::new(Allocation::empty(&self.0.core)),
            launching: Mutex::new(segments.iter().map(Segment::launches).collect()),
            segments,
            kinds: PhantomData,
        })
    }
}

/// The bytes of memory that may lie where other memory was: memory of the recording that is not large.
fn movable_bytes<D: Device>(memory: &Memory<D>, argument: Option<&Argument>) -> Option<usize> {
    match (memory, argument) {
        (Memory::Later(of), None) if of.len_bytes() <= MOST_APART_BYTES => Some(of.len_bytes()),
        _ => None,
    }
}

/// Ends a recording, also where its closure panics.
struct Ends<'r, D: Device>(&'r Recorder<D>);

impl<D: Device> Drop for Ends<'_, D> {
    fn drop(&mut self) {
        self.0.end();
    }
}
