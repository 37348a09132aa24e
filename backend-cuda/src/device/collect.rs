//! Exchanges with the devices of other ranks.
//!
//! NCCL moves elements. Kernels of this crate combine them, in the order of ranks, so sums have the bits that
//! they have on a CPU. A vector that is combined for all is cut into a share for each rank: ranks send each
//! other the shares, each combines its own, and ranks send each other what came out. That is the traffic of a
//! ring, which adds in another order for each share.
//!
//! Core has compared the calls of all ranks before one is enqueued here. A call that fails after that ends the
//! communicators of all ranks of the process, as other ranks would wait for it on the device.
#![allow(unsafe_code)] // gives memory of operations to the library

use std::{num::NonZeroUsize, ops::Range, sync::Arc};

use devarray::{
    Layout, Result,
    backend::{
        Buffer, Capabilities, Capability, CollectOp, Collects, Combining, Exchange, Joining, RankTurns,
    },
    collective::CollectiveError,
    copy::Plan,
    function::primitive::Program,
    layout::Order,
};

use super::{CudaDevice, CudaStream};
use crate::{
    communicator::{Communicator, Shared},
    driver::BACKEND,
    memory::CudaBuffer,
    nccl::{Comm, Table},
    stream::RawStream,
    strided::Addresses,
};

/// The type of elements that are moved: `ncclUint8`.
const BYTES: i32 = 1;
/// Bytes up to which each rank combines a whole vector, rather than its share: one exchange, not two.
const WHOLE_BYTES: usize = 64 << 10;
/// Shares begin at multiples of these bytes, so that their elements are aligned like the vector's.
const SHARE_BYTES: usize = 512;

/// The part of one rank in a communicator of [`CudaDevice`]s.
#[derive(Debug)]
pub struct CudaCommunicator {
    raw: Arc<Communicator>,
}

// SAFETY: NCCL's kernels and those that combine are enqueued on the stream, and touch the source and the result
// of the operation and memory of their own. Kernels of other ranks that reach this memory do so while NCCL's kernel
// on this stream waits for them (NCCL user guide, "Stream semantics").
unsafe impl Collects for CudaDevice {
    type Communicator = CudaCommunicator;

    #[track_caller]
    fn join(&self, joining: &Joining<'_>) -> Result<CudaCommunicator> {
        self.check("join", Capability::Collectives)?;
        let Some(shared) = joining.shared(Shared::default) else {
            return Err(CollectiveError::Apart(joining.rank()).of(BACKEND, "join"));
        };
        let (rank, ranks) = (joining.rank(), joining.ranks());
        let raw = Communicator::join(self.context(), &shared, (rank, ranks), joining.time_limit())?;
        Ok(CudaCommunicator { raw })
    }

    #[track_caller]
    fn collect(
        &self,
        stream: &CudaStream,
        communicator: &CudaCommunicator,
        op: &CollectOp<'_, CudaBuffer>,
    ) -> Result<()> {
        let place = |side: Option<(&CudaBuffer, usize)>| side.map_or(0, |(of, at)| of.address() + at as u64);
        let exchanging = Exchanging {
            device: self,
            stream,
            communicator: &communicator.raw,
            op,
            operation: op.call().operation,
            source: place(op.source()),
            result: place(op.result()),
            ranks: op.participants().len(),
        };
        self.context().bound(exchanging.operation)?;
        exchanging.enqueue().inspect_err(|_| communicator.raw.abort_all())
    }

    fn abort(&self, communicator: &CudaCommunicator) {
        communicator.raw.abort_all();
    }

    fn turns(&self) -> Option<Arc<dyn RankTurns>> {
        None
    }
}

/// One exchange.
struct Exchanging<'e> {
    device: &'e CudaDevice,
    stream: &'e CudaStream,
    communicator: &'e Communicator,
    op: &'e CollectOp<'e, CudaBuffer>,
    operation: &'static str,
    /// Addresses of the first elements; 0 where the rank has none.
    source: u64,
    result: u64,
    ranks: usize,
}

/// Bytes that go to another rank, or come from it.
#[derive(Clone, Copy)]
struct Moved {
    rank: usize,
    address: u64,
    len_bytes: usize,
    leaves: bool,
}

