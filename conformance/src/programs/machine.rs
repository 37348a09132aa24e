//! Runs a program on a device and on a naive model side by side. The model is the list of the
//! elements of each array, changed call by call.

use std::{
    cell::Cell,
    mem,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use devarray::{
    Array, Context, Device, Error, EventHandle, PinnedLimits, Result, StreamHandle, Transfer,
    backend::Capability,
    memory::{MemoryKind, ReleaseLimits},
};

use super::{
    elements::Elements,
    extras::Extras,
    failure::{ALIVE, BACKGROUND, Failure, ORDER, REFUSED, SUCCEEDS},
    held::{Held, Memory, Records},
    op::{Item, Op, Part, Program},
    part::Place,
};
use crate::Harness;

/// The most arrays of a thread.
pub(super) const MOST_ARRAYS: usize = 6;
/// The most events that a program has.
pub(super) const MOST_EVENTS: usize = 8;
/// The most transfers that a thread has in flight.
pub(super) const MOST_TRANSFERS: usize = 4;

/// Lists that a device might still write to if it broke the promise of a scope: they are freed only
/// if the whole program succeeded.
pub(super) struct Borrowed<T>(pub(super) Vec<Vec<T>>);

impl<T> Borrowed<T> {
    fn free(mut self) {
        self.0.clear();
    }
}

impl<T> Drop for Borrowed<T> {
    fn drop(&mut self) {
        mem::forget(mem::take(&mut self.0));
    }
}

/// State that the threads of a program share.
pub(super) struct Shared<D: Device> {
    pub(super) context: Context<D>,
    /// Each stream, and whether it is strict.
    pub(super) streams: Mutex<Vec<(StreamHandle<D>, bool)>>,
    pub(super) events: Mutex<Vec<Arc<EventHandle<D>>>>,
    /// Whether a stream was dropped, perhaps with work pending.
    pub(super) replaced: AtomicBool,
    pub(super) extras: Extras<D>,
    /// A stream of the second device, if the program uses it.
    there: Option<StreamHandle<D>>,
}

/// State of one thread.
pub(super) struct Machine<'s, T: Elements, D: Device> {
    pub(super) shared: &'s Shared<D>,
    pub(super) there: Option<StreamHandle<D>>,
    pub(super) arrays: Vec<Held<T, Memory<'s, T, D>>>,
    pub(super) transfers: Vec<(Transfer<T, D>, Vec<T>)>,
    /// Host memory that scopes borrowed.
    pub(super) borrowed: Borrowed<T>,
    /// The number of the operation that is being made.
    pub(super) operation: usize,
    /// The recording of its calls, if they are recorded.
    pub(super) recording: Option<Records<D>>,
}

pub(super) type Done = std::result::Result<(), Failure>;

pub(super) fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program on a fresh device, with the extras that are allowed here and that the device
/// declares.
pub(super) fn run<D: Device>(program: &Program, harness: &Harness<D>, extras: Extras<D>) -> Done {
    match program.item {
        Item::U8 => run_of::<u8, D>(program, harness, extras),
        Item::Bytes3 => run_of::<[u8; 3], D>(program, harness, extras),
        Item::U16 => run_of::<u16, D>(program, harness, extras),
        Item::U32 => run_of::<u32, D>(program, harness, extras),
        Item::U64 => run_of::<u64, D>(program, harness, extras),
    }
}

