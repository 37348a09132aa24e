//! Small memory that was freed on a stream and waits there to be allocated again: without the
//! driver, which takes over a microsecond to free and allocate, and as long once more on the
//! device.
//!
//! A stream reuses only memory that was freed on it, so the work that used the memory before
//! precedes the work that will. Other streams wait for its allocation, as for any other, and so for
//! all work in front of it in the stream.
//!
//! The driver's pool counts idle memory as in use. It is freed to the pool when somebody queries or
//! trims the pool or finds no room, and when the stream is closed.
#![allow(unsafe_code)] // frees memory of its own

use std::{mem, num::NonZeroUsize};

use super::RawStream;
use crate::{driver::sys::CUdeviceptr, handle::locked};

/// The most blocks of a stream, and the bytes of the largest.
const MOST_BLOCKS: usize = 8;
const MOST_BYTES: usize = 1 << 20;

/// What is idle on a stream.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// Blocks by their address and length, the one freed last at the end.
    blocks: Vec<(CUdeviceptr, NonZeroUsize)>,
    /// Whether the stream ever allocated: on one that only frees, nothing is kept.
    allocates: bool,
}

impl Idle {
    /// A block of exactly this length, the one freed last.
    pub(super) fn take(&mut self, len_bytes: NonZeroUsize) -> Option<CUdeviceptr> {
        self.allocates = true;
        let at = self.blocks.iter().rposition(|&(_, len)| len == len_bytes)?;
        Some(self.blocks.remove(at).0)
    }

    /// Keeps a block. Returns the block to free instead: this one if it is large or nobody will
    /// want it, or the one that was kept longest.
    pub(super) fn keep(&mut self, address: CUdeviceptr, len_bytes: NonZeroUsize) -> Option<CUdeviceptr> {
        if len_bytes.get() > MOST_BYTES || !self.allocates {
            return Some(address);
        }
        self.blocks.push((address, len_bytes));
        (self.blocks.len() > MOST_BLOCKS).then(|| self.blocks.remove(0).0)
    }
}

/// Frees the idle blocks of a stream. Does not synchronize.
pub(super) fn free_idle(stream: &RawStream) {
    let blocks = mem::take(&mut locked(&stream.idle).blocks);
    for (address, _) in blocks {
        stream.context.release("free", |driver| {
            // SAFETY: nobody else knows of the allocation since it was kept, and all that used it
            // is in front of this in the stream.
            unsafe { driver.mem_free_async(address, stream.raw()) }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> NonZeroUsize {
        NonZeroUsize::new(len).unwrap()
    }

    #[test]
    fn a_block_is_given_out_again_by_its_exact_length() {
        let mut idle = Idle::default();
        assert_eq!(idle.keep(9, bytes(100)), Some(9), "nothing was allocated");
        assert_eq!(idle.take(bytes(100)), None);
        for (address, len) in [(1, 100), (2, 100), (3, 101)] {
            assert_eq!(idle.keep(address, bytes(len)), None);
        }
        let mut take = |len| idle.take(bytes(len));
        assert_eq!([take(99), take(100), take(100), take(100)], [None, Some(2), Some(1), None]);
        assert_eq!([take(101), take(101)], [Some(3), None]);
    }

    #[test]
    fn only_few_and_small_blocks_are_kept() {
        let mut idle = Idle { allocates: true, ..Idle::default() };
        assert_eq!(idle.keep(7, bytes(MOST_BYTES + 1)), Some(7));
        assert_eq!(idle.take(bytes(MOST_BYTES + 1)), None);
        for address in 0..MOST_BLOCKS as u64 {
            assert_eq!(idle.keep(address, bytes(MOST_BYTES)), None);
        }
        assert_eq!(idle.keep(100, bytes(1)), Some(0), "the one kept longest goes");
        assert_eq!(idle.take(bytes(1)), Some(100));
    }
}
