//! The one way of an exchange: checked, packed, ordered, agreed on, enqueued.

use std::{cell::Cell, sync::Arc};

use smallvec::SmallVec;

use super::{CollectiveError, Communicator, Exchange, RankCall, RowCounts, exchange::Exchanged};
use crate::{
    Error, Result,
    allocation::AllocationAccess,
    array::ErasedArray,
    backend::{CollectOp, Collects, CutOff},
    operations::Elements,
    stream::{StreamCore, StreamHandle},
};

impl<D: Collects> Communicator<D> {
    /// Exchanges elements. Blocks until all participants make the call; does not wait for streams.
    #[track_caller]
    pub(super) fn collect(&mut self, on: &StreamHandle<D>, what: &Exchanged<Elements<'_, D>>) -> Result<()> {
        let call = self.next_exchange(what);
        match self.pack_and_enqueue(on, what, &call) {
            // Nobody compares its next call with calls of the others, which may be ahead.
            Err(error) if self.is_unchecked() => Err(self.give_up(&call, error)),
            outcome => outcome,
        }
    }

    /// The exchange that is called now.
    #[track_caller]
    pub(super) fn next_exchange(&mut self, what: &Exchanged<Elements<'_, D>>) -> RankCall {
        let mut call = self.next_call(what.operation);
        (call.combination, call.peer) = (what.combination.map(|(combination, _)| combination), what.peer);
        (call.element_type, call.count) = (what.element_type, what.count);
        call.item_bytes = what.sides().map(|of| of.item_bytes).next().unwrap_or(0);
        call.counts = what.counts.clone();
        call
    }

    #[track_caller]
    fn pack_and_enqueue(
        &mut self,
        on: &StreamHandle<D>,
        what: &Exchanged<Elements<'_, D>>,
        call: &RankCall,
    ) -> Result<()> {
        self.check(&on.0, what)?;
        // Whatever may fail comes before the ranks agree: afterwards, all count on this one.
        let packed = Packed::new(on, what)?;
        let contiguous = what.of(packed.source(what), packed.result(what));
        match (on.0.recorder(), self.part) {
            (Some(recorder), Some(ranks)) => recorder.exchange(ranks, &contiguous)?,
            _ => self.enqueue(&on.0, &contiguous, call)?,
        }
        packed.unpack(on, what)
    }

    /// Refuses what this rank alone can know to be wrong.
    #[track_caller]
    pub(super) fn check(&self, stream: &StreamCore<D>, what: &Exchanged<Elements<'_, D>>) -> Result<()> {
        let operation = what.operation;
        stream.check_core(operation, &self.context.0)?;
        self.check_recording(stream, operation)?;
        for elements in what.sides() {
            stream.check_context(operation, [elements.allocation])?;
        }
        if let (Some(source), Some(result), false) = (&what.source, &what.result, what.in_place) {
            stream.check_disjoint(source, source.layout, result, false)?;
        }
        if let Some(peer) = what.peer {
            self.check_peer(operation, peer, matches!(what.exchange, Exchange::Transfer { .. }))?;
        }
        match what.combination {
            Some((combination, of)) if !combination.takes(of) => {
                Err(CollectiveError::NoMean(of).of(self.context.0.backend(), operation))
            }
            _ => Ok(()),
        }
    }

    /// Enqueues an exchange of contiguous elements when the other participants make the call.
    #[track_caller]
    pub(super) fn enqueue(
        &mut self,
        stream: &StreamCore<D>,
        what: &Exchanged<Elements<'_, D>>,
        call: &RankCall,
    ) -> Result<()> {
        let Exchanged { operation, exchange, count, ref source, ref result, .. } = *what;
        let context = self.context.clone();
        let combining = match what.combination {
            Some((combination, of)) => Some(self.combinings.of(combination, of, self.ranks)?),
            None => None,
        };
        let touches: SmallVec<[AllocationAccess<'_, D>; 2]> = source
            .iter()
            .filter(|_| !what.in_place)
            .map(|source| source.touch(false))
            .chain(result.iter().map(|result| result.touch(true)))
            .collect();
        drop(stream.order(operation, &touches)?);
        let number = self.number_of(call, exchange)?;
        if count == 0 {
            return Ok(());
        }
        let of_two = match exchange {
            Exchange::Transfer { from, to } => [from.min(to), from.max(to)],
            _ => [0; 2],
        };
        let all: SmallVec<[usize; 8]> = match exchange {
            Exchange::Transfer { .. } => of_two.into_iter().collect(),
            _ => (0..self.ranks).collect(),
        };
        // In place, the smaller side is this rank's part of the larger.
        let part = |elements: usize| if what.in_place { self.rank * elements } else { 0 };
        let (source_part, result_part) = match exchange {
            Exchange::AllGather => (part(count), 0),
            Exchange::ReduceScatter => (0, part(count)),
            _ => (0, 0),
        };
        let place = |of: &Elements<'_, D>, part: usize| (of.layout.offset() + part) * of.item_bytes;
        let item_bytes = what.sides().map(|of| of.item_bytes).next().unwrap_or(1);
        // A rank that sends or gets no rows has no elements there, and maybe no memory.
        let has = |counts: Option<&[usize]>| counts.is_none_or(|of| of.iter().any(|&count| count > 0));
        let counts = what.counts.as_ref();
        let source = source.as_ref().filter(|_| has(counts.map(RowCounts::sent)));
        let result = result.as_ref().filter(|_| has(counts.and_then(RowCounts::received)));
        let op = CollectOp {
            number,
            call,
            exchange,
            participants: &all,
            rank: self.rank,
            count,
            counts,
            item_bytes,
            combining: combining.as_deref(),
            source: source.map(|of| of.allocation.buffer()),
            source_offset_bytes: source.map_or(0, |of| place(of, source_part)),
            result: result.map(|of| of.allocation.buffer()),
            result_offset_bytes: result.map_or(0, |of| place(of, result_part)),
        };
        // No lock is held: the backend may wait for ranks whose threads need locks of their own. It is
        // noted when it is on the stream, as an event recorded before then does not cover it. Nothing that
        // conflicts comes between, because the elements are borrowed, or memory of this call.
        let enqueued = {
            let exchange = self.cut_off.as_ref().map(|of| (number, operation, of));
            let _noted = Noted { stream, touches: &touches, exchange };
            let breaking = BreakingOff { communicator: self, is_over: Cell::new(false) };
            let enqueued = context.device().collect(&stream.raw, &self.raw, &op);
            breaking.is_over.set(true);
            enqueued
        };
        if let Err(error) = enqueued {
            return Err(self.give_up(call, error));
        }
        Ok(())
    }

    /// Refuses a rank that does not exist, or that would send to itself.
    #[track_caller]
    pub(super) fn check_peer(&self, operation: &'static str, peer: usize, is_transfer: bool) -> Result<()> {
        let (rank, ranks) = (self.rank, self.ranks);
        let error = match peer {
            _ if peer >= ranks => CollectiveError::NoRank { rank: peer, ranks },
            _ if is_transfer && peer == rank => CollectiveError::Itself(rank),
            _ => return Ok(()),
        };
        Err(error.of(self.context.0.backend(), operation))
    }
}

/// Ends the communicator for all ranks if a backend panics in an exchange, as the others count on this rank.
struct BreakingOff<'b, D: Collects> {
    communicator: &'b Communicator<D>,
    is_over: Cell<bool>,
}

