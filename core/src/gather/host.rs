//! A gather in memory that the host reaches: the reference result for every backend.
#![allow(unsafe_code)] // moves elements that its caller vouches for

use super::{Direction, GatherRun, Gathering, IndexError, IndexType};

/// Where the memories of a gather start: position 0 of each layout. None needs an alignment.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "the four sides of the operation")]
pub struct GatherMemory {
    /// The array that indices count in: read by a gather, written by a scatter.
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
/// The layouts of `work` lie inside their memories, which the host may read and, on the side that
/// the direction says, write; so it may the place of a count. Nothing else uses them meanwhile, and
/// no byte is both read and written.
#[must_use]
pub unsafe fn gather_on_host(work: &Gathering<'_>, memory: GatherMemory) -> Option<IndexError> {
    let GatherMemory { indexed, indices, mask, elements } = memory;
    let read_index = |at: usize| {
        let place = indices.wrapping_add(at * work.index_type.len_bytes());
        // SAFETY: the walk asks for indices of the layout, which the caller vouches for
        unsafe { read_index(work.index_type, place) }
    };
    let mut selected = 0_i64;
    let is_chosen = |at: usize| {
        // SAFETY: the walk asks for bytes of the mask's layout, which the caller vouches for
        let is_chosen = unsafe { mask.wrapping_add(at).read() != 0 };
        selected += i64::from(is_chosen);
        is_chosen
    };
    let error = work.visit(read_index, is_chosen, |run| {
        // SAFETY: the elements of a run are of the two layouts, which the caller vouches for
        unsafe { move_run(work, indexed, elements, run) }
    });
    if work.index_type == IndexType::Counted {
        let place = indices.wrapping_add(work.indices.offset() * 8).cast::<i64>();
        // SAFETY: the place of the count, which the caller vouches for
        unsafe { place.write_unaligned(selected) }
    }
    error
}

/// # Safety
///
/// An index of the type may be read from `place`.
unsafe fn read_index(index_type: IndexType, place: *mut u8) -> i64 {
    match index_type {
        // SAFETY: as the caller promises
        IndexType::I32 => i64::from(unsafe { place.cast::<i32>().read_unaligned() }),
        // SAFETY: as the caller promises
        IndexType::U32 => i64::from(unsafe { place.cast::<u32>().read_unaligned() }),
        // SAFETY: as the caller promises
        IndexType::I64 => unsafe { place.cast::<i64>().read_unaligned() },
        // The walk counts by itself.
        IndexType::Counted => 0,
    }
}

/// # Safety
///
/// The elements of the run may be read on the one side and written on the other.
unsafe fn move_run(work: &Gathering<'_>, indexed: *mut u8, elements: *mut u8, run: GatherRun) {
    let width = work.width_bytes;
    let place = |start: *mut u8, first: usize, stride: isize, at: usize| {
        let steps = stride.wrapping_mul(at.cast_signed()).wrapping_mul(width.cast_signed());
        start.wrapping_add(first * width).wrapping_offset(steps)
    };
    for at in 0..run.len {
        let element = place(elements, run.element, run.element_stride, at);
        let Some(first) = run.indexed else {
            if work.direction == Direction::Gather {
                // SAFETY: an element of the result, as the caller promises
                unsafe { element.write_bytes(0, width) }
            }
            continue;
        };
        let named = place(indexed, first, run.indexed_stride, at);
        let (from, to) = match work.direction {
            Direction::Gather => (named, element),
            Direction::Scatter => (element, named),
        };
        // SAFETY: an element of each side, which share no byte, as the caller promises
        unsafe { to.copy_from_nonoverlapping(from, width) }
    }
}
