//! Recordings, launched.
#![allow(unsafe_code)] // launches what was captured, with the memory that it was captured for

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use smallvec::SmallVec;

use super::{
    RecordedArguments, RecordingError,
    arguments::Given,
    captured::Launches,
    exchanges::RecordedExchange,
    memory::{Place, Placement},
    recorder::Calls,
    segments::Segment,
};
use crate::{
    Result,
    allocation::{Allocation, AllocationAccess},
    backend::{Captures as _, Device, RunsAtOnce as _},
    error::made_again,
    hazards::Mode,
    layout::{Layout, Order},
    lock::lock,
    operations::{Elements, addresses, are_disjoint, next_numbers},
    statistics::Work,
    stream::{StreamCore, StreamHandle},
};

const OPERATION: &str = "launch";

/// Calls that were recorded, to be launched with arguments of the kinds `K`.
///
/// It owns the memory of the arrays that its closure made, which is freed in stream order after the last launch.
/// See [`recorded`](crate::recorded).
#[must_use = "nothing was enqueued yet"]
pub struct Recording<D: Device, K> {
    pub(super) arguments: Vec<Argument>,
    /// The arguments, which have nothing here, then what the recording owns or shares.
    pub(super) memory: Vec<Option<Arc<Allocation<D>>>>,
    /// The place in it of the memory of each number.
    pub(super) homes: Vec<usize>,
    pub(super) segments: Vec<Segment<D>>,
    /// Stands for the memory of what the backend captured: each launch writes it.
    pub(super) launches: Arc<Allocation<D>>,
    /// One for each segment. Held while a launch is enqueued, so that the calls of two do not mix.
    pub(super) launching: Mutex<SmallVec<[Launches<D>; 1]>>,
    pub(super) kinds: PhantomData<fn(K)>,
}

/// The argument that a launch must give.
#[derive(Debug)]
pub(super) enum Argument {
    Elements(Layout),
    Number,
    /// A communicator: its rank, and the number of ranks.
    Ranks((usize, usize)),
}

