//! Exchanges between ranks, in the queues of their streams.
//!
//! Each rank records an event, waits for the events of the others, and enqueues its part. So no part runs
//! before all ranks have reached the exchange. The part that runs first moves the elements of all ranks.
//! Work that a rank enqueues later runs after that rank's part.
#![allow(unsafe_code)] // combines elements in memory of its own

use std::{
    ops::Range,
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use devarray::{
    Error, Layout,
    backend::{CollectOp, Exchange, Piece, RowCounts},
    function::{
        interpreter::{InputElements, ResultElements, interpret},
        primitive::Program,
    },
};
use smallvec::SmallVec;

use super::{Memory, compute::Elements, reach::Reach, source::Source};
use crate::{
    allocation::Allocated,
    finding::Access,
    judge::{Place, Touch},
};

/// The elements that one rank gives and gets.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    /// The host that the rank runs on.
    pub(crate) host: usize,
    pub(crate) lane: usize,
    pub(crate) location: &'static Location<'static>,
    name: &'static str,
    source: Option<Part>,
    result: Option<Part>,
    counts: Option<RowCounts>,
    /// The error with which the rank's part loses the device when it runs.
    pub(super) loss: Option<Box<Error>>,
}

/// Bytes of a memory.
#[derive(Debug, Clone)]
struct Part(Arc<Elements>);

/// The data that all parts of an exchange have in common.
#[derive(Debug)]
struct Group {
    exchange: Exchange,
    participants: Vec<usize>,
    part_bytes: usize,
    combining: Option<(Program, Option<Program>)>,
    given: Vec<Given>,
    is_done: AtomicBool,
}

/// The part of one rank.
#[derive(Debug)]
pub(crate) struct Exchanged {
    place: usize,
    rank: usize,
    group: Arc<Group>,
}

impl Part {
    fn new(buffer: &impl Allocated, offset_bytes: usize, len_bytes: usize) -> Option<Self> {
        let layout = Layout::new(&[len_bytes], &[1], offset_bytes).ok()?;
        Some(Self(Arc::new(Elements::of(buffer, &layout, 1))))
    }

    fn start(&self) -> usize {
        self.0.span_bytes().start
    }

    fn touch(&self, access: Access) -> Touch {
        Touch { place: Place::Device(self.0.buffer), bytes: self.0.bytes(), access }
    }

    /// Reads bytes counted from where the parts begin.
    fn read(&self, memory: &Memory, of: Range<usize>) -> Vec<u8> {
        let mut bytes = vec![0; of.len()];
        Source::new(memory, self.0.buffer).read(self.start() + of.start, &mut bytes);
        bytes
    }

    /// Writes bytes at a distance from where the parts begin.
    fn write(&self, memory: &mut Memory, before: usize, bytes: &[u8]) {
        let mut written = memory.take(self.0.buffer);
        let at = self.start() + before;
        let into = written.part_mut(at..at + bytes.len());
        let there = into.len();
        into.copy_from_slice(&bytes[..there]);
        memory.put(self.0.buffer, written);
    }
}

impl Given {
    pub(crate) fn of(
        op: &CollectOp<'_, impl Allocated>,
        (host, lane): (usize, usize),
        location: &'static Location<'static>,
    ) -> Self {
        let source = op.source().and_then(|(buffer, at)| Part::new(buffer, at, op.source_bytes()));
        let result = op.result().and_then(|(buffer, at)| Part::new(buffer, at, op.len_bytes()));
        let (name, counts) = (op.call().operation, op.counts().cloned());
        Self { host, lane, location, name, source, result, counts, loss: None }
    }

    /// The rows or parts of the source that are one part of it.
    fn sent(&self, part: usize) -> Range<usize> {
        self.counts.as_ref().map_or(part..part + 1, |counts| counts.sent_to(part))
    }

    /// The rows or parts of the result that are one part of it.
    fn received(&self, part: usize) -> Range<usize> {
        self.counts.as_ref().map_or(part..part + 1, |counts| counts.received_from(part))
    }

    fn sides(&self) -> impl Iterator<Item = (&Part, Access)> {
        let reads = self.source.iter().map(|part| (part, Access::Read));
        reads.chain(self.result.iter().map(|part| (part, Access::Write)))
    }
}

impl Exchanged {
    /// The part of one rank, to be asked how far it reaches before the ranks meet.
    pub(crate) fn alone(op: &CollectOp<'_, impl Allocated>, given: Given) -> Self {
        Self { place: 0, rank: op.rank(), group: Arc::new(Group::of(op, vec![given])) }
    }

