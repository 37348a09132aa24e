//! Sizes that plans and texts of reductions share.

use devarray::backend::DeviceProperties;

use crate::function::text::BLOCK;

/// Threads of a warp, and warps of a block.
pub(super) const WARP: usize = 32;
pub(super) const WARPS: usize = BLOCK as usize / WARP;

/// Elements that a thread takes side by side.
pub(super) const SIDE: usize = 4;

/// Blocks of a multiprocessor: 64 registers for each thread.
pub(super) const RESIDENT: u32 = 4;

/// Most instructions of the program that are written one after another.
pub(super) const INSTRUCTIONS: u64 = 1_024;

/// Tiles of a group, whose totals a tile looks back at one by one.
pub(super) const GROUP: u64 = BLOCK as u64;

/// Most shared memory that a kernel of rows that are reduced twice declares besides its rows: 8 bytes
/// for each warp, and 16 for each row. A block has at most one row for each thread.
const DECLARED_BYTES: u64 = 8 * (BLOCK as u64 / 32) + 2 * 8 * BLOCK as u64;

/// Most dynamic shared memory of a block, beside the memory that texts declare.
pub(in crate::function) fn dynamic_bytes(properties: &DeviceProperties) -> u64 {
    let all = properties.max_block_shared_memory_bytes as u64;
    all.saturating_sub(DECLARED_BYTES)
}

/// The most rows times segments of one launch. Kernels count them by 32 bits.
pub(super) const UNITS: u64 = 1 << 30;

/// A number of threads, lanes or elements of a block.
pub(super) fn small(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
