//! Exchanges between devices that reach each other's memory, by ranks of one process.
//!
//! An exchange has one stage or two. In each, a rank's stream waits for the others', then reads and writes memory
//! of its own and of theirs. Ranks meet on the host before the first stage, and tell each other where their
//! elements are and an event behind all that uses them; and after each stage, with an event behind it. At last
//! each stream waits for the last stage of all.
//!
//! # Why memory of another rank may be touched
//!
//! - It exists: the arrays of a rank are borrowed, and its stream frees or reuses nothing before it has waited for
//!   the last stage of all.
//! - Nobody else uses it: work that the rank enqueued before is in front of its first event, and work that it
//!   enqueues after is behind its last wait.
//! - No byte is written by one rank and touched by another in one stage: a rank writes its own result, or its share
//!   of the others' results. A source that is also a result is read only by the rank that writes the same bytes.
//!
//! # Failures
//!
//! Either all ranks of a call meet before the first stage, or none. Afterwards each comes to the end of its stage,
//! whatever happens to it: a rank whose stage failed, or panicked, has waited for what it enqueued, and says so.
//! The others then enqueue no further stage, and all wait for what was enqueued. So a call that fails leaves no
//! work behind that touches memory of another rank.

use std::{
    any::Any,
    collections::BTreeMap,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use devarray::{
    Result,
    backend::{Buffer, CollectOp, Event, Exchange, Joining, Participant, Piece, Rendezvous},
    collective::CollectiveError,
};

use super::{
    super::{CudaDevice, CudaStream},
    combine::{Combiner, Scratch, WHOLE_BYTES, is_read_late, share},
};
use crate::{
    context::Context,
    driver::BACKEND,
    event::{CudaEvent, Kind},
    handle::locked,
    memory::CudaBuffer,
};

/// Bytes from which a root gives each other rank a share, which they give each other: it sends each byte once.
const SHARED_OUT_BYTES: usize = 1 << 20;

/// The places where ranks meet.
#[derive(Debug, Default)]
pub(super) struct Meetings {
    /// The context of each rank that has joined.
    contexts: Mutex<BTreeMap<usize, Arc<Context>>>,
    calls: Rendezvous<Given>,
    /// The end of a stage of each rank; none if it failed.
    stages: [Rendezvous<Option<Arc<CudaEvent>>>; 2],
}

/// The part of one rank.
#[derive(Debug)]
pub(super) struct Rank {
    meetings: Arc<Meetings>,
    time_limit: Duration,
}

/// The elements of a rank, by address, 0 where it has none; and a point behind all that was enqueued before.
#[derive(Debug, Clone)]
struct Given {
    source: u64,
    result: u64,
    /// The first byte of each part of the source, where parts differ in length.
    parts: Vec<usize>,
    begins: Arc<CudaEvent>,
}

/// The end of a stage, or why it failed. If it failed, nothing that it enqueued still runs.
type StageOutcome = std::result::Result<Arc<CudaEvent>, Failed>;

enum Failed {
    Error(devarray::Error),
    Panic(Box<dyn Any + Send>),
}

impl Rank {
    /// Joins, if each of the ranks reaches the memory of all others: all get the same answer. Otherwise, devices
    /// that do reach each other still may: NCCL uses memory of exchanges in place between devices of one process.
    pub(super) fn join(
        device: &CudaDevice,
        meetings: &Arc<Meetings>,
        joining: &Joining<'_>,
    ) -> Result<Option<Self>> {
        if !joining.is_one_process() {
            return Ok(None);
        }
        locked(&meetings.contexts).insert(joining.rank(), Arc::clone(device.context()));
        // All are in the list when this is over.
        joining.gather(&[])?;
        let contexts: Vec<_> = locked(&meetings.contexts).values().map(Arc::clone).collect();
        let reaches_all = device.context().reach_all(&contexts)?;
        let direct = joining.gather(&[u8::from(reaches_all)])?.iter().all(|told| told[..] == [1]);
        // All have seen them.
        locked(&meetings.contexts).clear();
        let time_limit = joining.time_limit();
        Ok(direct.then(|| Self { meetings: Arc::clone(meetings), time_limit }))
    }

    /// Ends the exchanges that not all ranks have come to. The others are carried out.
    pub(super) fn abort(&self) {
        self.meetings.calls.abort();
    }

    /// Enqueues the part of this rank in an exchange.
    pub(super) fn collect(
        &self,
        device: &CudaDevice,
        stream: &CudaStream,
        op: &CollectOp<'_, CudaBuffer>,
    ) -> Result<()> {
        let call = op.call();
        let combiner = Combiner { device, stream, operation: call.operation };
        device.context().bound(call.operation)?;
        let source = Reached::new(combiner, op.source(), op.source_bytes())?;
        let result = match (op.source(), op.result()) {
            // In place: one vector is both.
            (Some(from), Some(to)) if place(from) == place(to) && op.source_bytes() == op.len_bytes() => None,
            _ => Some(Reached::new(combiner, op.result(), op.len_bytes())?),
        };
        if let Some(Scratch { address, .. }) = &source.room {
            combiner.copy(*address, source.own, op.source_bytes())?;
        }
        let begins = Arc::new(stream.raw.record_as(Kind::Plain)?);
        let parts = if op.counts().is_some() { op.participants() } else { &[] };
        let given = Given {
            source: source.address(),
            result: result.as_ref().unwrap_or(&source).address(),
            parts: parts.iter().map(|&of| op.source_part(of).start).collect(),
            begins,
        };
        let (all, at) = (op.participants(), op.rank());
        let at = all.iter().position(|&rank| rank == at).unwrap_or(0);
        let who = Participant { number: op.number(), place: at, count: all.len(), call, turns: None };
        // All come, or none: from here on, the others touch memory of this rank.
        let met = self.meetings.calls.meet(who, given, self.time_limit);
        let given = met.map_err(|error| error.of(BACKEND, call.operation))?.leave();
        let exchanging = Exchanging { combiner, op, place: at, given: &given };
        self.run(&exchanging, who)?;
        match result.as_ref().unwrap_or(&source) {
            Reached { own, room: Some(room) } if op.result().is_some() => {
                combiner.copy(*own, room.address, op.len_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Goes through the stages with the other ranks, and waits for the ends of the last.
    fn run(&self, exchanging: &Exchanging<'_>, who: Participant<'_>) -> Result<()> {
        let (call, stages) = (who.call, exchanging.stages());
        let others = |at: &usize| *at != who.place;
        let begins = exchanging.given.iter().map(|given| &given.begins).enumerate();
        let mut ends: Vec<_> = begins.filter(|(at, _)| others(at)).map(|(_, end)| Arc::clone(end)).collect();
        for (stage, meetings) in self.meetings.stages.iter().take(stages).enumerate() {
            let outcome = exchanging.stage(stage, &ends);
            let end = outcome.as_ref().ok().map(Arc::clone);
            // Nobody aborts these meetings, and all ranks come to them.
            let met = meetings.meet(who, end, Duration::MAX);
            let all = met.map_err(|error| error.of(BACKEND, call.operation))?.leave();
            let of_others = all.iter().enumerate().filter(|(at, _)| others(at));
            ends = of_others.filter_map(|(_, end)| end.clone()).collect();
            if all.iter().any(Option::is_none) {
                exchanging.wait_for(&ends)?;
                return Err(match outcome {
                    Err(Failed::Error(error)) => error,
                    Err(Failed::Panic(panic)) => resume_unwind(panic),
                    Ok(_) => CollectiveError::Aborted.of(BACKEND, call.operation),
                });
            }
        }
        exchanging.wait_for(&ends)
    }
}

impl Context {
    /// Lets this device reach the memory of each of these that it can reach; whether that is all.
    fn reach_all(&self, contexts: &[Arc<Self>]) -> Result<bool> {
        let mut all = true;
        for other in contexts.iter().filter(|other| other.raw() != self.raw()) {
            let can = Arc::ptr_eq(self.driver(), other.driver()) && self.can_reach(other)?;
            if can {
                self.reach_into(other)?;
            }
            all &= can;
        }
        Ok(all)
    }
}

/// Elements of this rank, and memory that others reach in place of memory that they may not.
struct Reached<'r> {
    own: u64,
    room: Option<Scratch<'r>>,
}

impl<'r> Reached<'r> {
    fn new(combiner: Combiner<'r>, of: Option<(&CudaBuffer, usize)>, len_bytes: usize) -> Result<Self> {
        let is_reached = of.is_none_or(|(buffer, _)| buffer.is_of_pool());
        let room = if is_reached { None } else { Some(combiner.scratch(len_bytes)?) };
        Ok(Self { own: of.map_or(0, place), room })
    }

    fn address(&self) -> u64 {
        self.room.as_ref().map_or(self.own, |room| room.address)
    }
}

fn place((buffer, offset_bytes): (&CudaBuffer, usize)) -> u64 {
    buffer.address() + offset_bytes as u64
}

/// The part of one rank in an exchange that all have come to.
struct Exchanging<'e> {
    combiner: Combiner<'e>,
    op: &'e CollectOp<'e, CudaBuffer>,
    /// The place of this rank among the participants.
    place: usize,
    given: &'e [Given],
}

impl Exchanging<'_> {
    /// Stages of this exchange, the same for all ranks.
    fn stages(&self) -> usize {
        let shared_out = self.given.len() > 2 && self.op.part_bytes() >= SHARED_OUT_BYTES;
        if matches!(self.op.exchange(), Exchange::Broadcast { .. }) && shared_out { 2 } else { 1 }
    }

    /// Enqueues a stage behind events of the others, and returns its end.
    fn stage(&self, stage: usize, behind: &[Arc<CudaEvent>]) -> StageOutcome {
        let stream = &self.combiner.stream.raw;
        let enqueue = || {
            for event in behind {
                stream.wait_on(self.combiner.operation, event.raw())?;
            }
            if stage == 0 { self.enqueue() } else { self.pass_on() }?;
            stream.record_as(Kind::Plain).map(Arc::new)
        };
        let failed = match catch_unwind(AssertUnwindSafe(enqueue)) {
            Ok(Ok(end)) => return Ok(end),
            Ok(Err(error)) => Failed::Error(error),
            Err(panic) => Failed::Panic(panic),
        };
        if let Err(also) = stream.synchronize() {
            stream.context().driver().report(also);
        }
        Err(failed)
    }

    /// Makes later work of the stream wait for events of the other ranks. If that fails, the host waits for them.
    fn wait_for(&self, ends: &[Arc<CudaEvent>]) -> Result<()> {
        let waits = |end: &Arc<CudaEvent>| {
            let waits = self.combiner.stream.raw.wait_on(self.combiner.operation, end.raw());
            waits.inspect_err(|_| drop(end.synchronize()))
        };
        ends.iter().map(waits).fold(Ok(()), Result::and)
    }

    /// Enqueues the first stage.
    fn enqueue(&self) -> Result<()> {
        let (op, ranks) = (self.op, self.given.len());
        let part = op.part_bytes();
        match op.exchange() {
            Exchange::AllReduce => self.all_reduce(),
            Exchange::Broadcast { root } if self.stages() == 2 => {
                let Some(receiver) = self.receiver(self.place, root) else { return Ok(()) };
                let share = share(part, 1, receiver, ranks - 1);
                self.combiner.copy_all(&[self.run_of(self.given[self.place_of(root)].source, share)])
            }
            exchange => {
                let mut runs = Vec::with_capacity(ranks);
                for Piece { result_part, from, source_part } in exchange.pieces(op.rank(), ranks) {
                    let Range { start, end } = op.result_part(result_part);
                    let result = self.own().result + start as u64;
                    let Some(from) = from else {
                        self.combine((source_part * part) as u64, result, op.count())?;
                        continue;
                    };
                    let Given { source, parts, .. } = &self.given[self.place_of(from)];
                    let offset = parts.get(source_part).copied().unwrap_or(source_part * part);
                    runs.push((result, source + offset as u64, end - start));
                }
                self.combiner.copy_all(&runs)
            }
        }
    }

    /// Enqueues the second stage of a broadcast: the ranks fetch their shares from each other.
    fn pass_on(&self) -> Result<()> {
        let Exchange::Broadcast { root } = self.op.exchange() else { return Ok(()) };
        if self.receiver(self.place, root).is_none() {
            return Ok(());
        }
        let ranks = self.given.len();
        // Each begins with another one.
        let runs = (1..ranks).map(|step| (self.place + step) % ranks).filter_map(|other| {
            let share = share(self.op.part_bytes(), 1, self.receiver(other, root)?, ranks - 1);
            Some(self.run_of(self.given[other].result, share))
        });
        self.combiner.copy_all(&runs.collect::<Vec<_>>())
    }

    /// The number of a rank among those that are not the root.
    fn receiver(&self, place: usize, root: usize) -> Option<usize> {
        let root = self.place_of(root);
        (place != root).then(|| place - usize::from(place > root))
    }

    /// The copy of a range of the bytes at an address to the same range of the result.
    fn run_of(&self, from: u64, Range { start, end }: Range<usize>) -> (u64, u64, usize) {
        (self.own().result + start as u64, from + start as u64, end - start)
    }

    /// Combines the vectors of all, each rank its share, and brings that to the others; or each rank combines all,
    /// if there is little, and no result is a source that another rank reads.
    fn all_reduce(&self) -> Result<()> {
        let (op, ranks, item) = (self.op, self.given.len(), self.op.item_bytes());
        let in_place = self.given.iter().any(|given| given.source == given.result);
        if op.part_bytes() <= WHOLE_BYTES && !in_place {
            return self.combine(0, self.own().result, op.count());
        }
        let share = share(op.count(), item, self.place, ranks);
        let offset = (share.start * item) as u64;
        self.combine(offset, self.own().result + offset, share.len())?;
        // Each begins with another one.
        let from = self.own().result + offset;
        let others = (1..ranks).map(|step| (self.place + step) % ranks);
        let runs = others.map(|other| (self.given[other].result + offset, from, share.len() * item));
        self.combiner.copy_all(&runs.collect::<Vec<_>>())
    }

    /// Combines elements of all ranks, from an offset in bytes in their sources on.
    fn combine(&self, offset: u64, outcome: u64, count: usize) -> Result<()> {
        let (Some(combining), 1..) = (self.op.combining(), count) else { return Ok(()) };
        let item = self.op.item_bytes();
        let sources: Vec<u64> = self.given.iter().map(|given| given.source + offset).collect();
        let spare_bytes = if is_read_late(&sources, outcome) { count * item } else { 0 };
        let spare = self.combiner.scratch(spare_bytes)?;
        self.combiner.combine(combining, &sources, (outcome, spare.address), (count, item))
    }

    fn own(&self) -> &Given {
        &self.given[self.place]
    }

    /// The place of a rank among the participants.
    fn place_of(&self, rank: usize) -> usize {
        self.op.participants().iter().position(|&of| of == rank).unwrap_or(0)
    }
}