impl<D: Device, K: 'static> Recording<D, K> {
    /// Enqueues all calls, with these arguments: arrays of the recorded shapes and strides, which may begin
    /// anywhere. Does not synchronize: only [exchanges](crate::recorded#ranks) block, until the other ranks make them.
    ///
    /// Waits of the stream come before the first call, so a strict stream enqueues all or nothing.
    ///
    /// # Errors
    ///
    /// - [`Error::Recording`](crate::Error::Recording): an argument of another shape or other strides; two that
    ///   share memory, and one is written; a communicator of another rank or another number of ranks; this is the
    ///   stream of a recording.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the stream or an argument is of another context.
    /// - [`Error::Hazard`](crate::Error::Hazard), on a strict stream.
    /// - [`Error::Collective`](crate::Error::Collective): an exchange failed. Calls before it are enqueued.
    /// - Any device error. Calls before it are enqueued.
    #[track_caller]
    pub fn launch<A>(&self, stream: &StreamHandle<D>, mut arguments: A) -> Result<()>
    where
        A: RecordedArguments<D, Kinds = K>,
    {
        let mut given = arguments.given();
        match self.launch_given(&stream.0, &mut given) {
            Err(error) if self.segments.len() > 1 => {
                Err(given.iter().fold(error, |error, given| match given {
                    Given::Ranks(ranks) => ranks.failed(error),
                    _ => error,
                }))
            }
            launched => launched,
        }
    }

    #[track_caller]
    fn launch_given(&self, stream: &StreamCore<D>, given: &mut [Given<'_, D>]) -> Result<()> {
        stream.check_runs(OPERATION)?;
        self.check(stream, given)?;
        let mut launching = lock(&self.launching);
        if stream.mode == Mode::Strict {
            drop(stream.order(OPERATION, &self.touches(given))?);
        }
        let memory = self.placed(stream, given)?;
        let placement = Placement { places: &memory, homes: &self.homes };
        let in_order = self.meets_shared(given);
        for (segment, launches) in self.segments.iter().zip(launching.iter_mut()) {
            let Segment { calls, exchange } = segment;
            if in_order {
                calls.all.iter().try_for_each(|call| call.again(stream, placement))?;
            } else if !calls.all.is_empty() {
                self.launch_calls(stream, launches, calls, (given, placement))?;
            }
            let Some(RecordedExchange { site, argument, what, .. }) = exchange else { break };
            let Some(Given::Ranks(ranks)) = given.get_mut(*argument) else {
                return Err(RecordingError::Ranks(*argument).of(OPERATION));
            };
            made_again(site, || ranks.make(stream, what, placement))?;
        }
        Ok(())
    }

    /// Enqueues calls without an exchange between them.
    #[track_caller]
    fn launch_calls(
        &self,
        stream: &StreamCore<D>,
        launches: &mut Launches<D>,
        calls: &Calls<D>,
        (given, placement): (&[Given<'_, D>], Placement<'_, D>),
    ) -> Result<()> {
        let captured = launches.captured(stream, calls, (given, placement), &self.launches);
        if let Some((captured, reports)) = captured {
            let touches = self.touches(given);
            let submitted = stream.submit(Work::Other { name: OPERATION }, &touches);
            let Ok(submission) = submitted else {
                // A later launch, on another stream, would not come behind what the capture enqueued here.
                launches.give_back(&self.launches);
                return submitted.map(drop);
            };
            // Numbered under the lock, so that the numbers of a context grow in the order of submission.
            let numbers = next_numbers(reports.len());
            let to = submission.begin_noting(|to| {
                numbers.clone().zip(reports).for_each(|(number, report)| to.note_report(number, *report));
            });
            // SAFETY: the operations were captured for memory at these addresses, of as many bytes, which is of the
            // arguments or owned by this; the tracker orders the launch behind every other.
            unsafe { to.raw().launch_captured(captured, numbers.clone()) }?;
            to.end();
            return Ok(());
        }
        if !stream.raw.runs_at_once() || launches.is_anew() {
            return make_calls(calls, stream, placement);
        }
        // One turn for all calls, which are ordered as one.
        let turn = stream.submit(Work::Other { name: OPERATION }, &self.touches(given))?.begin().into_turn();
        match turn {
            Some(turn) => make_calls(calls, &stream.capturing(Arc::new(turn)), placement),
            None => make_calls(calls, stream, placement),
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
                    let is_empty = elements.layout.is_empty();
                    let moved_bytes = if is_empty { 0 } else { moved * elements.item_bytes.cast_signed() };
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

    /// The number of recorded calls, with exchanges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.iter().map(Segment::len).sum()
    }

    /// Whether no call was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the last launch was one operation of the device, or one for the calls between two exchanges.
    /// Otherwise its calls are made one by one: on a backend that captures nothing, and where a call may find an
    /// index that has no place and the backend does not [capture
    /// reports](crate::backend::Captures::captures_reports).
    #[must_use]
    pub fn is_captured(&self) -> bool {
        let launching = lock(&self.launching);
        let mut several = launching.iter().filter(|launches| launches.has_several()).peekable();
        several.peek().is_some() && several.all(Launches::is_captured)
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
            if let (Given::Ranks(ranks), Argument::Ranks(place)) = (given_now, recorded) {
                stream.check_core(OPERATION, ranks.core())?;
                let error = match () {
                    () if ranks.is_stand() => RecordingError::Outside,
                    () if ranks.place() != *place => RecordingError::Ranks(number),
                    () => continue,
                };
                return Err(error.of(OPERATION));
            }
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

    /// Whether an argument that is written may share bytes with an array that the recording keeps: memory of other
    /// code may have been adopted twice. Then calls conflict although they name other memory, and are made in order.
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
        launching.iter_mut().for_each(|launches| launches.give_back(&self.launches));
    }
}

impl<D: Device, K> fmt::Debug for Recording<D, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: usize = self.segments.iter().map(Segment::len).sum();
        write!(f, "Recording({calls} calls of {} arguments)", self.arguments.len())
    }
}

fn make_calls<D: Device>(calls: &Calls<D>, stream: &StreamCore<D>, memory: Placement<'_, D>) -> Result<()> {
    let Calls { all, behind } = calls;
    match stream.raw.order_of_calls(behind) {
        Some(order) => order.into_iter().try_for_each(|call| all[call].again(stream, memory)),
        None => all.iter().try_for_each(|call| call.again(stream, memory)),
    }
}
