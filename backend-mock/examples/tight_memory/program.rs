//! Plays a random program on a context and on the oracle side by side.

use std::{iter::Sum, ops::Range};

use devarray::{
    Array, Context, Error, PinnedBuffer, PinnedLimits, Result, StreamHandle,
    memory::{AllocationState, LiveByTag, MemoryKind, MemoryLimit, ReleaseLimits, tagged},
};
use devarray_conformance::Rng;
use devarray_mock::{MockDevice, Schedule};

use super::model::{Block, Model, Refusal};

/// The number of steps of a program.
const STEPS: usize = 40;
/// The memory of the device in bytes.
const CAPACITY_BYTES: usize = 4000;

/// A mistake planted in a program, which the oracle must notice.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(dead_code)] // an example plants none
pub(crate) enum Flaw {
    None,
    /// The program forgets an array.
    Leak,
    /// The oracle thinks that the device has one byte more.
    ByteMore,
    /// The oracle thinks that one allocation more may wait.
    WaitsLonger,
    /// An element of an array differs from the oracle's element.
    WrongElement,
}

/// Counts of what programs did.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) allocated: u64,
    pub(crate) refused: u64,
    pub(crate) flushed: u64,
    pub(crate) copied: u64,
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            allocated: a.allocated + b.allocated,
            refused: a.refused + b.refused,
            flushed: a.flushed + b.flushed,
            copied: a.copied + b.copied,
        })
    }
}

/// An object of a program, with the oracle's block and elements.
enum Held {
    Device(Array<u32, MockDevice>, Block, Vec<u32>),
    Pinned(PinnedBuffer<u32, MockDevice>, Block, Vec<u32>),
}

struct Player {
    context: Context<MockDevice>,
    streams: Vec<StreamHandle<MockDevice>>,
    model: Model,
    held: Vec<Held>,
    rng: Rng,
    tally: Tally,
    flaw: Flaw,
}

/// Plays program `seed`.
///
/// # Errors
///
/// The first difference from the oracle, or memory that was left or a finding at the end.
pub(crate) fn run(seed: u64, flaw: Flaw) -> Result<Tally, String> {
    let device = MockDevice::builder()
        .schedule(Schedule::Random)
        .seed(seed)
        .memory_limit_bytes(CAPACITY_BYTES)
        .build();
    let mut player = Player::new(&device, seed, flaw).map_err(|error| error.to_string())?;
    for step in 0..STEPS {
        player.step().map_err(|difference| format!("program {seed}, step {step}: {difference}"))?;
        player.compare().map_err(|difference| format!("program {seed}, after step {step}: {difference}"))?;
    }
    let Player { context, held, model, mut tally, streams, .. } = player;
    drop((held, streams));
    context.release_pending();
    let (errors, live) = (context.take_errors(), context.live_allocations());
    if !errors.is_empty() || !live.is_empty() {
        return Err(format!("program {seed}: errors {errors:?}, live in the end {live:?}"));
    }
    drop(context);
    if !device.report().is_clean() {
        return Err(format!("program {seed}: {}", device.report()));
    }
    tally.flushed = model.flushed;
    Ok(tally)
}

impl Player {
    fn new(device: &MockDevice, seed: u64, flaw: Flaw) -> Result<Self> {
        let context = Context::new(device.clone())?;
        let streams = (0..3).map(|_| context.stream()).collect::<Result<_>>()?;
        let model = Model::new(CAPACITY_BYTES + usize::from(flaw == Flaw::ByteMore));
        let (held, rng, tally) = (Vec::new(), Rng::new(seed), Tally::default());
        Ok(Self { context, streams, model, held, rng, tally, flaw })
    }

    fn stream(&mut self) -> StreamHandle<MockDevice> {
        self.streams[self.rng.below(3)].clone()
    }

    /// Makes one step on both sides.
    fn step(&mut self) -> Result<(), String> {
        match self.rng.below(20) {
            0..8 => self.allocate(),
            8..12 => {
                self.drop_one();
                Ok(())
            }
            12..16 => self.copy().map_err(|error| error.to_string()),
            16 | 17 => self.read().map_err(|error| error.to_string())?,
            18 => {
                self.change_limits();
                Ok(())
            }
            _ => {
                self.model.give_back_all();
                self.context.release_pending();
                Ok(())
            }
        }
    }