fn run_of<T: Elements, D: Device>(program: &Program, harness: &Harness<D>, extras: Extras<D>) -> Done {
    let end = program.ops.len();
    told(&Cell::new(end), || {
        let shared = Shared::new(program, harness, extras)?;
        let threads = program.threads.max(1);
        let mut machines: Vec<_> = (0..threads).map(|_| Machine::<T, D>::new(&shared)).collect();
        let mut outcomes: Vec<Done> = if let [machine] = &mut machines[..] {
            vec![machine.calls(program, 0)]
        } else {
            thread::scope(|scope| {
                let called: Vec<_> = (0..)
                    .zip(&mut machines)
                    .map(|(number, machine)| scope.spawn(move || machine.calls(program, number)))
                    .collect();
                let caught = |_| Err(Failure::panic(end, "a panic"));
                called.into_iter().map(|thread| thread.join().unwrap_or_else(caught)).collect()
            })
        };
        // Returns the failure of the earliest operation, whichever thread failed first.
        outcomes.sort_by_key(|outcome| outcome.as_ref().err().map_or(end, |failure| failure.operation));
        outcomes.into_iter().collect::<Done>()?;
        machines.iter_mut().try_for_each(|machine| machine.read_all(end))?;
        let borrowed: Vec<_> = machines.into_iter().map(|machine| machine.borrowed).collect();
        shared.finish(end)?;
        borrowed.into_iter().for_each(Borrowed::free);
        Ok(())
    })
}

/// The result of the calls, or a failure if one of them panicked.
fn told(operation: &Cell<usize>, calls: impl FnOnce() -> Done) -> Done {
    panic::catch_unwind(AssertUnwindSafe(calls)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(Failure::panic(operation.get(), text.lines().next().unwrap_or_default()))
    })
}

impl<D: Device> Shared<D> {
    fn new(program: &Program, harness: &Harness<D>, extras: Extras<D>) -> std::result::Result<Self, Failure> {
        let opens = |found| Failure::unexpected(SUCCEEDS, 0, "a device and its streams", found);
        let context = harness.context().map_err(|violation| opens(violation.message))?;
        let streams: Result<Vec<_>> =
            (0..program.streams.max(1)).map(|_| Ok((context.stream()?, false))).collect();
        let streams = Mutex::new(streams.map_err(|error| opens(error.to_string()))?);
        let there = if program.ops.iter().any(|op| matches!(op, Op::Across { .. })) {
            let other = harness.second_context().map_err(|violation| opens(violation.message))?;
            Some(other.stream().map_err(|error| opens(error.to_string()))?)
        } else {
            None
        };
        let (events, replaced) = (Mutex::default(), AtomicBool::new(false));
        Ok(Self { context, streams, events, replaced, extras, there })
    }

    /// Drops every object except the context, and checks that nothing is alive.
    fn finish(self, end: usize) -> Done {
        let succeeds = |error: Error| Failure::unexpected(SUCCEEDS, end, "success", error);
        for (stream, _) in mem::take(&mut *lock(&self.streams)) {
            stream.synchronize().map_err(succeeds)?;
        }
        self.context.stream().and_then(|stream| stream.synchronize()).map_err(succeeds)?;
        self.context.set_release_limits(ReleaseLimits::default());
        self.context.set_pinned_limits(PinnedLimits::default());
        // Memory that a dropped stream still uses is given up once its work is found to be
        // finished, but nobody can wait for that.
        let mut alive = self.context.live_allocations();
        let replaced = self.replaced.load(Relaxed);
        alive.retain(|record| record.kind == MemoryKind::Device || !replaced);
        if let Some(first) = alive.first() {
            let found = format!("{}, first {first}", alive.len());
            return Err(Failure::unexpected(ALIVE, end, "no live allocation", found));
        }
        match self.context.take_errors().first() {
            Some(error) => Err(Failure::unexpected(BACKGROUND, end, "no error", error)),
            None => Ok(()),
        }
    }
}

impl<'s, T: Elements, D: Device> Machine<'s, T, D> {
    fn new(shared: &'s Shared<D>) -> Self {
        Self {
            shared,
            there: shared.there.clone(),
            arrays: Vec::new(),
            transfers: Vec::new(),
            borrowed: Borrowed(Vec::new()),
            operation: 0,
            recording: None,
        }
    }

    /// Makes the calls of one thread.
    fn calls(&mut self, program: &Program, number: usize) -> Done {
        let at = Cell::new(0);
        told(&at, || {
            let numbered = (0..).zip(program.ops.iter().copied());
            let all: Vec<_> = numbered.filter(|(_, op)| op.thread(program.threads) == number).collect();
            let mut left = &all[..];
            while let Some(((operation, op), behind)) = left.split_first() {
                self.operation = *operation;
                at.set(*operation);
                left = &behind[op.recorded(behind.iter().map(|(_, op)| op))..];
                let body = &behind[..behind.len() - left.len()];
                self.call(*op, body)?;
            }
            Ok(())
        })
    }

