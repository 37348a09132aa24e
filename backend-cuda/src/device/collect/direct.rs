//! Exchanges between devices that reach each other's memory, by ranks of one process.
//!
//! [Few bytes](super::staged) go by copies of the sources, which need less waiting. Others have no copy:
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
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use devarray::{
    Result,
    backend::{Buffer, CollectOp, Joining, Participant, Rendezvous},
    collective::CollectiveError,
};

use super::{
    super::{CudaDevice, CudaStream},
    combine::Combiner,
    exchanging::{Exchanging, Failed, Given},
    staged::{self, Left, Places},
};
use crate::{
    context::Context,
    driver::BACKEND,
    event::{CudaEvent, Kind},
    handle::locked,
    memory::CudaBuffer,
    stream::CallMemory,
};

/// The places where ranks meet.
#[derive(Debug, Default)]
pub(super) struct Meetings {
    /// The context of each rank that has joined.
    contexts: Mutex<BTreeMap<usize, Arc<Context>>>,
    calls: Rendezvous<Given>,
    /// The end of a stage of each rank; none if it failed.
    stages: [Rendezvous<Option<Arc<CudaEvent>>>; 2],
    left: Mutex<Left>,
}

/// The part of one rank.
#[derive(Debug)]
pub(super) struct Rank {
    meetings: Arc<Meetings>,
    time_limit: Duration,
    ranks: usize,
    places: Mutex<Places>,
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
        let (time_limit, ranks) = (joining.time_limit(), joining.ranks());
        Ok(direct.then(|| Self {
            meetings: Arc::clone(meetings),
            time_limit,
            ranks,
            places: Mutex::default(),
        }))
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
        if staged::takes(op) {
            return self.collect_staged(combiner, op);
        }
        let source = Reached::new(combiner, op.source(), op.source_bytes())?;
        let result = match (op.source(), op.result()) {
            // In place: one vector is both.
            (Some(from), Some(to)) if place(from) == place(to) && op.source_bytes() == op.len_bytes() => None,
            _ => Some(Reached::new(combiner, op.result(), op.len_bytes())?),
        };
        if let Some(room) = &source.room {
            combiner.copy(room.address(), source.own, op.source_bytes())?;
        }
        let begins = Arc::new(stream.raw.record_as(Kind::Plain)?);
        let parts = if op.counts().is_some() { op.participants() } else { &[] };
        let given = Given {
            source: source.address(),
            result: result.as_ref().unwrap_or(&source).address(),
            parts: parts.iter().map(|&of| op.source_part(of).start).collect(),
            begins,
        };
        // All come, or none: from here on, the others touch memory of this rank.
        let who = participant(op);
        let given = self.meet(who, given)?;
        let exchanging = Exchanging { combiner, op, place: who.place, given: &given };
        self.run(&exchanging, who)?;
        match result.as_ref().unwrap_or(&source) {
            Reached { own, room: Some(room) } if op.result().is_some() => {
                combiner.copy(*own, room.address(), op.len_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Enqueues the part of this rank in an exchange of few bytes: the others read a copy of the source.
    fn collect_staged(&self, combiner: Combiner<'_>, op: &CollectOp<'_, CudaBuffer>) -> Result<()> {
        // One call at a time comes to a rank.
        let mut places = locked(&self.places);
        let (source, begins) = places.copy_source(combiner, op)?;
        let result = op.result().map_or(0, place);
        let who = participant(op);
        let given = self.meet(who, Given { source, result, parts: Vec::new(), begins })?;
        let others = given.iter().enumerate().filter(|(at, _)| *at != who.place);
        let behind: Vec<_> = others.map(|(_, given)| Arc::clone(&given.begins)).collect();
        let exchanging = Exchanging { combiner, op, place: who.place, given: &given };
        exchanging.enqueue_stage(0, &behind).map_err(Failed::into_error)
    }

    /// Blocks until all ranks of an exchange have come, and returns what each gives.
    fn meet(&self, who: Participant<'_>, given: Given) -> Result<Arc<[Given]>> {
        let met = self.meetings.calls.meet(who, given, self.time_limit);
        Ok(met.map_err(|error| error.of(BACKEND, who.call.operation))?.leave())
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
                let aborted = |_| CollectiveError::Aborted.of(BACKEND, call.operation);
                return Err(outcome.map_or_else(Failed::into_error, aborted));
            }
        }
        exchanging.wait_for(&ends)
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let places = self.places.get_mut().unwrap_or_else(PoisonError::into_inner);
        staged::leave(&self.meetings.left, self.ranks, mem::take(places));
    }
}

/// This rank in the meetings of an exchange.
fn participant<'p>(op: &CollectOp<'p, CudaBuffer>) -> Participant<'p> {
    let (all, rank) = (op.participants(), op.rank());
    let place = all.iter().position(|&of| of == rank).unwrap_or(0);
    Participant { number: op.number(), place, count: all.len(), call: op.call(), turns: None }
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
    room: Option<CallMemory<'r>>,
}

impl<'r> Reached<'r> {
    fn new(combiner: Combiner<'r>, of: Option<(&CudaBuffer, usize)>, len_bytes: usize) -> Result<Self> {
        let is_reached = of.is_none_or(|(buffer, _)| buffer.is_of_pool());
        let room = if is_reached { None } else { combiner.scratch(len_bytes)? };
        Ok(Self { own: of.map_or(0, place), room })
    }

    fn address(&self) -> u64 {
        self.room.as_ref().map_or(self.own, CallMemory::address)
    }
}

fn place((buffer, offset_bytes): (&CudaBuffer, usize)) -> u64 {
    buffer.address() + offset_bytes as u64
}
