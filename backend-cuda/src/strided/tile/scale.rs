//! The work of one block and of one thread.

use crate::strided::{MemorySpeed, kernel::Find};

/// The size class of a copy. Large copies are fastest with two vectors for each thread and about
/// 500 threads in a block: enough loads are under way, and few blocks have to start. Small copies
/// need many small blocks with little work each, so that every multiprocessor has some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strided) enum Scale {
    /// At most one vector for each thread that the largest devices can run at a time (2^18).
    Small,
    /// A few times that.
    Middle,
    /// More than that.
    Large,
    /// More than caches hold: neither the source nor the result stays there.
    Stream,
    /// Like `Stream`, on a device with [fast](MemorySpeed::Fast) memory.
    FastStream,
}

pub(super) const KIB: u64 = 1 << 10;

/// The target sizes of a tile in bytes: a row of the source, a run of the destination, and shared
/// memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) row_bytes: u64,
    pub(super) run_bytes: u64,
    pub(super) tile_bytes: u64,
}

impl Scale {
    /// The scale of a copy of `len_bytes`.
    pub(in crate::strided) fn of(len_bytes: usize, memory: MemorySpeed) -> Self {
        const MIB: usize = 1 << 20;
        match (len_bytes.div_ceil(MIB), memory) {
            (..=4, _) => Self::Small,
            (..=16, _) => Self::Middle,
            (..=64, _) => Self::Large,
            (_, MemorySpeed::Even) => Self::Stream,
            (_, MemorySpeed::Fast) => Self::FastStream,
        }
    }

    /// The target sizes of tiles for elements of this width.
    pub(super) fn size(self, width: u32) -> Size {
        let (row_bytes, run_bytes, tile_bytes) = match (self, width) {
            (Self::Small, 1) => (64, 64, 4 * KIB),
            (Self::Small, 2) => (64, 128, 4 * KIB),
            (Self::Small, _) => (128, 128, 4 * KIB),
            (Self::Middle, 1) => (64, 128, 8 * KIB),
            (Self::Middle, 2) => (128, 128, 8 * KIB),
            (Self::Middle, _) => (128, 256, 8 * KIB),
            (_, 1) => (128, 128, 16 * KIB),
            (_, 2) => (256, 128, 16 * KIB),
            (_, _) => (256, 256, 16 * KIB),
        };
        Size { row_bytes, run_bytes, tile_bytes }
    }

    /// The fewest 16-byte vectors that a thread loads or stores, depending on how their elements
    /// are found. `bytes`: elements have one byte, so a vector takes sixteen accesses. `shifted`:
    /// the place of each element is computed separately. More vectors make smaller blocks, and more blocks run
    /// at a time.
    pub(super) fn vectors(self, find: Find, bytes: bool, shifted: bool) -> u32 {
        match (self, find) {
            (Self::Small, _) => 1,
            (Self::FastStream, Find::Split(runs)) => runs.max(3),
            (_, Find::Table) if bytes => 5,
            (Self::Middle, Find::Linear | Find::Periodic) if bytes => 3,
            (_, Find::Linear | Find::Periodic) if bytes => 4,
            (Self::FastStream, Find::Table) if shifted => 4,
            (_, Find::Table) if shifted => 3,
            (Self::FastStream, Find::Table | Find::Linear | Find::Periodic | Find::Packed) => 3,
            _ => 2,
        }
    }
}