    /// Makes a call. A call that records has the calls that it records in `body`.
    pub(super) fn call(&mut self, op: Op, body: &[(usize, Op)]) -> Done {
        match op {
            Op::Create { stream, extents, rank, start, value } => {
                self.create(stream, &extents[..rank.min(3)], start, value)
            }
            Op::Fill { stream, to, value } => self.fill(stream, &to, value),
            Op::Upload { stream, to, value } => self.upload(stream, &to, value, false),
            Op::UploadF { stream, to, value } => self.upload(stream, &to, value, true),
            Op::Download { stream, from } => self.download(stream, &from),
            Op::Copy { stream, to, from } => self.copy(stream, &to, &from),
            Op::Sections { stream, of, axis, to, from, value } => {
                self.sections(stream, &of, axis, [to, from], value)
            }
            Op::Shift { stream, of, axis, by, down } => self.shift(stream, &of, axis, by, down),
            Op::Contiguous { stream, from, fortran } => self.contiguous(stream, &from, fortran),
            Op::Concatenate { stream, first, second } => self.concatenate(stream, &first, &second),
            Op::Map { stream, to, from, formula, value } => self.map(stream, &to, &from, formula, value),
            Op::Greatest { stream, from, axis } => self.greatest(stream, &from, axis),
            Op::Kernel { stream, to, from, value } => self.kernel(stream, &to, &from, value),
            Op::Take { stream, from, axis, value } => self.take(stream, &from, axis, value),
            Op::Put { stream, to, axis, value } => self.put(stream, &to, axis, value),
            Op::Sort { stream, from, axis, by, value } => self.sort(stream, &from, axis, by, value),
            Op::Count { stream, from, value } => self.count(stream, &from, value),
            Op::Combine { stream, to, axis, by, value } => self.combine(stream, &to, axis, by, value),
            Op::Segments { stream, from, by, value } => self.segments(stream, &from, by, value),
            Op::SearchSorted { stream, from, of_each, value } => {
                self.search_sorted(stream, &from, &of_each, value)
            }
            Op::Matmul { stream, first, second } => self.matmul(stream, &first, &second, None),
            Op::MatmulMap { stream, first, second, formula, value } => {
                self.matmul(stream, &first, &second, Some((formula, value)))
            }
            Op::Square { stream, to, from } => self.square(stream, &to, &from),
            Op::Recorded { stream, to, beside, from, launches, value, .. } => {
                self.recorded(stream, [&to, &beside, &from], launches, value, body)
            }
            Op::Large { stream, value } => self.large(stream, value),
            Op::Across { stream, to, from } => self.across(stream, &to, &from),
            Op::StartUpload { stream, to, value } => self.start_upload(stream, &to, value),
            Op::StartDownload { stream, from } => self.start_download(stream, &from),
            Op::EndTransfer { transfer, end } => self.end_transfer(transfer, end),
            Op::Scope { stream, to, from, value } => self.scope(stream, &to, &from, value),
            Op::Drop { array, away } => self.drop_array(array, away),
            Op::ReleaseLimit { count } => {
                self.shared.context.set_release_limits(ReleaseLimits::new(count % 4, 1 << 20));
                Ok(())
            }
            Op::PinnedIdle { kib } => {
                self.shared.context.set_pinned_limits(PinnedLimits::new(usize::MAX, kib % 64 * 1024));
                Ok(())
            }
            Op::Replace { stream, strict } => self.replace(stream, strict),
            Op::Record { stream } => self.record(stream),
            Op::Wait { stream, event } => self.wait(stream, event),
            Op::AwaitEvent { event, only_ask } => self.await_event(event, only_ask),
            Op::Join { stream } => self.join(stream),
            Op::Synchronize { stream } => {
                let (stream, strict) = self.stream(stream);
                let done = stream.synchronize();
                self.done(done, strict).map(drop)
            }
        }
    }

