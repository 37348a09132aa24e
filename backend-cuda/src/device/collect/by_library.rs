//! Exchanges by NCCL, which moves elements.
//!
//! Kernels of this crate combine them, in the order of ranks. A vector that is combined for all is cut into a
//! share for each rank: ranks send each other the shares, each combines its own, and ranks send each other what
//! came out. That is the traffic of a ring, which adds in another order for each share.
//!
//! A call that fails after all ranks have come to it ends the communicators of all ranks of the process, as other
//! ranks would wait for it on the device.
#![allow(unsafe_code)] // gives memory of operations to the library

use std::ops::Range;

use devarray::{
    Result,
    backend::{Buffer, CollectOp, Combining, Exchange},
};

use super::{
    super::{CudaDevice, CudaStream},
    combine::{Combiner, SHARE_BYTES, WHOLE_BYTES, address_of, share},
};
use crate::{
    communicator::Communicator,
    event::Kind,
    memory::CudaBuffer,
    nccl::{Comm, Status, Table},
};

/// The type of elements that are moved: `ncclUint8`.
const BYTES: i32 = 1;

/// Enqueues the part of this rank in an exchange.
pub(super) fn collect(
    device: &CudaDevice,
    stream: &CudaStream,
    communicator: &Communicator,
    op: &CollectOp<'_, CudaBuffer>,
) -> Result<()> {
    let place = |side: Option<(&CudaBuffer, usize)>| side.map_or(0, |(of, at)| of.address() + at as u64);
    let combiner = Combiner { device, stream, operation: op.call().operation };
    let (source, result, ranks) = (place(op.source()), place(op.result()), op.participants().len());
    let exchanging = Exchanging { combiner, communicator, op, source, result, ranks };
    device.context().bound(combiner.operation)?;
    let enqueued = exchanging.enqueue().and_then(|()| stream.raw.record_as(Kind::Plain));
    let end = enqueued.inspect_err(|_| communicator.abort_all())?;
    communicator.note(combiner.operation, op.number(), end)
}

/// One exchange.
struct Exchanging<'e> {
    combiner: Combiner<'e>,
    communicator: &'e Communicator,
    op: &'e CollectOp<'e, CudaBuffer>,
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
                // With the own part, which the library copies beside the others.
                let moves = (0..self.ranks).flat_map(|other| {
                    let moved = |base: u64, bytes: Range<usize>, leaves| Moved {
                        rank: other,
                        address: base + bytes.start as u64,
                        len_bytes: bytes.len(),
                        leaves,
                    };
                    let (source, result) = (op.source_part(other), op.result_part(other));
                    [moved(self.source, source, true), moved(self.result, result, false)]
                });
                self.exchange(&moves.collect::<Vec<_>>())
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
        let stream = self.combiner.stream.raw.share().cast();
        self.communicator.group(self.combiner.operation, |table, comm| call(table, comm, stream))
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
                // In a group a call only notes its part; the group is waited for.
                if answer != 0 && answer != Status::IN_PROGRESS.0 {
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
        let scratch = self.combiner.scratch(slots * slot_bytes)?;
        let slot = |at: usize| address_of(scratch.as_ref()) + (at * slot_bytes) as u64;
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
            // A slot is the first vector where the outcome is a later one.
            let places = (outcome, sources[0]);
            self.combiner.combine(combining, &sources, places, (own.len(), item))?;
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
}

/// The number of a rank, which joined by it.
fn ordinal(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}