impl<D: Collects> Drop for BreakingOff<'_, D> {
    fn drop(&mut self) {
        if !self.is_over.get() {
            self.communicator.aborter().abort();
        }
    }
}

/// Notes the accesses when it is dropped, and the exchange if it may be cut off.
struct Noted<'n, 'a, D: Collects> {
    stream: &'n StreamCore<D>,
    touches: &'n [AllocationAccess<'a, D>],
    exchange: Option<(u64, &'static str, &'n Arc<dyn CutOff>)>,
}

impl<D: Collects> Drop for Noted<'_, '_, D> {
    fn drop(&mut self) {
        let mut submission = self.stream.submission();
        submission.note_late(self.touches);
        if let Some((number, operation, of)) = self.exchange {
            submission.note_exchange(number, operation, of);
        }
    }
}

/// Contiguous memory in place of elements that are not.
struct Packed<D: Collects> {
    source: Option<ErasedArray<D>>,
    result: Option<ErasedArray<D>>,
}

impl<D: Collects> Packed<D> {
    #[track_caller]
    fn new(on: &StreamHandle<D>, what: &Exchanged<Elements<'_, D>>) -> Result<Self> {
        let room = |of: &Option<Elements<'_, D>>| {
            let scattered = of.as_ref().filter(|of| !of.layout.is_c_contiguous());
            scattered.map(|of| ErasedArray::uninit(on, of.layout.shape(), of.item_bytes)).transpose()
        };
        let result = if what.in_place { None } else { room(&what.result)? };
        let packed = Self { source: room(&what.source)?, result };
        if let (Some(room), Some(source)) = (&packed.source, &what.source) {
            on.0.copy(&room.elements(), source)?;
        }
        Ok(packed)
    }

    fn source<'s>(&'s self, what: &'s Exchanged<Elements<'_, D>>) -> Option<Elements<'s, D>> {
        elements(&self.source, &what.source)
    }

    fn result<'s>(&'s self, what: &'s Exchanged<Elements<'_, D>>) -> Option<Elements<'s, D>> {
        // In place, they are one.
        let room = if what.in_place { &self.source } else { &self.result };
        elements(room, &what.result)
    }

    /// Brings the result where it belongs.
    #[track_caller]
    fn unpack(&self, on: &StreamHandle<D>, what: &Exchanged<Elements<'_, D>>) -> Result<()> {
        let room = if what.in_place { &self.source } else { &self.result };
        match (room, &what.result) {
            (Some(room), Some(result)) => on.0.copy(result, &room.elements()),
            _ => Ok(()),
        }
    }
}

fn elements<'s, D: Collects>(
    room: &'s Option<ErasedArray<D>>,
    own: &'s Option<Elements<'_, D>>,
) -> Option<Elements<'s, D>> {
    let own = own.as_ref()?;
    Some(room.as_ref().map_or(Elements { ..*own }, ErasedArray::elements))
}

/// The error of an array that has not one part for each rank.
#[track_caller]
pub(super) fn check_parts(shape: &[usize], ranks: usize) -> Result<&[usize]> {
    match shape.split_first() {
        Some((&first, rest)) if first == ranks => Ok(rest),
        Some((_, rest)) => {
            let expected = [ranks].iter().chain(rest).copied().collect();
            Err(crate::LayoutError::ShapeMismatch { expected, found: shape.into() }.into())
        }
        None => Err(Error::from(crate::LayoutError::RankMismatch { expected: 1, found: 0 })),
    }
}
