//! How much one block and one thread do.

use crate::strided::MemorySpeed;

/// A copy by its size. Large ones are fastest when a thread has two vectors under way and a block
/// half a thousand threads: enough to hide the memory behind, and few enough blocks to begin. A
/// small copy is over before that matters: it needs many small blocks, so that every multiprocessor
/// has some, and a short way through each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strided) enum Scale {
    /// One vector a thread is all there is: 2^18 threads, about what the largest devices have at a
    /// time.
    Small,
    /// A few times that.
    Middle,
    /// More.
    Large,
    /// More than caches hold: nothing that is read comes back, and nobody finds the result there.
    Stream,
    /// The same, from and to [fast](MemorySpeed::Fast) memory.
    FastStream,
}

/// What a vector of a run is put together from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vector {
    /// Words that hold elements of several runs.
    Words,
    /// Elements, found by a step or a table that is read in vectors as well.
    Elements,
    /// Elements, each looked up in a table by itself.
    Table,
    /// Elements of one byte: sixteen accesses, beside which beginning a thread should not count.
    Bytes,
    /// The same, looked up in a table as well.
    ByteTable,
    /// A vector of each of so many runs, picked apart.
    Split(u32),
}

/// What a tile aims at: bytes of a source row, of a destination run, and of shared memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) row_bytes: u64,
    pub(super) run_bytes: u64,
    pub(super) tile_bytes: u64,
}

impl Scale {
    /// The scale of a copy of so many bytes.
    pub(in crate::strided) fn of(len_bytes: usize, memory: MemorySpeed) -> Self {
        const MIB: usize = 1 << 20;
        if len_bytes <= 4 * MIB {
            Self::Small
        } else if len_bytes <= 16 * MIB {
            Self::Middle
        } else if len_bytes <= 64 * MIB {
            Self::Large
        } else {
            match memory {
                MemorySpeed::Even => Self::Stream,
                MemorySpeed::Fast => Self::FastStream,
            }
        }
    }

    /// What tiles of elements of a width aim at.
    pub(super) fn size(self, width: u32) -> Size {
        let (row_bytes, run_bytes) = match (self, width) {
            (Self::Small, 1) => (64, 64),
            (Self::Small, 2) => (64, 128),
            (Self::Small, _) => (128, 128),
            (Self::Middle, 1) => (64, 128),
            (Self::Middle, 2) => (128, 128),
            (Self::Middle, _) => (128, 256),
            (_, 1) => (128, 128),
            (_, 2) => (256, 128),
            (_, _) => (256, 256),
        };
        let tile_bytes = match self {
            Self::Small => 4 << 10,
            Self::Middle => 8 << 10,
            Self::Large | Self::Stream | Self::FastStream => 16 << 10,
        };
        Size { row_bytes, run_bytes, tile_bytes }
    }

    /// Vectors of 16 bytes a thread loads, or stores, at least. More make smaller blocks, of which
    /// more are under way.
    pub(super) fn vectors(self, vector: Vector) -> u32 {
        match (self, vector) {
            (Self::Small, _) => 1,
            (Self::FastStream, Vector::Split(runs)) => runs.max(3),
            (_, Vector::ByteTable) => 5,
            (Self::Middle, Vector::Bytes) => 3,
            (_, Vector::Bytes) | (Self::FastStream, Vector::Table) => 4,
            (_, Vector::Table) | (Self::FastStream, Vector::Elements | Vector::Words) => 3,
            _ => 2,
        }
    }
}
