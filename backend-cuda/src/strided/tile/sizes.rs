//! Sizes and limits that the steps of laying out a tile share.

/// The bytes of a memory sector. If tiles may overlap, runs start at a multiple of it.
pub(in crate::strided) const SECTOR_BYTES: u32 = 32;

/// The bytes that a thread copies to shared memory at once.
pub(super) const CHUNK_BYTES: u32 = 16;
/// The four-byte words that a thread stores at once.
pub(super) const VECTOR_WORDS: u32 = 4;

/// A smaller box is not worth a block.
pub(super) const LEAST_BOX_BYTES: u64 = 2 << 10;

/// With fewer rows, a permutation costs more than it gains.
pub(super) const FEW_ROWS: u32 = 8;

/// A longer table takes every block too long to fill.
pub(super) const MAX_TABLE: u32 = 2048;

/// From this attempt on, rows have no gaps, so that tables are short enough to repeat.
pub(super) const WITHOUT_GAPS: u32 = 3;
