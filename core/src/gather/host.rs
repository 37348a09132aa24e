//! Gathers in memory that the host reaches.
//!
//! Positions are taken in row-major order, a block of an inner axis at a time: first the indices of
//! the block become distances in bytes, by a loop for their type, then elements move, by a loop for
//! their width. [`Gathering::visit`] says in few lines what these loops do.
#![allow(unsafe_code)] // moves elements that its caller vouches for
mod walk;

use std::ops::Range;

use walk::{BLOCK, Walk};

use super::{Direction, Gathering, IndexError, IndexType};

/// Where a gather's memories start: position 0 of each layout. None needs an alignment.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "the four sides of the operation")]
pub struct GatherMemory {
    /// The array that indices select in: read by a gather, written by a scatter.
    pub indexed: *mut u8,
    /// The indices: read, or the count, which is written.
    pub indices: *mut u8,
    /// The mask; any pointer, if there is none.
    pub mask: *const u8,
    /// The elements: written by a gather, read by a scatter.
    pub elements: *mut u8,
}

/// Does a gather or scatter in the calling thread. Returns the first index out of range, if that is
/// an error.
///
/// # Safety
///
/// The layouts of `work` lie inside their memories. The host may read them, and may write the side
/// that the direction names and the place of a count. Nothing else uses them meanwhile, and no byte
/// is both read and written.
#[must_use]
pub unsafe fn gather_on_host(work: &Gathering<'_>, memory: GatherMemory) -> Option<IndexError> {
    // SAFETY: as the caller promises
    unsafe { gather_range_on_host(work, memory, 0..work.picks()) }
}

/// Does a range of the [picks](Gathering::picks) of a gather or scatter in the calling thread, so that
/// several threads can share one. The error of the operation is the one at the least position among the
/// errors of all ranges.
///
/// Threads may take any ranges of a gather. They may take ranges of a scatter that begin and end at
/// multiples of its [`picks_in_order`](Gathering::picks_in_order), or
/// [shares](scatter_share_on_host). A selection by a mask counts from its first position on, so its
/// only range is the whole.
///
/// # Panics
///
/// The range reaches beyond the picks, or is only a part of a selection by a mask.
///
/// # Safety
///
/// The conditions of [`gather_on_host`], for the positions of the range.
#[must_use]
pub unsafe fn gather_range_on_host(
    work: &Gathering<'_>,
    memory: GatherMemory,
    range: Range<usize>,
) -> Option<IndexError> {
    // SAFETY: as the caller promises
    unsafe { part_on_host(work, memory, range, None) }
}

/// Does the part of a scatter that writes to share number `share` of `of` shares of the indexed
/// array. Threads may take the shares: no two write to one element, and each element still gets the
/// value whose index comes last. Each share reads all indices, and returns the operation's error.
///
/// # Panics
///
/// The operation is a gather or a selection by a mask, or `share` is not below `of`.
///
/// # Safety
///
/// The conditions of [`gather_on_host`], for the elements of the share.
#[must_use]
pub unsafe fn scatter_share_on_host(
    work: &Gathering<'_>,
    memory: GatherMemory,
    share: usize,
    of: usize,
) -> Option<IndexError> {
    assert!(work.direction == Direction::Scatter, "a gather is shared by ranges");
    assert!(work.index_type != IndexType::Counted, "a selection is done whole");
    assert!(share < of, "a share of all");
    let share = work.distances_of_share(share, of);
    // SAFETY: as the caller promises
    unsafe { part_on_host(work, memory, 0..work.picks(), Some(share)) }
}

/// Does a range of picks. With a share, only the picks whose distances are in it.
///
/// # Safety
///
/// The conditions of [`gather_on_host`], for these elements.
unsafe fn part_on_host(
    work: &Gathering<'_>,
    memory: GatherMemory,
    range: Range<usize>,
    share: Option<Range<i64>>,
) -> Option<IndexError> {
    let picks = work.picks();
    assert!(range.end <= picks, "the range lies in the picks");
    let is_counted = work.index_type == IndexType::Counted;
    assert!(!is_counted || range == (0..picks), "a selection is done whole");
    let mut walk = Walk::new(work, memory);
    walk.share = share;
    let inner = walk.inner.extent;
    let mut at = range.start;
    while at < range.end {
        let len = BLOCK.min(inner - at % inner).min(range.end - at);
        // SAFETY: as the caller promises
        unsafe { walk.block(at / inner, at % inner, len) };
        at += len;
    }
    if is_counted {
        let place = memory.indices.wrapping_add(work.indices.offset() * 8).cast::<i64>();
        // SAFETY: the place of the count, which the caller vouches for
        unsafe { place.write_unaligned(walk.selected) }
    }
    walk.error
}
