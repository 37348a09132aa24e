//! Elements of several ranks, combined in the order of ranks.
#![allow(unsafe_code)] // computes on memory that its callers vouch for

use std::{ops::Range, ptr};

use devarray::{Layout, backend::Combining};
use devarray_function::{
    executor::Prepared,
    interpreter::{InputElements, ResultElements},
};

use super::in_pieces;
use crate::threads::Threads;

/// The elements that are combined at a time: they stay in a near cache from rank to rank.
const BLOCK_LEN: usize = 8 << 10;

/// Addresses that threads share.
struct Places<'a> {
    sources: &'a [*const u8],
    results: &'a [*mut u8],
}

// SAFETY: it holds addresses; an access to them is `unsafe` code of the caller.
unsafe impl Sync for Places<'_> {}

/// Combines a range of the elements of all sources, and writes the outcome to each result.
///
/// # Safety
///
/// The elements of the range may be read and written, and nobody else touches them in the results. A result
/// is a source or shares no byte with one.
pub(crate) unsafe fn combine(
    threads: &Threads,
    combining: &Combining,
    item_bytes: usize,
    sources: &[*const u8],
    results: &[*mut u8],
    range: Range<usize>,
) {
    let places = &Places { sources, results };
    in_pieces(threads, range.len(), BLOCK_LEN, |piece| {
        for start in piece.clone().step_by(BLOCK_LEN) {
            let block = range.start + start..range.start + piece.end.min(start + BLOCK_LEN);
            // SAFETY: passed on to the caller; blocks share no element.
            unsafe { combine_block(combining, item_bytes, places, block) }
        }
    });
}

/// Combines a block of the elements.
///
/// # Safety
///
/// The conditions of [`combine`].
unsafe fn combine_block(combining: &Combining, item_bytes: usize, places: &Places<'_>, block: Range<usize>) {
    let len = block.len();
    let Ok(line) = Layout::new(&[len], &[1], 0) else { return };
    let (offset, len_bytes) = (block.start * item_bytes, len * item_bytes);
    // A vector of words, so that elements are aligned.
    let mut outcome = vec![0_u64; len_bytes.div_ceil(size_of::<u64>())];
    let start = outcome.as_mut_ptr().cast::<u8>();
    let own = InputElements { start, layout: &line };
    let result = ResultElements { start, layout: &line };
    let sources = || places.sources.iter().map(|source| source.wrapping_add(offset));
    if let Some(first) = sources().next() {
        // SAFETY: the block lies in the source, as the caller promises, and in the outcome.
        unsafe { ptr::copy_nonoverlapping(first, start, len_bytes) }
    }
    let program = Prepared::of(combining.program());
    for other in sources().skip(1) {
        let inputs = [own, InputElements { start: other, layout: &line }];
        // SAFETY: as above; the outcome is one of the inputs, with the same layout.
        unsafe { program.run(&inputs, &[], result, 0..len) }
    }
    if let Some(finish) = combining.finish() {
        // SAFETY: as above.
        unsafe { Prepared::of(finish).run(&[own], &[], result, 0..len) }
    }
    for written in places.results {
        // SAFETY: the block lies in the result, as the caller promises; all sources have been read.
        unsafe { ptr::copy_nonoverlapping(start, written.wrapping_add(offset), len_bytes) }
    }
}
