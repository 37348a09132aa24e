//! Sizes and limits that the steps of laying out a tile share.

/// Bytes of a memory sector. Where tiles may overlap, runs start on a boundary of one.
pub(in crate::strided) const SECTOR_BYTES: u32 = 32;

/// Bytes that a thread copies to shared memory at once.
pub(super) const CHUNK_BYTES: u32 = 16;
/// Words of four bytes that it stores at once.
pub(super) const VECTOR_WORDS: u32 = 4;

/// Smaller boxes are not worth a block.
pub(super) const LEAST_BOX_BYTES: u64 = 2 << 10;

/// With fewer rows a permutation does not pay.
pub(super) const FEW_ROWS: u32 = 8;

/// Longer tables take every block too long to fill.
pub(super) const MAX_TABLE: u32 = 2048;

/// From this attempt on, rows have no gaps, so that tables are short enough to repeat.
pub(super) const WITHOUT_GAPS: u32 = 3;