    fn allocate(&mut self) -> Result<(), String> {
        let is_pinned = self.rng.below(4) == 0;
        let most = if self.rng.below(3) == 0 { 500 } else { 100 };
        let len = 1 + self.rng.below(most);
        let tag = [None, Some("one"), Some("two")][self.rng.below(3)];
        let due = self.model.allocate(is_pinned, 4 * len, tag);
        let (stream, value) = (self.stream(), u32::try_from(self.rng.below(1 << 30)).expect("small"));
        let make = || -> Result<_> {
            Ok(if is_pinned {
                let mut buffer = self.context.pinned(len)?;
                buffer.fill(value);
                (None, Some(buffer))
            } else {
                (Some(Array::full(&stream, &[len], value)?), None)
            })
        };
        let made = match tag {
            Some(tag) => tagged(tag, make),
            None => make(),
        };
        match (made, due) {
            (Ok((Some(array), _)), Ok(block)) => self.held.push(Held::Device(array, block, vec![value; len])),
            (Ok((_, Some(buffer))), Ok(block)) => {
                self.held.push(Held::Pinned(buffer, block, vec![value; len]));
            }
            (Err(error), Err(refusal)) => {
                self.tally.refused += 1;
                return self.is_due(&error, is_pinned, 4 * len, refusal);
            }
            (made, due) => {
                return Err(format!("{len} elements: {:?}, due is {due:?}", made.map(drop)));
            }
        }
        self.tally.allocated += 1;
        Ok(())
    }

    /// Checks that the error equals the oracle's refusal.
    fn is_due(
        &self,
        error: &Error,
        is_pinned: bool,
        len_bytes: usize,
        refusal: Refusal,
    ) -> Result<(), String> {
        let Error::OutOfMemory { requested_bytes, free_bytes, limited, live, .. } = error else {
            return Err(format!("{error}, due is {refusal:?}"));
        };
        let mut by_tag: Vec<(usize, usize, Option<&str>)> = Vec::new();
        for block in self.model.live(is_pinned) {
            match by_tag.iter_mut().find(|of| of.2 == block.tag) {
                Some(of) => (of.0, of.1) = (of.0 + block.len_bytes, of.1 + 1),
                None => by_tag.push((block.len_bytes, 1, block.tag)),
            }
        }
        by_tag.sort_unstable();
        let mut told: Vec<_> = live
            .iter()
            .map(|&LiveByTag { tag, allocations, len_bytes, .. }| (len_bytes, allocations, tag))
            .collect();
        told.sort_unstable();
        let same = (*requested_bytes, *free_bytes, *limited, told)
            == (len_bytes, Some(refusal.left_bytes), refusal.by_limit, by_tag);
        if same { Ok(()) } else { Err(format!("{error}, due is {refusal:?}")) }
    }

    fn drop_one(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let (Held::Device(_, block, _) | Held::Pinned(_, block, _)) =
            &self.held[self.rng.below(self.held.len())];
        let block = block.clone();
        self.model.drop(&block);
        let is_it = |held: &Held| {
            let (Held::Device(_, other, _) | Held::Pinned(_, other, _)) = held;
            *other == block
        };
        let at = self.held.iter().position(is_it).expect("it is held");
        let gone = self.held.swap_remove(at);
        if self.flaw == Flaw::Leak {
            std::mem::forget(gone);
        }
    }