impl Exchanging<'_> {
    fn enqueue(&self) -> Result<()> {
        let (op, rank, part) = (self.op, self.op.rank(), self.op.part_bytes());
        match op.exchange() {
            Exchange::AllReduce | Exchange::Reduce { .. } | Exchange::ReduceScatter => {
                op.combining().map_or(Ok(()), |combining| self.combine_all(combining))
            }
            Exchange::Broadcast { root } => self.call(|table, comm, stream| {
                let own = if root == rank { self.source } else { self.result };
                // SAFETY: `own` has a part of bytes, which the operation lets the stream read or write.
                unsafe { (table.broadcast)(own as _, own as _, part, BYTES, ordinal(root), comm, stream) }
            }),
            Exchange::AllGather => self.call(|table, comm, stream| {
                // SAFETY: a part is read, and one for each rank written, as the operation lets the stream.
                unsafe { (table.all_gather)(self.source as _, self.result as _, part, BYTES, comm, stream) }
            }),
            Exchange::AllToAll | Exchange::AllToAllCounted => {
                let at = |base: u64, bytes: Range<usize>| (base + bytes.start as u64, bytes.len());
                let source = |other: usize| at(self.source, op.source_part(other));
                let result = |other: usize| at(self.result, op.result_part(other));
                let mut moves = Vec::with_capacity(2 * self.ranks);
                for other in (0..self.ranks).filter(|&other| other != rank) {
                    for ((address, len_bytes), leaves) in [(source(other), true), (result(other), false)] {
                        moves.push(Moved { rank: other, address, len_bytes, leaves });
                    }
                }
                self.exchange(&moves)?;
                let (from, len_bytes) = source(rank);
                self.copy(result(rank).0, from, len_bytes)
            }
            Exchange::Transfer { from, to } => {
                let leaves = from == rank;
                let (other, address) = if leaves { (to, self.source) } else { (from, self.result) };
                self.exchange(&[Moved { rank: other, address, len_bytes: part, leaves }])
            }
        }
    }

    /// Makes a call of the library on the stream, whose later kernels wait for all of it.
    fn call(&self, mut call: impl FnMut(&Table, Comm, *mut std::ffi::c_void) -> i32) -> Result<()> {
        // Kernels of other code do not tell copies when to begin.
        let stream = self.stream.raw.share().cast();
        self.communicator.group(self.operation, |table, comm| call(table, comm, stream))
    }

    /// Exchanges bytes with other ranks, all at once.
    fn exchange(&self, moves: &[Moved]) -> Result<()> {
        let moves = moves.iter().filter(|moved| moved.len_bytes > 0);
        self.call(|table, comm, stream| {
            for &Moved { rank, address, len_bytes, leaves } in moves.clone() {
                let peer = ordinal(rank);
                let answer = if leaves {
                    // SAFETY: these bytes are of the source, or were computed for the other rank.
                    unsafe { (table.send)(address as _, len_bytes, BYTES, peer, comm, stream) }
                } else {
                    // SAFETY: these bytes are of the result, or of memory of this exchange.
                    unsafe { (table.receive)(address as _, len_bytes, BYTES, peer, comm, stream) }
                };
                if answer != 0 {
                    return answer;
                }
            }
            0
        })
    }

    /// Combines the vectors of all ranks.
    fn combine_all(&self, combining: &Combining) -> Result<()> {
        let (op, rank, item) = (self.op, self.op.rank(), self.op.item_bytes());
        let root = match op.exchange() {
            Exchange::Reduce { root } => Some(root),
            _ => None,
        };
        let parts_are_given = op.exchange() == Exchange::ReduceScatter;
        let is_whole = parts_are_given || op.part_bytes() <= WHOLE_BYTES;
        // The elements that a rank combines, of the result.
        let owned = |owner: usize| -> Range<usize> {
            match (is_whole, root) {
                (true, Some(root)) if owner != root => 0..0,
                (true, _) => 0..op.count(),
                (false, _) => share(op.count(), item, owner, self.ranks),
            }
        };
        let of_source = |owner: usize| {
            let first = if parts_are_given { owner * op.count() } else { 0 };
            self.source + ((first + owned(owner).start) * item) as u64
        };
        let own = owned(rank);
        let own_bytes = own.len() * item;
        // Shares of the others for this rank, and the outcome where it is no result of this rank.
        let has_result = op.result().is_some();
        let slots = self.ranks - 1 + usize::from(!has_result);
        let slot_bytes = own_bytes.next_multiple_of(SHARE_BYTES);
        let scratch = Scratch::new(self, slots * slot_bytes)?;
        let slot = |at: usize| scratch.address + (at * slot_bytes) as u64;
        let slot_of = |other: usize| slot(other - usize::from(other > rank));

        let others = || (0..self.ranks).filter(move |&other| other != rank);
        let mut moves = Vec::with_capacity(2 * self.ranks);
        for other in others() {
            let len_bytes = owned(other).len() * item;
            moves.push(Moved { rank: other, address: of_source(other), len_bytes, leaves: true });
            moves.push(Moved { rank: other, address: slot_of(other), len_bytes: own_bytes, leaves: false });
        }
        self.exchange(&moves)?;
        let at_result = |of: Range<usize>| self.result + (of.start * item) as u64;
        let outcome = if has_result { at_result(own.clone()) } else { slot(self.ranks - 1) };
        let sources: Vec<u64> =
            (0..self.ranks).map(|of| if of == rank { of_source(rank) } else { slot_of(of) }).collect();
        if !own.is_empty() {
            self.combine(combining, &sources, outcome, own.len())?;
        }
        if is_whole {
            return Ok(());
        }
        // Each has its share of the outcome: to all, or to the root.
        moves.clear();
        for other in others() {
            if root.is_none_or(|root| root == other) {
                moves.push(Moved { rank: other, address: outcome, len_bytes: own_bytes, leaves: true });
            }
            if root.is_none_or(|root| root == rank) {
                let of = owned(other);
                let len_bytes = of.len() * item;
                moves.push(Moved { rank: other, address: at_result(of), len_bytes, leaves: false });
            }
        }
        self.exchange(&moves)
    }

    /// Combines vectors, in the order of ranks. The own one may be where the outcome goes.
    fn combine(&self, combining: &Combining, sources: &[u64], outcome: u64, count: usize) -> Result<()> {
        let last = sources.len() - 1;
        let Some(finish) = combining.finish() else {
            if last == 0 {
                return self.copy(outcome, sources[0], count * self.op.item_bytes());
            }
            let before = self.fold(combining, &sources[..last], count)?;
            return self.map(combining.program(), outcome, &[before, sources[last]], count);
        };
        let all = self.fold(combining, sources, count)?;
        self.map(finish, outcome, &[all], count)
    }

    /// Combines vectors into the first of them that is memory of this exchange; the address of that.
    fn fold(&self, combining: &Combining, sources: &[u64], count: usize) -> Result<u64> {
        let to = if self.op.rank() == 0 { sources.get(1).copied().unwrap_or(0) } else { sources[0] };
        let mut before = sources[0];
        for &source in &sources[1..] {
            self.map(combining.program(), to, &[before, source], count)?;
            before = to;
        }
        Ok(before)
    }

    fn map(&self, program: &Program, to: u64, from: &[u64], count: usize) -> Result<()> {
        self.device.computing(self.stream).map_contiguous(self.operation, program, (to, from), count)
    }

    /// Copies bytes within the device, unless they are there.
    fn copy(&self, to: u64, from: u64, len_bytes: usize) -> Result<()> {
        if to == from || len_bytes == 0 {
            return Ok(());
        }
        let layout = Layout::contiguous(&[len_bytes], Order::C)?;
        let plan = Plan::new(&layout, &layout, 1, &Capabilities::default())?;
        let raw: &RawStream = &self.stream.raw;
        raw.enqueue(self.operation, |driver, _| {
            raw.copy_planned(driver, &plan, Addresses { dst: to, src: from })
        })
    }
}

