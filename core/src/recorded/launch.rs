//! Recordings, made and launched.
#![allow(unsafe_code)] // launches what was captured, with the memory that it was captured for

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use smallvec::SmallVec;

use super::{
    RecordedArguments, RecordingError,
    arguments::{Given, Stand},
    captured::Launches,
    memory::{Place, Placement},
    recorder::{Calls, MOST_APART_BYTES, Memory, Recorded, Recorder},
};
use crate::{
    Result,
    allocation::{Allocation, AllocationAccess},
    backend::{Captures as _, Device, RunsAtOnce as _},
    hazards::Mode,
    layout::{Layout, Order},
    lock::lock,
    operations::{Elements, addresses, are_disjoint},
    statistics::Work,
    stream::{Role, StreamCore, StreamHandle},
};

const OPERATION: &str = "launch";

/// Calls that were recorded, to be launched with arguments of the kinds `K`.
///
/// It owns the memory of the arrays that its closure made, which is freed in stream order after the last launch.
/// See [`recorded`](crate::recorded).
#[must_use = "nothing was enqueued yet"]
pub struct Recording<D: Device, K> {
    arguments: Vec<Argument>,
    /// The arguments, which have nothing here, then what the recording owns or shares.
    memory: Vec<Option<Arc<Allocation<D>>>>,
    /// The place in it of the memory of each number.
    homes: Vec<usize>,
    calls: Calls<D>,
    /// Stands for the memory of what the backend captured: each launch writes it.
    launches: Arc<Allocation<D>>,
    /// Held while a launch is enqueued, so that the calls of two do not mix.
    launching: Mutex<Launches>,
    kinds: PhantomData<fn(K)>,
}

/// The argument that a launch must give.
#[derive(Debug)]
enum Argument {
    Elements(Layout),
    Number,
}