    /// The parts of all participants, in their order.
    pub(super) fn of_all(op: &CollectOp<'_, impl Allocated>, given: Vec<Given>) -> Vec<Self> {
        let group = Arc::new(Group::of(op, given));
        let of = |(place, &rank): (usize, &usize)| Self { place, rank, group: Arc::clone(&group) };
        group.participants.iter().enumerate().map(of).collect()
    }

    pub(super) fn given(&self) -> &Given {
        &self.group.given[self.place]
    }

    pub(super) fn name(&self) -> &'static str {
        self.given().name
    }

    /// Bytes that the rank gets.
    pub(super) fn len_bytes(&self) -> usize {
        self.given().result.as_ref().map_or(0, |part| part.0.span_bytes().len())
    }

    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        self.given().sides().map(|(part, access)| part.0.reach(access)).collect()
    }

    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        self.given().sides().map(|(part, access)| part.touch(access)).collect()
    }

    /// Whether source and result are one, or one is the rank's part of the other.
    pub(super) fn is_in_place(&self) -> bool {
        let Given { source: Some(source), result: Some(result), .. } = self.given() else { return false };
        let (from, to, part) = (source.start(), result.start(), self.rank * self.group.part_bytes);
        let due = match self.group.exchange {
            Exchange::AllGather => from == to + part,
            Exchange::ReduceScatter => to == from + part,
            _ => source.0.span_bytes() == result.0.span_bytes(),
        };
        due && source.0.buffer == result.0.buffer
    }

    /// Moves the elements of all ranks, if no other part has.
    pub(super) fn run(&self, memory: &mut Memory) {
        if !self.group.is_done.swap(true, Relaxed) {
            self.group.run(memory);
        }
    }
}

impl Group {
    fn of<B>(op: &CollectOp<'_, B>, given: Vec<Given>) -> Self {
        let combining = op.combining().map(|of| (of.program().clone(), of.finish().cloned()));
        let (exchange, participants, part_bytes) =
            (op.exchange(), op.participants().to_vec(), op.part_bytes());
        Self { exchange, participants, part_bytes, combining, given, is_done: AtomicBool::new(false) }
    }

    /// All results are computed before the first is written: a result may be a source.
    fn run(&self, memory: &mut Memory) {
        let mut results: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        for (place, &rank) in self.participants.iter().enumerate() {
            for Piece { result_part, from, source_part } in
                self.exchange.pieces(rank, self.participants.len())
            {
                let bytes = match from {
                    Some(from) => self.read(memory, from, source_part),
                    None => self.combined(memory, source_part),
                };
                let before = self.given[place].received(result_part).start * self.part_bytes;
                results.push((place, before, bytes));
            }
        }
        for (place, before, bytes) in results {
            if let Some(result) = &self.given[place].result {
                result.write(memory, before, &bytes);
            }
        }
    }

    fn read(&self, memory: &Memory, rank: usize, part: usize) -> Vec<u8> {
        let place = self.participants.iter().position(|&other| other == rank);
        let Some(given) = place.map(|place| &self.given[place]) else { return Vec::new() };
        let (parts, each) = (given.sent(part), self.part_bytes);
        let source = given.source.as_ref();
        source.map_or_else(Vec::new, |source| source.read(memory, parts.start * each..parts.end * each))
    }

    /// A part of all sources, combined in the order of ranks.
    fn combined(&self, memory: &Memory, part: usize) -> Vec<u8> {
        let Some((program, finish)) = &self.combining else { return vec![0; self.part_bytes] };
        let mut parts = self.participants.iter().map(|&rank| self.read(memory, rank, part));
        let first = parts.next().unwrap_or_default();
        let combined = parts.fold(first, |one, two| computed(program, &[one, two]));
        match finish {
            Some(finish) => computed(finish, &[combined]),
            None => combined,
        }
    }
}

/// The values of a function of elements that lie side by side.
fn computed(program: &Program, inputs: &[Vec<u8>]) -> Vec<u8> {
    let len = inputs[0].len() / program.result_type().len_bytes();
    let Ok(line) = Layout::new(&[len], &[1], 0) else { return Vec::new() };
    let mut bytes = vec![0; inputs[0].len()];
    let elements = |bytes: &Vec<u8>| InputElements { start: bytes.as_ptr(), layout: &line };
    let inputs: SmallVec<[InputElements<'_>; 2]> = inputs.iter().map(elements).collect();
    let result = ResultElements { start: bytes.as_mut_ptr(), layout: &line };
    // SAFETY: inputs and result have `len` elements each, and the result is nobody else's.
    unsafe { interpret(program, &inputs, &[], result) };
    bytes
}
