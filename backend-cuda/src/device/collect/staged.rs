//! Exchanges of few bytes, by one wait for each other rank.
//!
//! Each rank copies its source to memory of the communicator and records an event; each stream waits for the
//! others' events and reads from there. Nobody waits for the readers: the source of the rank is free at once, and
//! the copy stays until the exchange after the next. Exchanges of many bytes save the copy and wait twice
//! ([`direct`](super::direct)).
//!
//! # Why a copy may be overwritten
//!
//! A rank has two places, which its exchanges take by turns. All ranks take part in each exchange, and a rank's
//! exchanges run in order, on whatever streams they are. So the event that a rank records for the next exchange is
//! behind all that it read for this one, and the exchange after the next is behind that event.
//!
//! The last rank to leave the communicator frees the places of all, behind the last exchange of each.
#![allow(unsafe_code)] // frees memory of its own behind all that uses it

use std::{
    mem,
    num::NonZeroUsize,
    sync::{Arc, Mutex, Weak},
};

use devarray::{
    Result,
    backend::{Buffer, CollectOp, Event, Exchange, Quiesced},
};

use super::combine::Combiner;
use crate::{event::CudaEvent, handle::locked, memory::CudaBuffer, stream::RawStream};

/// The most bytes of a source that are copied.
const PLACE_BYTES: usize = 64 << 10;
/// Two places.
const LEN_BYTES: NonZeroUsize = NonZeroUsize::new(2 * PLACE_BYTES).unwrap();

/// Whether an exchange goes this way: the same answer on all ranks.
pub(super) fn takes(op: &CollectOp<'_, CudaBuffer>) -> bool {
    let parts = match op.exchange() {
        Exchange::AllReduce | Exchange::Reduce { .. } | Exchange::Broadcast { .. } | Exchange::AllGather => 1,
        Exchange::ReduceScatter | Exchange::AllToAll => op.participants().len(),
        // Not all ranks take part, or not all know how much the others have.
        Exchange::Transfer { .. } | Exchange::AllToAllCounted => return false,
    };
    op.participants().len() > 1 && op.part_bytes().saturating_mul(parts) <= PLACE_BYTES
}

/// The places of one rank.
#[derive(Debug, Default)]
pub(super) struct Places {
    memory: Option<Memory>,
    /// The place that the next exchange takes.
    next: usize,
    /// The stream of the last exchange, and an event behind it there.
    last: Option<(Weak<RawStream>, Arc<CudaEvent>)>,
}

/// Memory, and the stream that it is freed on.
#[derive(Debug)]
struct Memory {
    stream: Arc<RawStream>,
    address: u64,
}

impl Places {
    /// Copies the source to the next place, if there is one, behind the exchanges so far. Returns the place.
    pub(super) fn copy_source(
        &mut self,
        combiner: Combiner<'_>,
        op: &CollectOp<'_, CudaBuffer>,
    ) -> Result<u64> {
        let stream = &combiner.stream.raw;
        if let Some((last, event)) = &self.last
            && last.as_ptr() != Arc::as_ptr(stream)
        {
            stream.wait_on(combiner.operation, event.raw())?;
        }
        let address = match &self.memory {
            Some(memory) => memory.address,
            None => {
                let address = stream.alloc(LEN_BYTES)?.address();
                self.memory.insert(Memory { stream: Arc::clone(stream), address }).address
            }
        };
        let place = address + (self.next * PLACE_BYTES) as u64;
        self.next = 1 - self.next;
        if let Some((source, offset_bytes)) = op.source() {
            combiner.copy(place, source.address() + offset_bytes as u64, op.source_bytes())?;
        }
        Ok(place)
    }

    /// Everything that touches the places so far is in front of this event of the stream.
    pub(super) fn end(&mut self, combiner: Combiner<'_>, event: &Arc<CudaEvent>) {
        self.last = Some((Arc::downgrade(&combiner.stream.raw), Arc::clone(event)));
    }
}

/// The places of ranks that have left.
#[derive(Debug, Default)]
pub(super) struct Left {
    ranks: usize,
    places: Vec<Places>,
}

/// A rank leaves. The last of `ranks` frees the places of all. Does not synchronize.
pub(super) fn leave(left: &Mutex<Left>, ranks: usize, places: Places) {
    let mut left = locked(left);
    left.ranks += 1;
    left.places.push(places);
    if left.ranks < ranks {
        return;
    }
    let all = mem::take(&mut left.places);
    drop(left);
    let ends: Vec<_> = all.iter().filter_map(|of| of.last.as_ref()).map(|(_, end)| end).collect();
    for Memory { stream, address } in all.iter().filter_map(|of| of.memory.as_ref()) {
        // Where the stream cannot wait, the host does; where neither can, the memory stays.
        let is_behind = |end: &&Arc<CudaEvent>| {
            stream.wait_on("free", end.raw()).is_ok() || matches!(end.synchronize(), Quiesced::Done)
        };
        if !ends.iter().all(is_behind) {
            continue;
        }
        stream.context().release("free", |driver| {
            // SAFETY: allocated on this stream by `copy_source` and freed once, behind the last exchange of each
            // rank; all have left, so no other comes. The context is bound.
            unsafe { stream.free_scratch((driver, "free"), *address) };
            Ok(())
        });
    }
}
