//! The simulator: queues, memory, and the rules by which operations run.
//!
//! ```text
//! device (the traits) → enqueue → queues → run: picks a ready stream → execute: moves bytes
//!                     └─ asks the judge       └─ every choice: schedule::Chooser
//! ```
//!
//! The engine tells the judge the footprint of each operation, never its bytes. It does not know the handles
//! above it: they name memory by numbers ([`Allocated`](crate::allocation::Allocated)).
//!
//! Each machine has one engine, behind one lock, without threads: it runs inside the calls that users make.
//! Operations are numbered in the order in which they are enqueued, over all streams. Nothing depends on
//! addresses of the host, on time, or on the order of a hash map, so a run is determined by the options of
//! the device and the calls that are made.

mod bounds;
mod bytes;
mod compute;
mod declared;
mod default_streams;
mod deferred;
mod exchange;
mod execute;
mod failure;
mod footprint;
mod foreign;
mod gather;
mod history;
mod host;
mod host_range;
mod ipc;
mod kernel;
mod lane;
mod lanes;
mod ledger;
mod lints;
mod mark;
mod memory;
mod op;
mod order;
mod pageable;
mod pieces;
mod product;
mod ranks;
mod reach;
mod recorder;
mod run;
mod side;
mod source;
mod waits;
mod walk;
mod whole;

use std::{collections::BTreeMap, ops::Range, panic::Location, time::Duration};

use devarray::{Error, Result, backend::MemoryInfo};

pub(crate) use bytes::{Bytes, HostBytes};
pub(crate) use compute::Computation;
use default_streams::DefaultStreams;
pub(crate) use default_streams::StreamName;
pub(crate) use exchange::{Exchanged, Given};
pub(crate) use gather::Gathered;
pub(crate) use history::Happened;
pub(crate) use host::HostUse;
pub(crate) use host_range::HostRange;
pub(crate) use kernel::LaunchedKernel;
use lanes::Lanes;
use ledger::{Ledger, MOST_FINDINGS};
pub(crate) use mark::Mark;
pub(crate) use memory::{Memory, Reserved};
use op::Op;
pub(crate) use op::{Pattern, Work};
pub(crate) use order::Ordered;
pub(crate) use product::Multiplied;
use recorder::Relation;

use crate::{
    backend::BACKEND,
    fault::{FaultPlan, Faults},
    finding::{Access, Code, Finding, Operation},
    judge::{DeferredCheck, Judge, Snapshot},
    poison::Poison,
    report::Report,
    schedule::Chooser,
    statistics::Statistics,
    time::Stamp,
    trace::Trace,
};

/// The state of one device.
#[derive(Debug)]
pub(crate) struct Engine {
    chooser: Chooser,
    judge: Judge,
    lanes: Lanes,
    defaults: DefaultStreams,
    /// The sources of uploads that were read during the call, by the operation's number.
    staged: BTreeMap<u64, Vec<u8>>,
    memory: Memory,
    faults: Faults,
    ledger: Ledger,
    /// The error that lost the device.
    lost: Option<Error>,
    /// The error with which this call's operation loses the device when it runs.
    pending_loss: Option<Box<Error>>,
    /// The lookup that the operation of this call has to do when it runs.
    pending_check: Option<Box<DeferredCheck>>,
    /// Whether the query of this call takes no step.
    is_late: bool,
    /// The number of operations enqueued so far, which is also the number of the next one.
    enqueued: u64,
    /// The most operations that may be queued. Beyond it the oldest run.
    most_queued: usize,
    /// The simulated time.
    now: Duration,
    /// The operations that were done, in order, if that is recorded.
    order: Option<Vec<u64>>,
    /// The events of the run, if they are recorded.
    history: Option<Vec<Happened>>,
}

impl Engine {
    pub(crate) fn new(
        chooser: Chooser,
        judge: Judge,
        memory_limit_bytes: usize,
        host_limit_bytes: usize,
        record_order: bool,
        plan: FaultPlan,
    ) -> Self {
        Self {
            chooser,
            judge,
            lanes: Lanes::default(),
            defaults: DefaultStreams::default(),
            staged: BTreeMap::new(),
            memory: Memory::new(memory_limit_bytes, plan.pressure),
            faults: Faults::new(plan),
            ledger: Ledger { host_limit_bytes, ..Ledger::default() },
            lost: None,
            pending_loss: None,
            pending_check: None,
            is_late: false,
            enqueued: 0,
            most_queued: usize::MAX,
            now: Duration::ZERO,
            order: record_order.then(Vec::new),
            history: None,
        }
    }