/// A rank's share of `count` elements; the shares of all ranks are in their order.
fn share(count: usize, item_bytes: usize, rank: usize, ranks: usize) -> Range<usize> {
    let unit = (SHARE_BYTES / item_bytes).max(1);
    let units = count.div_ceil(unit);
    let begin = |rank: usize| (units / ranks * rank + units % ranks * rank / ranks) * unit;
    begin(rank).min(count)..begin(rank + 1).min(count)
}

/// The number of a rank, which joined by it.
fn ordinal(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}

/// Memory in the order of the stream, freed behind all that was enqueued meanwhile.
struct Scratch<'s> {
    stream: &'s RawStream,
    operation: &'static str,
    address: u64,
    len_bytes: Option<NonZeroUsize>,
}

impl<'s> Scratch<'s> {
    fn new(exchanging: &'s Exchanging<'_>, len_bytes: usize) -> Result<Self> {
        let (stream, operation) = (&*exchanging.stream.raw, exchanging.operation);
        let len_bytes = NonZeroUsize::new(len_bytes);
        let address = len_bytes.map_or(Ok(0), |len| stream.alloc(len).map(|buffer| buffer.address()))?;
        Ok(Self { stream, operation, address, len_bytes })
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let Some(len_bytes) = self.len_bytes else { return };
        self.stream.context().release(self.operation, |driver| {
            // SAFETY: allocated by `new` in this stream, freed once, behind all that uses it.
            unsafe { self.stream.free_scratch((driver, self.operation), self.address, len_bytes) };
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_side_by_side_and_cover_all() {
        for (count, item, ranks) in
            [(0, 4, 2), (1, 4, 3), (129, 4, 2), (100_000, 2, 3), (77_777, 8, 4), (1000, 600, 4)]
        {
            let shares: Vec<_> = (0..ranks).map(|rank| share(count, item, rank, ranks)).collect();
            assert_eq!((shares[0].start, shares[ranks - 1].end), (0, count));
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start), "{shares:?}");
            let longest = shares.iter().map(ExactSizeIterator::len).max().unwrap();
            assert!(longest * ranks <= count + 2 * ranks * (512 / item).max(1), "{shares:?}");
        }
    }
}
