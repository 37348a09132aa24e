//! Exchanges of few bytes, by one wait for each other rank.
//!
//! Each rank copies its source to memory of the communicator and records an event; each stream waits for the
//! others' events and reads from there. Nobody waits for the readers: the source of the rank is free at once, and
//! the copy stays until the exchange after the next. Exchanges of many bytes save the copy and wait twice
//! ([`direct`](super::direct)).
//!
//! # Why a copy may be overwritten
//!
//! A rank has two places and two events, which its exchanges take by turns. All ranks take part in each exchange, and
//! a rank's exchanges run in order, on whatever streams they are. So the event that a rank records for the next
//! exchange is behind all that it read for this one, and the exchange after the next is behind that event. The event
//! may be recorded again by then, because the others have met for the next exchange, and have enqueued their waits
//! before.
//!
//! Making an event for each exchange would cost more than all else: threads of one process get in each other's way in
//! the driver, and who drops an event last is maybe another rank, with another context.
//!
//! The last rank to leave the communicator frees the places of all, behind the last exchange of each.
#![allow(unsafe_code)] // frees memory of its own behind all that uses it

use std::{
    mem,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use devarray::{
    Result,
    backend::{Buffer, CollectOp, Event, Exchange, Quiesced},
};

use super::combine::Combiner;
use crate::{
    event::{CudaEvent, Kind},
    handle::locked,
    memory::CudaBuffer,
    stream::RawStream,
};

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
    events: [Option<Arc<CudaEvent>>; 2],
    /// The place and the event that the next exchange takes.
    next: usize,
    /// The stream of the last exchange.
    last: Option<Arc<RawStream>>,
}

/// Memory, and the stream that it is freed on.
#[derive(Debug)]
struct Memory {
    stream: Arc<RawStream>,
    address: u64,
}

impl Places {
    /// Copies the source to the next place, if there is one, behind the exchanges so far. Returns the place, and an
    /// event behind the copy.
    pub(super) fn copy_source(
        &mut self,
        combiner: Combiner<'_>,
        op: &CollectOp<'_, CudaBuffer>,
    ) -> Result<(u64, Arc<CudaEvent>)> {
        let stream = &combiner.stream.raw;
        let is_last = |last: &Arc<RawStream>| Arc::ptr_eq(last, stream);
        if !self.last.as_ref().is_some_and(is_last) {
            if let Some(last) = &self.last {
                let end = last.record_as(Kind::Plain)?;
                stream.wait_on(combiner.operation, end.raw())?;
            }
            self.last = Some(Arc::clone(stream));
        }
        let address = match &self.memory {
            Some(memory) => memory.address,
            None => {
                let address = stream.alloc(LEN_BYTES)?.address();
                self.memory.insert(Memory { stream: Arc::clone(stream), address }).address
            }
        };
        let now = self.next;
        self.next = 1 - now;
        let place = address + (now * PLACE_BYTES) as u64;
        if let Some((source, offset_bytes)) = op.source() {
            combiner.copy(place, source.address() + offset_bytes as u64, op.source_bytes())?;
        }
        let event = match &self.events[now] {
            Some(event) => {
                event.record_again(stream.raw())?;
                event
            }
            None => self.events[now].insert(Arc::new(stream.record_as(Kind::Plain)?)),
        };
        Ok((place, Arc::clone(event)))
    }
}

/// The memory of ranks that have left.
#[derive(Debug, Default)]
pub(super) struct Left {
    ranks: usize,
    memory: Vec<Memory>,
    /// An event behind the last exchange of each; none if that is unknown.
    ends: Vec<Option<CudaEvent>>,
}

/// A rank leaves. The last of `ranks` frees the memory of all. Does not synchronize.
pub(super) fn leave(left: &Mutex<Left>, ranks: usize, places: Places) {
    let mut left = locked(left);
    left.ranks += 1;
    left.memory.extend(places.memory);
    left.ends.extend(places.last.map(|stream| stream.record_as(Kind::Plain).ok()));
    if left.ranks < ranks {
        return;
    }
    let Left { memory, ends, .. } = mem::take(&mut *left);
    drop(left);
    for Memory { stream, address } in memory {
        // Where the stream cannot wait, the host does; where neither can, the memory stays.
        let is_behind = |end: &CudaEvent| {
            stream.wait_on("free", end.raw()).is_ok() || matches!(end.synchronize(), Quiesced::Done)
        };
        if !ends.iter().all(|end| end.as_ref().is_some_and(is_behind)) {
            continue;
        }
        stream.context().release("free", |driver| {
            // SAFETY: allocated on this stream by `copy_source` and freed once, behind the last exchange of each
            // rank; all have left, so no other comes. The context is bound.
            unsafe { stream.free_scratch((driver, "free"), address) };
            Ok(())
        });
    }
}