    /// Adds an operation to the queue of a stream, after judging it; then the schedule may let work run.
    pub(crate) fn enqueue(&mut self, lane: usize, mut work: Work, location: &'static Location<'static>) {
        if let Work::Gather(gathered) = &mut work {
            gathered.note_missing(&self.judge);
        }
        let operation = self.operation(work.name(), Some(lane), location);
        let pageable = self.is_pageable(&work);
        self.pending_check = self.judge.deferred_check(&work, operation);
        let finding = self.judge.enqueue(lane, &work, operation, pageable);
        let finding = finding.map(|finding| work.explain(finding));
        self.add_finding(finding);
        if pageable {
            return self.push_pageable(lane, work, location);
        }
        self.push(lane, work, location);
    }

    /// Adds a record, and returns the operations that the event stands for.
    pub(crate) fn record(
        &mut self,
        lane: usize,
        stamp: Option<Stamp>,
        location: &'static Location<'static>,
    ) -> (Mark, Snapshot) {
        let snapshot = self.judge.record(lane, self.operation("record", Some(lane), location));
        (self.push(lane, Work::Record(stamp), location), snapshot)
    }

    /// Adds a wait for an event.
    pub(crate) fn wait(
        &mut self,
        lane: usize,
        (mark, snapshot): (Mark, &Snapshot),
        location: &'static Location<'static>,
    ) {
        let operation = self.operation("wait", Some(lane), location);
        if self.judge.wait(lane, snapshot, operation) {
            self.note_needless_wait(operation, snapshot);
        }
        self.push(lane, Work::Wait(mark), location);
    }

    /// The operation that is enqueued next, for findings.
    pub(crate) fn operation(
        &self,
        kind: &'static str,
        stream: Option<usize>,
        location: &'static Location<'static>,
    ) -> Operation {
        Operation { number: self.enqueued, kind, stream, location, argument: None }
    }

    fn push(&mut self, lane: usize, work: Work, location: &'static Location<'static>) -> Mark {
        let number = self.enqueued;
        let (call, bytes) = (self.operation(work.name(), None, location), work.bytes());
        self.enqueued += 1;
        self.poison_destination(&work, number);
        work.count(&mut self.ledger.statistics.enqueued);
        let mut op = Op::new(number, work);
        // The device may have been lost during this call, by a step of another operation.
        op.cancelled = self.lost.is_some();
        op.pending_loss = self.pending_loss.take();
        op.deferred = self.pending_check.take();
        op.after = self.implied(lane);
        let mark = self.lanes.push(lane, op);
        self.imply(mark);
        self.note(Happened::Enqueued(number));
        self.call(&call, Relation::Enqueues(mark), bytes);
        self.idle();
        self.run_oldest();
        mark
    }

    /// Poisons the destination of a download until it has run, unless an operation in flight uses
    /// it.
    fn poison_destination(&self, work: &Work, number: u64) {
        if let Work::Download { host, .. } = work
            && !self.lanes.touch_host(host)
        {
            execute::poison_destination(host, Poison::of_destination(number));
        }
    }

    /// Reserves device memory. If not enough memory is free, queued frees are run first.
    pub(crate) fn reserve(
        &mut self,
        len_bytes: usize,
        location: &'static Location<'static>,
    ) -> Result<Reserved> {
        let chooser = &mut self.chooser;
        if let Some(reserved) = self.memory.reserve(len_bytes, location, chooser) {
            return Ok(reserved);
        }
        self.run_frees();
        let chooser = &mut self.chooser;
        let reserved = self.memory.reserve(len_bytes, location, chooser);
        let room = self.memory.info();
        reserved.ok_or_else(|| Error::out_of_memory(BACKEND, "alloc", len_bytes, Some(room)))
    }

    /// The amount of free memory, at some time within this call.
    pub(crate) fn ask_for_memory(&mut self) -> MemoryInfo {
        self.idle();
        self.note(Happened::AskedForMemory);
        self.memory.info()
    }

    pub(crate) fn memory_info(&self) -> MemoryInfo {
        self.memory.info()
    }

