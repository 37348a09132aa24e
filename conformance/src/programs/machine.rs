//! A program under way, on a device and on a naive model side by side: the model is the list of the
//! elements of each array, changed call by call.

use std::{
    fmt::{self, Debug},
    mem,
    panic::{self, AssertUnwindSafe},
};

use devarray::{
    Array, Context, Device, Element, Error, EventHandle, PinnedLimits, Result, StreamHandle, Transfer,
    function::ElementType,
    memory::{MemoryKind, ReleaseLimits},
};

use super::{
    functions::Computing,
    op::{Item, Op, Part, Program},
    part::Place,
};
use crate::Harness;

/// Arrays that a program has at most.
pub(super) const MOST_ARRAYS: usize = 6;
/// Events that a program has at most.
pub(super) const MOST_EVENTS: usize = 8;
/// Transfers in flight that a program has at most.
pub(super) const MOST_TRANSFERS: usize = 4;

/// What a program showed to be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The clause that does not hold.
    pub clause: &'static str,
    /// The operation that showed it, from 0; the number of operations if it showed at the end.
    pub operation: usize,
    /// What was due.
    pub expected: String,
    /// What came instead.
    pub found: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clause, operation, expected, found } = self;
        write!(f, "{clause}\nexpected: {expected}\nfound:    {found}, at operation {operation}")
    }
}

impl std::error::Error for Failure {}

pub(super) const ORDER: &str =
    "S1 to S8: a read gives what the calls before it wrote, in the order of the calls";
pub(super) const SUCCEEDS: &str = "a legal call succeeds";
const REFUSED: &str = "only a strict stream refuses a call";
const BACKGROUND: &str = "nothing fails in the background";
const ALIVE: &str = "nothing stays alive that was dropped";
const PANICS: &str = "no call panics";
pub(super) const ZEROED: &str = "pinned memory is zeroed";

/// What arrays of programs hold.
pub(super) trait Elements: Element + Debug + PartialEq {
    /// As functions take them, if they do.
    const TYPE: Option<ElementType>;

    /// The first bytes of a number.
    fn of_bits(bits: u64) -> Self {
        let mut value = Self::zeroed();
        let bytes = bytemuck::bytes_of_mut(&mut value);
        let len = bytes.len();
        bytes.copy_from_slice(&bits.to_le_bytes()[..len]);
        value
    }

    /// The number whose first bytes these are.
    fn bits(&self) -> u64 {
        bytemuck::bytes_of(self).iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
    }

    /// As many values as asked for, from a seed: some special ones among them.
    fn values(seed: usize, count: usize) -> Vec<Self> {
        let special = |bits: u64| match bits % 16 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (size_of::<Self>() * 8 - 1),
            _ => bits,
        };
        let mut rng = crate::Rng::new(seed as u64);
        (0..count).map(|_| Self::of_bits(special(rng.bits()))).collect()
    }
}

impl Elements for u8 {
    const TYPE: Option<ElementType> = Some(ElementType::U8);
}
impl Elements for [u8; 3] {
    const TYPE: Option<ElementType> = None;
}
impl Elements for u32 {
    const TYPE: Option<ElementType> = Some(ElementType::U32);
}
impl Elements for u64 {
    const TYPE: Option<ElementType> = Some(ElementType::U64);
}

/// An array, and what must be in it.
pub(super) struct Held<T: Element, D: Device> {
    pub(super) array: Array<T, D>,
    pub(super) shape: Vec<usize>,
    pub(super) due: Vec<T>,
}

/// Lists that a device may still write to if it broke the promise of a scope: freed only if the
/// whole program went well.
pub(super) struct Borrowed<T> {
    pub(super) lists: Vec<Vec<T>>,
    is_free: bool,
}

impl<T> Drop for Borrowed<T> {
    fn drop(&mut self) {
        if !self.is_free {
            mem::forget(mem::take(&mut self.lists));
        }
    }
}

pub(super) struct Machine<'h, T: Elements, D: Device> {
    pub(super) harness: &'h Harness<D>,
    pub(super) context: Context<D>,
    pub(super) computing: Option<Computing<D>>,
    /// Each with whether it is strict.
    pub(super) streams: Vec<(StreamHandle<D>, bool)>,
    pub(super) arrays: Vec<Held<T, D>>,
    pub(super) events: Vec<EventHandle<D>>,
    pub(super) transfers: Vec<(Transfer<T, D>, Vec<T>)>,
    /// Host memory that scopes borrowed.
    pub(super) borrowed: Borrowed<T>,
    /// The second device, once it was used.
    pub(super) there: Option<StreamHandle<D>>,
    /// Whether a stream was dropped, maybe with work pending.
    pub(super) replaced: bool,
    /// The operation under way.
    pub(super) operation: usize,
}

pub(super) type Done = std::result::Result<(), Failure>;

/// Runs a program on a fresh device, with functions if there is something to compute them with.
pub(super) fn run<D: Device>(
    program: &Program,
    harness: &Harness<D>,
    computing: Option<Computing<D>>,
) -> Done {
    match program.item {
        Item::U8 => run_of::<u8, D>(program, harness, computing),
        Item::Bytes3 => run_of::<[u8; 3], D>(program, harness, computing),
        Item::U32 => run_of::<u32, D>(program, harness, computing),
        Item::U64 => run_of::<u64, D>(program, harness, computing),
    }
}