    pub(super) fn stream(&self, at: usize) -> (StreamHandle<D>, bool) {
        if let Some(Records { on, .. }) = &self.recording {
            return (on.clone(), false);
        }
        let streams = lock(&self.shared.streams);
        streams[at % streams.len()].clone()
    }

    /// Whether the device has a capability.
    pub(super) fn declares(&self, capability: Capability) -> bool {
        self.shared.context.device().info().capabilities.extras.has(capability)
    }

    /// The array that a part belongs to, and the place of the part in it. None if there is no
    /// array.
    pub(super) fn place(&self, part: &Part) -> Option<(usize, Place)> {
        let at = part.array.checked_rem(self.arrays.len())?;
        Some((at, Place::of(&self.arrays[at].shape, &part.transforms)))
    }

    /// Like [`place`](Self::place), for an array that may be written.
    pub(super) fn target(&self, part: &Part) -> Option<(usize, Place)> {
        let mut written = (0..self.arrays.len()).filter(|&at| self.arrays[at].array.is_written());
        let array = written.nth(part.array.checked_rem(written.clone().count())?)?;
        self.place(&Part { array, ..*part })
    }

    /// Like [`place`](Self::place), for an array other than `beside`.
    pub(super) fn place_beside(&self, part: &Part, beside: usize) -> Option<(usize, Place)> {
        let others = self.arrays.len() - 1;
        let at = (beside + 1 + part.array.checked_rem(others)?) % self.arrays.len();
        Some((at, Place::of(&self.arrays[at].shape, &part.transforms)))
    }

    /// The expected elements of a part.
    pub(super) fn due(&self, at: usize, place: &Place) -> Vec<T> {
        place.picture.read(&self.arrays[at].due)
    }

    /// The value of a call that succeeded; none if a strict stream refused it.
    pub(super) fn done<V>(&self, result: Result<V>, strict: bool) -> std::result::Result<Option<V>, Failure> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::Hazard { .. }) if strict => Ok(None),
            Err(error) => {
                let clause = if matches!(error, Error::Hazard { .. }) { REFUSED } else { SUCCEEDS };
                Err(self.failure(clause, "success", error.to_string()))
            }
        }
    }

    pub(super) fn failure(
        &self,
        clause: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Failure {
        Failure { clause, operation: self.operation, expected: expected.into(), found: found.into() }
    }

    pub(super) fn compare(&self, found: &[T], due: &[T], clause: &'static str) -> Done {
        if found.len() != due.len() {
            let [found, due] = [found, due].map(|list| format!("{} elements", list.len()));
            return Err(self.failure(clause, due, found));
        }
        let Some(at) = (0..due.len()).find(|&at| found[at] != due[at]) else { return Ok(()) };
        let wrong = (0..due.len()).filter(|&at| found[at] != due[at]).count();
        let due_text = format!("element {at} of {} is {:x?}", due.len(), due[at]);
        Err(self.failure(clause, due_text, format!("{:x?}, and {wrong} are wrong", found[at])))
    }

    /// Keeps a new array, in place of another one if there are many.
    pub(super) fn hold(&mut self, held: Held<T, Array<T, D>>, seed: usize) {
        let (held, many) = (held.with(Memory::Own), self.arrays.len() >= MOST_ARRAYS);
        match self.arrays.get_mut(seed % MOST_ARRAYS) {
            Some(old) if many && matches!(old.array, Memory::Own(_)) => *old = held,
            _ => self.arrays.push(held),
        }
    }

    /// Reads everything on a new stream, and drops it.
    fn read_all(&mut self, end: usize) -> Done {
        self.operation = end;
        while let Some((transfer, due)) = self.transfers.pop() {
            self.ended(transfer, &due)?;
        }
        let opened = self.shared.context.stream();
        let Some(stream) = self.done(opened, false)? else { return Ok(()) };
        for held in &self.arrays {
            let found = self.done(held.array.view().to_vec(&stream), false)?;
            self.compare(&found.unwrap_or_default(), &held.due, ORDER)?;
        }
        self.arrays.clear();
        self.done(stream.synchronize(), false).map(drop)
    }
}