    /// The pool of device memory, to read and to trim, at some time within this call.
    pub(crate) fn pool(&mut self) -> &mut Memory {
        self.ask_for_memory();
        &mut self.memory
    }

    /// Records the events of the run from now on.
    pub(crate) fn record_history(&mut self) {
        self.history = Some(Vec::new());
    }

    /// Keeps a finding. Without the judge, only findings about operations that were impossible are kept.
    pub(crate) fn add_finding(&mut self, finding: Option<Box<Finding>>) {
        let (has_room, is_on) = (self.ledger.findings.len() < MOST_FINDINGS, self.judge.is_on());
        let is_kept = |code| has_room && (is_on || matches!(code, Code::OutOfBounds | Code::HostPanicked));
        let Some(finding) = finding.filter(|finding| is_kept(finding.code)) else { return };
        let mut finding = self.judge.drawn(*finding);
        finding.allocated_at = self.allocated_at(&finding.memory);
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.found(&finding, self.now);
        }
        self.ledger.findings.push(finding);
    }

    /// Waits for everything, and forgets which operations ran and in which order.
    pub(crate) fn begin_program(&mut self) {
        self.synchronize_all();
        self.judge.begin_program();
        if let Some(recorder) = &mut self.ledger.recorder {
            recorder.clear();
        }
        if let Some(order) = &mut self.order {
            order.clear();
        }
        if let Some(history) = &mut self.history {
            history.clear();
        }
    }

    /// Gives the next operation this number. Operations in flight must have smaller numbers.
    pub(crate) fn number_next(&mut self, number: u64) {
        self.enqueued = number;
    }

    /// The numbers of the operations that have run, and of the host's own accesses, in the order in which
    /// they happened.
    pub(crate) fn order(&self) -> Option<&[u64]> {
        self.order.as_deref()
    }

    /// The first finding, if there is one so far.
    pub(crate) fn first_finding(&self) -> Option<&Finding> {
        self.ledger.findings.first()
    }

    pub(crate) fn open_event(&mut self) {
        self.ledger.events += 1;
    }

    pub(crate) fn close_event(&mut self) {
        self.ledger.events -= 1;
    }

    /// Notes that the host itself reads or writes pinned memory.
    pub(crate) fn host_access(
        &mut self,
        addresses: &Range<usize>,
        access: Access,
        location: &'static Location<'static>,
    ) {
        if let Some(order) = &mut self.order {
            order.push(self.enqueued);
        }
        let (code, kind) = match access {
            Access::Read => (Code::HostRead, "host_read"),
            _ => (Code::HostWrite, "host_write"),
        };
        let operation = self.operation(kind, None, location);
        self.call(&operation, Relation::None, Some(addresses.len()));
        let outside = self.judge.pinned(addresses).filter(|(memory, bytes)| bytes.end > memory.len_bytes());
        let finding = match outside {
            Some((memory, bytes)) => {
                Some(Box::new(Finding::new(Code::OutOfBounds, operation, access, memory, bytes)))
            }
            None => self.judge.host_access(addresses, access, code, operation),
        };
        self.add_finding(finding);
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.ledger.statistics
    }

    pub(crate) fn recorded(&self) -> Option<Trace> {
        self.chooser.recorded().cloned()
    }

    pub(crate) fn steps(&self) -> u64 {
        self.chooser.steps()
    }

    pub(crate) fn trace_hash(&self) -> u64 {
        self.chooser.hash()
    }

    /// The live objects and the findings, after running everything that is queued.
    pub(crate) fn report(&mut self) -> Report {
        self.synchronize_all();
        // A lost device has lost its memory and its registrations. Pinned memory belongs to the host.
        let there = self.lost.is_none();
        Report {
            buffers: if there { self.memory.live() } else { Vec::new() },
            host_buffers: self.ledger.host_buffers.values().map(|(_, live)| live.clone()).collect(),
            registrations: self
                .ledger
                .registrations
                .values()
                .filter(|_| there)
                .map(|(_, live)| live.clone())
                .collect(),
            streams: self.lanes.open(),
            events: self.ledger.events,
            adopted: self.ledger.adopted,
            opened: self.ledger.opened,
            findings: self.ledger.findings.clone(),
            lints: self.lints().to_vec(),
        }
    }
}

/// Runs work that was never forced, because otherwise a forgotten wait would not be seen.
impl Drop for Engine {
    fn drop(&mut self) {
        self.finish();
    }
}
