//! The part of one rank in an exchange that all ranks have come to: copies and combinations on its stream, between
//! addresses that they gave each other.

use std::{
    any::Any,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use devarray::{
    Result,
    backend::{CollectOp, Event, Exchange, Piece},
};

use super::combine::{Combiner, WHOLE_BYTES, address_of, is_read_late, share};
use crate::{
    event::{CudaEvent, Kind},
    memory::CudaBuffer,
};

/// Bytes from which a root gives each other rank a share, which they give each other: it sends each byte once.
const SHARED_OUT_BYTES: usize = 1 << 20;

/// The end of a stage, or why it failed. If it failed, nothing that it enqueued still runs.
pub(super) type StageOutcome = std::result::Result<Arc<CudaEvent>, Failed>;

pub(super) enum Failed {
    Error(devarray::Error),
    Panic(Box<dyn Any + Send>),
}

impl Failed {
    /// The error. A panic goes on.
    pub(super) fn into_error(self) -> devarray::Error {
        match self {
            Self::Error(error) => error,
            Self::Panic(panic) => resume_unwind(panic),
        }
    }
}

/// The elements of a rank, by address, 0 where it has none; and a point behind all that was enqueued before.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) source: u64,
    pub(super) result: u64,
    /// The first byte of each part of the source, where parts differ in length.
    pub(super) parts: Vec<usize>,
    pub(super) begins: Arc<CudaEvent>,
}

/// The part of one rank in an exchange that all have come to.
pub(super) struct Exchanging<'e> {
    pub(super) combiner: Combiner<'e>,
    pub(super) op: &'e CollectOp<'e, CudaBuffer>,
    /// The place of this rank among the participants.
    pub(super) place: usize,
    pub(super) given: &'e [Given],
}

impl Exchanging<'_> {
    /// Stages of this exchange, the same for all ranks.
    pub(super) fn stages(&self) -> usize {
        let shared_out = self.given.len() > 2 && self.op.part_bytes() >= SHARED_OUT_BYTES;
        if matches!(self.op.exchange(), Exchange::Broadcast { .. }) && shared_out { 2 } else { 1 }
    }

    /// Enqueues a stage behind events of the others, and returns its end.
    pub(super) fn stage(&self, stage: usize, behind: &[Arc<CudaEvent>]) -> StageOutcome {
        let stream = &self.combiner.stream.raw;
        self.ended(|| {
            self.enqueue_behind(stage, behind)?;
            stream.record_as(Kind::Plain).map(Arc::new)
        })
    }

    /// Enqueues a stage behind events of the others, whose end nobody needs.
    pub(super) fn enqueue_stage(
        &self,
        stage: usize,
        behind: &[Arc<CudaEvent>],
    ) -> std::result::Result<(), Failed> {
        self.ended(|| self.enqueue_behind(stage, behind))
    }

    fn enqueue_behind(&self, stage: usize, behind: &[Arc<CudaEvent>]) -> Result<()> {
        for event in behind {
            self.combiner.stream.raw.wait_on(self.combiner.operation, event.raw())?;
        }
        if stage == 0 { self.enqueue() } else { self.pass_on() }
    }

    /// Enqueues work. If that fails, waits for what was enqueued.
    fn ended<R>(&self, enqueue: impl FnOnce() -> Result<R>) -> std::result::Result<R, Failed> {
        let stream = &self.combiner.stream.raw;
        let failed = match catch_unwind(AssertUnwindSafe(enqueue)) {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => Failed::Error(error),
            Err(panic) => Failed::Panic(panic),
        };
        if let Err(also) = stream.synchronize() {
            stream.context().driver().report(also);
        }
        Err(failed)
    }

    /// Makes later work of the stream wait for events of the other ranks. If that fails, the host waits for them.
    pub(super) fn wait_for(&self, ends: &[Arc<CudaEvent>]) -> Result<()> {
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
        self.combiner.combine(combining, &sources, (outcome, address_of(spare.as_ref())), (count, item))
    }

    fn own(&self) -> &Given {
        &self.given[self.place]
    }

    /// The place of a rank among the participants.
    fn place_of(&self, rank: usize) -> usize {
        self.op.participants().iter().position(|&of| of == rank).unwrap_or(0)
    }
}