impl<D: Device> StreamHandle<D> {
    /// Records the calls that `work` makes on the stream that it is given. Enqueues nothing but the
    /// allocation of memory. Does not synchronize.
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
    pub fn record_work<A, F>(&self, arguments: A, work: F) -> Result<Recording<D, A::Kinds>>
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
            let (layout, item_bytes, len_bytes) = match given {
                Given::Elements { elements, .. } => {
                    self.0.check_context(OPERATION, [elements.allocation])?;
                    let (layout, item_bytes) = (elements.layout.clone(), elements.item_bytes);
                    expected.push(Argument::Elements(layout.clone()));
                    let len_bytes = layout.span().end * item_bytes;
                    (layout, item_bytes, len_bytes)
                }
                Given::Number(_, item_bytes) => {
                    expected.push(Argument::Number);
                    (Layout::contiguous(&[], Order::C)?, item_bytes, item_bytes)
                }
            };
            let allocation = recorder.argument(&self.0.core, len_bytes)?;
            stands.push(Stand { allocation, layout, item_bytes });
        }
        let StreamCore { raw, lane, mode, core, .. } = &*self.0;
        let on = Self(Arc::new(StreamCore {
            raw: Arc::clone(raw),
            lane: *lane,
            mode: *mode,
            core: Arc::clone(core),
            role: Role::Records(Arc::clone(&recorder)),
        }));
        let ends = Ends(&recorder);
        let done = work(&on, A::stands(&stands));
        let recorded = ends.0.end();
        done?;
        drop(stands);
        let Some(Recorded { memory, calls, branches }) = recorded else {
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
        let calls = Calls { all: calls, behind: branches.into_behind() };
        Ok(Recording {
            arguments: expected,
            memory: owned,
            homes,
            launches: Arc::new(Allocation::empty(&self.0.core)),
            launching: Mutex::new(Launches::new(&calls)),
            calls,
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

impl<D: Device, K: 'static> Recording<D, K> {
    /// Enqueues all calls, with these arguments: arrays of the recorded shapes and strides, which may begin
    /// anywhere. Does not synchronize.
    ///
    /// Waits of the stream come before the first call, so a strict stream enqueues all or nothing.
    ///
    /// # Errors
    ///
    /// - [`Error::Recording`](crate::Error::Recording): an argument of another shape or other strides; two that
    ///   share memory, and one is written; this is the stream of a recording.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the stream or an argument is of another context.
    /// - [`Error::Hazard`](crate::Error::Hazard), on a strict stream.
    /// - Any device error. Calls before it are enqueued.
    #[track_caller]
    pub fn launch<A>(&self, stream: &StreamHandle<D>, arguments: A) -> Result<()>
    where
        A: RecordedArguments<D, Kinds = K>,
    {
        let stream = &*stream.0;
        stream.check_runs(OPERATION)?;
        let given = arguments.given();
        self.check(stream, &given)?;
        let mut launching = lock(&self.launching);
        if stream.mode == Mode::Strict {
            drop(stream.order(OPERATION, &self.touches(&given))?);
        }
        let memory = self.placed(stream, &given)?;
        let placement = Placement { places: &memory, homes: &self.homes };
        if self.meets_shared(&given) {
            return self.calls.all.iter().try_for_each(|call| call.again(stream, placement));
        }
        if let Some(captured) = launching.captured(stream, &self.calls, (&given, placement), &self.launches) {
            let touches = self.touches(&given);
            let to = stream.submit(Work::Other { name: OPERATION }, &touches)?.begin();
            // SAFETY: the operations were captured for memory at these addresses, of as many bytes, which is of the
            // arguments or owned by this; the tracker orders the launch behind every other.
            return unsafe { to.raw().launch_captured(captured) };
        }
        if !stream.raw.runs_at_once() || launching.is_anew() {
            return self.make_calls(stream, placement);
        }
        // One turn for all calls, which are ordered as one.
        let turn = stream.submit(Work::Other { name: OPERATION }, &self.touches(&given))?.begin().into_turn();
        match turn {
            Some(turn) => self.make_calls(&stream.capturing(Arc::new(turn)), placement),
            None => self.make_calls(stream, placement),
        }
    }

    fn make_calls(&self, stream: &StreamCore<D>, memory: Placement<'_, D>) -> Result<()> {
        let Calls { all, behind } = &self.calls;
        match stream.raw.order_of_calls(behind) {
            Some(order) => order.into_iter().try_for_each(|call| all[call].again(stream, memory)),
            None => all.iter().try_for_each(|call| call.again(stream, memory)),
        }
    }

    /// The memory of a launch; numbers are written to theirs.
    #[track_caller]
    fn placed<'m>(
        &'m self,
        stream: &StreamCore<D>,
        given: &[Given<'m, D>],
    ) -> Result<SmallVec<[Place<'m, D>; 8]>> {
        let mut memory = SmallVec::new();
        for (number, owned) in self.memory.iter().enumerate() {
            memory.push(match (given.get(number), owned, self.arguments.get(number)) {
                (Some(Given::Elements { elements, .. }), _, Some(Argument::Elements(recorded))) => {
                    let moved = elements.layout.offset().cast_signed() - recorded.offset().cast_signed();
                    let moved_bytes = moved * elements.item_bytes.cast_signed();
                    Place { allocation: elements.allocation, moved_bytes }
                }
                (given, Some(allocation), _) => {
                    if let Some(Given::Number(bytes, len_bytes)) = given {
                        let layout = Layout::contiguous(&[], Order::C)?;
                        let number = Elements { allocation, layout: &layout, item_bytes: *len_bytes };
                        stream.fill(&number, &bytes[..*len_bytes])?;
                    }
                    Place { allocation, moved_bytes: 0 }
                }
                _ => return Err(RecordingError::Argument(number).of(OPERATION)),
            });
        }
        Ok(memory)
    }

    /// The number of recorded calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.all.len()
    }

    /// Whether no call was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.all.is_empty()
    }

    /// Whether the last launch was one operation of the device. Otherwise its calls are made one by one: on a
    /// backend that captures nothing, where a call may find an index that has no place, so that each launch
    /// tells its own, and where one fills with elements of another size than 1, 2, 4, 8 or 16 bytes.
    #[must_use]
    pub fn is_captured(&self) -> bool {
        lock(&self.launching).is_captured()
    }

    /// Bytes of device memory that it owns.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.memory.iter().flatten().filter(|kept| !kept.is_shared()).map(|owned| owned.len_bytes()).sum()
    }

    #[track_caller]
    fn check(&self, stream: &StreamCore<D>, given: &[Given<'_, D>]) -> Result<()> {
        stream.check_core(OPERATION, &self.launches.core)?;
        for (number, (given_now, recorded)) in given.iter().zip(&self.arguments).enumerate() {
            let (Given::Elements { elements, write }, Argument::Elements(layout)) = (given_now, recorded)
            else {
                continue;
            };
            stream.check_context(OPERATION, [elements.allocation])?;
            if !elements.layout.steps_like(layout) {
                return Err(RecordingError::Argument(number).of(OPERATION));
            }
            for (before, other) in given[..number].iter().enumerate() {
                let Given::Elements { elements: other, write: other_write } = other else { continue };
                let empty = elements.layout.is_empty() || other.layout.is_empty();
                if (*write || *other_write) && !empty && !are_disjoint(elements, other) {
                    return Err(RecordingError::Shared(before, number).of(OPERATION));
                }
            }
        }
        Ok(())
    }

    /// Whether an argument that is written may share bytes with an array that the recording keeps: memory of other code
    /// may have been adopted twice. Then calls conflict although they name other memory, and are made in order.
    fn meets_shared(&self, given: &[Given<'_, D>]) -> bool {
        let written = given.iter().filter_map(|given| match given {
            Given::Elements { elements, write: true } => Some(addresses(elements)),
            _ => None,
        });
        let mut shared = self.memory.iter().flatten().filter(|kept| kept.is_shared());
        let written: SmallVec<[_; 4]> = written.collect();
        shared.any(|kept| {
            let (start, end) = (kept.address(), kept.address() + kept.len_bytes() as u64);
            written.iter().any(|written| written.start < end && start < written.end)
        })
    }

    /// All that a launch touches.
    fn touches<'a>(&'a self, given: &[Given<'a, D>]) -> SmallVec<[AllocationAccess<'a, D>; 8]> {
        let of_arguments = given.iter().filter_map(|given| match given {
            Given::Elements { elements, write } if !elements.layout.is_empty() => {
                Some(elements.touch(*write))
            }
            _ => None,
        });
        let kept = self.memory.iter().flatten().filter(|kept| kept.len_bytes() > 0);
        let launches = AllocationAccess::of_bytes(&self.launches, 0..1, true);
        of_arguments
            .chain(kept.map(|kept| AllocationAccess::whole(kept, !kept.is_shared())))
            .chain([launches])
            .collect()
    }
}

impl<D: Device, K> Drop for Recording<D, K> {
    fn drop(&mut self) {
        let launching = self.launching.get_mut().unwrap_or_else(PoisonError::into_inner);
        launching.give_back(&self.launches);
    }
}

impl<D: Device, K> fmt::Debug for Recording<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arguments, calls, .. } = self;
        write!(f, "Recording({} calls of {} arguments)", calls.all.len(), arguments.len())
    }
}