    /// Copies part of an array to another, or fills part of one.
    fn copy(&mut self) -> Result<()> {
        let stream = self.stream();
        let arrays: Vec<usize> =
            (0..self.held.len()).filter(|&at| matches!(self.held[at], Held::Device(..))).collect();
        if arrays.len() < 2 {
            return Ok(());
        }
        let (one, two) = (arrays[self.rng.below(arrays.len())], arrays[self.rng.below(arrays.len())]);
        let Ok([Held::Device(dst, _, dst_due), Held::Device(src, _, src_due)]) =
            self.held.get_disjoint_mut([one, two])
        else {
            return Ok(());
        };
        let len = 1 + self.rng.below(dst_due.len().min(src_due.len()));
        let (to, from) = (part(&mut self.rng, dst_due.len(), len), part(&mut self.rng, src_due.len(), len));
        dst.view_mut()
            .slice_axis(0, to.clone())?
            .copy_from(&stream, &src.view().slice_axis(0, from.clone())?)?;
        dst_due[to].copy_from_slice(&src_due[from]);
        self.tally.copied += 1;
        Ok(())
    }

    /// Reads one object back.
    fn read(&mut self) -> Result<Result<(), String>> {
        if self.held.is_empty() {
            return Ok(Ok(()));
        }
        let (stream, at) = (self.stream(), self.rng.below(self.held.len()));
        let (found, due) = match &self.held[at] {
            Held::Device(array, _, due) => (array.to_vec(&stream)?, due),
            Held::Pinned(buffer, _, due) => (buffer.to_vec(), due),
        };
        let mut due = due.clone();
        due[0] ^= u32::from(self.flaw == Flaw::WrongElement);
        Ok(if found == due { Ok(()) } else { Err(format!("{found:?}, due are {due:?}")) })
    }

    fn change_limits(&mut self) {
        match self.rng.below(3) {
            0 => {
                let (count, bytes) = (self.rng.below(6), self.rng.below(2000));
                let lenient = usize::from(self.flaw == Flaw::WaitsLonger);
                self.model.may_wait = (count + lenient, bytes);
                self.model.apply_limits();
                self.context.set_release_limits(ReleaseLimits::new(count, bytes));
            }
            1 => {
                self.model.limit_bytes = 1000 + self.rng.below(4000);
                let limit = MemoryLimit::Bytes(self.model.limit_bytes);
                self.context.set_memory_limit(limit).expect("bytes need no answer of the device");
            }
            _ => {
                self.model.pinned_limit_bytes = 500 + self.rng.below(2000);
                self.context.set_pinned_limits(PinnedLimits::new(self.model.pinned_limit_bytes, 0));
            }
        }
    }

    /// Compares the memory statistics of the context.
    fn compare(&self) -> Result<(), String> {
        let Self { context, model, .. } = self;
        for (is_pinned, kind) in [(false, MemoryKind::Device), (true, MemoryKind::Pinned)] {
            let told = context.memory_statistics().of(kind);
            let told = (told.live, told.live_bytes, told.peak_bytes, told.allocations, told.frees);
            let sums = model.sums[usize::from(is_pinned)];
            let due = (
                model.live(is_pinned).count(),
                model.live_bytes(is_pinned),
                sums.peak_bytes,
                sums.allocations,
                sums.frees,
            );
            if told != due {
                return Err(format!("{kind} memory: {told:?}, due is {due:?}"));
            }
        }
        let told = context.pending_releases();
        let due = (model.waiting.len(), model.waiting_bytes());
        if (told.count, told.len_bytes) != due {
            return Err(format!("waiting: {told:?}, due is {due:?}"));
        }
        let told = context.live_allocations();
        let told: Vec<_> = told
            .iter()
            .map(|r| {
                (
                    r.kind == MemoryKind::Pinned,
                    r.number,
                    r.len_bytes,
                    r.tag,
                    r.state == AllocationState::Pending,
                )
            })
            .collect();
        let all =
            model.held.iter().map(|block| (block, false)).chain(model.waiting.iter().map(|b| (b, true)));
        let mut due: Vec<_> =
            all.map(|(b, waits)| (b.is_pinned, b.number, b.len_bytes, b.tag, waits)).collect();
        due.sort_unstable();
        if told == due { Ok(()) } else { Err(format!("live are {told:?}, due are {due:?}")) }
    }
}

/// A random range of `len` elements.
fn part(rng: &mut Rng, of: usize, len: usize) -> Range<usize> {
    let start = rng.below(of - len + 1);
    start..start + len
}