fn run_of<T: Elements, D: Device>(
    program: &Program,
    harness: &Harness<D>,
    computing: Option<Computing<D>>,
) -> Done {
    let mut operation = 0;
    let ran = panic::catch_unwind(AssertUnwindSafe(|| {
        let mut machine = Machine::<T, D>::new(program.streams, harness, computing)?;
        for (at, op) in program.ops.iter().enumerate() {
            (machine.operation, operation) = (at, at);
            machine.call(*op)?;
        }
        operation = program.ops.len();
        machine.operation = operation;
        machine.finish()
    }));
    ran.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let found = text.lines().next().unwrap_or_default().to_owned();
        Err(Failure { clause: PANICS, operation, expected: "a result".into(), found })
    })
}

impl<'h, T: Elements, D: Device> Machine<'h, T, D> {
    fn new(
        streams: usize,
        harness: &'h Harness<D>,
        computing: Option<Computing<D>>,
    ) -> std::result::Result<Self, Failure> {
        let opens = |found| Failure {
            clause: SUCCEEDS,
            operation: 0,
            expected: "a device and its streams".into(),
            found,
        };
        let context = harness.context().map_err(|violation| opens(violation.message))?;
        let streams: Result<Vec<_>> = (0..streams.max(1)).map(|_| Ok((context.stream()?, false))).collect();
        let streams = streams.map_err(|error| opens(error.to_string()))?;
        let (arrays, events, transfers) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self {
            harness,
            context,
            computing,
            streams,
            arrays,
            events,
            transfers,
            borrowed: Borrowed { lists: Vec::new(), is_free: false },
            there: None,
            replaced: false,
            operation: 0,
        })
    }

    fn call(&mut self, op: Op) -> Done {
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
            Op::Across { stream, to, from } => self.across(stream, &to, &from),
            Op::StartUpload { stream, to, value } => self.start_upload(stream, &to, value),
            Op::StartDownload { stream, from } => self.start_download(stream, &from),
            Op::EndTransfer { transfer, end } => self.end_transfer(transfer, end),
            Op::Scope { stream, to, from, value } => self.scope(stream, &to, &from, value),
            Op::Drop { array, away } => self.drop_array(array, away),
            Op::ReleaseLimit { count } => {
                self.context.set_release_limits(ReleaseLimits::new(count % 4, 1 << 20));
                Ok(())
            }
            Op::PinnedIdle { kib } => {
                self.context.set_pinned_limits(PinnedLimits::new(usize::MAX, kib % 64 * 1024));
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
        self.streams[at % self.streams.len()].clone()
    }

    /// The array that a part is of, and where in it. None if there is no array.
    pub(super) fn place(&self, part: &Part) -> Option<(usize, Place)> {
        let at = part.array.checked_rem(self.arrays.len())?;
        Some((at, Place::of(&self.arrays[at].shape, &part.transforms)))
    }

    /// As [`place`](Self::place), of an array other than this one.
    pub(super) fn place_beside(&self, part: &Part, beside: usize) -> Option<(usize, Place)> {
        let others = self.arrays.len() - 1;
        let at = (beside + 1 + part.array.checked_rem(others)?) % self.arrays.len();
        Some((at, Place::of(&self.arrays[at].shape, &part.transforms)))
    }

    /// What a part holds.
    pub(super) fn due(&self, at: usize, place: &Place) -> Vec<T> {
        place.picture.read(&self.arrays[at].due)
    }

    /// The value of a call that went well, none if a strict stream refused it.
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

    /// A new array, in the place of another if there are many.
    pub(super) fn hold(&mut self, held: Held<T, D>, seed: usize) {
        if self.arrays.len() < MOST_ARRAYS {
            self.arrays.push(held);
        } else {
            self.arrays[seed % MOST_ARRAYS] = held;
        }
    }

    /// Reads all that there is on a stream of its own, drops everything, and asks what is left.
    fn finish(mut self) -> Done {
        while let Some((transfer, due)) = self.transfers.pop() {
            self.ended(transfer, &due)?;
        }
        let opened = self.context.stream();
        let Some(stream) = self.done(opened, false)? else { return Ok(()) };
        for held in &self.arrays {
            let found = self.done(held.array.to_vec(&stream), false)?;
            self.compare(&found.unwrap_or_default(), &held.due, ORDER)?;
        }
        self.arrays.clear();
        for (stream, _) in mem::take(&mut self.streams) {
            self.done(stream.synchronize(), false)?;
        }
        self.done(stream.synchronize(), false)?;
        self.context.set_release_limits(ReleaseLimits::default());
        self.context.set_pinned_limits(PinnedLimits::default());
        // What a dropped stream still uses is given up when its work is found to be finished, and nobody
        // can wait for that.
        let mut alive = self.context.live_allocations();
        alive.retain(|record| record.kind == MemoryKind::Device || !self.replaced);
        if let Some(first) = alive.first() {
            return Err(self.failure(ALIVE, "no live allocation", format!("{}, first {first}", alive.len())));
        }
        match self.context.take_errors().first() {
            Some(error) => Err(self.failure(BACKGROUND, "no error", error.to_string())),
            None => {
                self.borrowed.is_free = true;
                Ok(())
            }
        }
    }
}
