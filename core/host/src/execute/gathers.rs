//! Gathers and scatters, in pieces that threads share.
//!
//! A gather is cut by its indices. A scatter is cut so that pieces write different elements: by its first
//! axes, or by shares of the indexed array, where each share looks at all indices. So the last index is put
//! last, and no two threads write one element, whatever the indices are.
#![allow(unsafe_code)] // computes on memory that its callers vouch for

use std::{
    ops::Range,
    ptr,
    sync::{Mutex, PoisonError},
};

use devarray::{
    backend::GatherOp,
    gather::{
        Direction, GatherMemory, Gathering, IndexError, IndexType, gather_on_host, gather_range_on_host,
        scatter_share_on_host,
    },
};

use crate::{memory::DeviceMemory, threads::Threads};

/// The bytes of a piece, about: at least some ten microseconds of work.
const PIECE_BYTES: usize = 128 << 10;
/// The cost of an index, in bytes, whatever it moves.
const INDEX_BYTES: usize = 8;

/// Memory that threads share.
struct Shared(GatherMemory);

// SAFETY: it holds addresses; an access to them is `unsafe` code of the caller.
unsafe impl Sync for Shared {}

/// The way in which threads share the work.
#[derive(Debug, PartialEq, Eq)]
enum Parts {
    /// One thread does it all.
    Whole,
    /// Ranges with this number of picks each.
    Ranges(usize),
    /// This number of shares of the indexed array.
    Shares(usize),
}

impl Parts {
    fn of(work: &Gathering<'_>, threads: usize) -> Self {
        let picks = work.picks();
        let len_bytes = work.elements.len() * work.width_bytes + picks * INDEX_BYTES;
        if threads == 1 || len_bytes <= PIECE_BYTES || work.index_type == IndexType::Counted {
            return Self::Whole;
        }
        let piece = (picks * PIECE_BYTES / len_bytes).max(1);
        let group = if work.direction == Direction::Gather { 1 } else { work.picks_in_order() };
        if picks / group >= threads {
            return Self::Ranges(piece.next_multiple_of(group));
        }
        match work.direction {
            Direction::Gather if picks == 1 => Self::Whole,
            Direction::Gather => Self::Ranges(piece),
            Direction::Scatter => Self::Shares(threads.min(work.bound()).max(1)),
        }
    }
}

/// Gathers elements or scatters them. Returns the first index out of range, if that is an error.
///
/// # Safety
///
/// The operands' elements may be read and written; nobody else writes the inputs or touches the result.
pub(crate) unsafe fn gather(threads: &Threads, op: &GatherOp<'_, DeviceMemory>) -> Option<IndexError> {
    let start = |memory: &DeviceMemory| memory.at(0);
    let memory = GatherMemory {
        indexed: start(op.indexed()),
        indices: start(op.indices()),
        mask: op.mask().map_or(ptr::null(), |mask| mask.at(0).cast_const()),
        elements: start(op.elements()),
    };
    // SAFETY: passed on to the caller.
    unsafe { in_parts(threads, op.work(), memory, &Parts::of(op.work(), threads.count())) }
}

/// # Safety
///
/// The conditions of [`gather_on_host`]; no two parts write to one element.
unsafe fn in_parts(
    threads: &Threads,
    work: &Gathering<'_>,
    memory: GatherMemory,
    parts: &Parts,
) -> Option<IndexError> {
    let (shared, first) = (Shared(memory), Mutex::new(None::<IndexError>));
    let note = |found: Option<IndexError>| {
        let Some(found) = found else { return };
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none_or(|first| found.position < first.position) {
            *first = Some(found);
        }
    };
    match *parts {
        // SAFETY: as the caller promises.
        Parts::Whole => return unsafe { gather_on_host(work, memory) },
        Parts::Ranges(len) => {
            let (picks, shared) = (work.picks(), &shared);
            threads.run(picks.div_ceil(len), |piece| {
                let range: Range<usize> = piece * len..picks.min((piece + 1) * len);
                // SAFETY: as the caller promises.
                note(unsafe { gather_range_on_host(work, shared.0, range) });
            });
        }
        Parts::Shares(of) => {
            let shared = &shared;
            // SAFETY: as the caller promises; shares have no element in common.
            threads.run(of, |share| note(unsafe { scatter_share_on_host(work, shared.0, share, of) }));
        }
    }
    first.into_inner().unwrap_or_else(PoisonError::into_inner)
}
