//! Ends rows before an axis along which the run goes on.
//!
//! A matrix of few columns is one long row, and runs along it need no table. But such runs cannot
//! overlap: if a run ends within a memory sector, another tile writes the rest of the sector. And
//! the vectors of such a run begin a fixed number of rows apart, which may be in the same bank of
//! shared memory for all of them.

use super::sizes::{LEAST_BOX_BYTES, SECTOR_BYTES};
use crate::strided::{strided_copy::StridedCopy, strided_launch::LINE_BYTES};

/// Whether a row should end after `span` bytes, in a tile of about `tile_bytes`. `sectors`: whether
/// sectors that tiles share count.
pub(super) fn should_end(copy: &StridedCopy, span: u64, tile_bytes: u64, sectors: bool) -> bool {
    (sectors && tears(copy, span, tile_bytes)) || meet(copy, span, tile_bytes)
}

/// Whether every run starts at a memory sector, if each is as long as its axis.
fn whole_sectors(copy: &StridedCopy) -> bool {
    let others = &copy.axes[1..];
    let bits = others.iter().fold(copy.at.dst, |bits, axis| bits | axis.dst.unsigned_abs());
    bits.is_multiple_of(SECTOR_BYTES.into())
}

/// Whether runs along the row would share many sectors with other tiles: with many columns, runs
/// are short.
fn tears(copy: &StridedCopy, span: u64, tile_bytes: u64) -> bool {
    /// With fewer columns, runs are so long that their ends do not matter.
    const COLUMNS: u64 = 32;
    // A tile may have twice the bytes it aims at. It then has only a part of the run, and may
    // overlap with the next tile.
    let part = u64::from(copy.axes[0].extent) * span > 2 * tile_bytes;
    span >= COLUMNS * u64::from(copy.width) && part && !whole_sectors(copy)
}

/// Whether all vectors of a run would begin in one bank, because their elements are a row apart.
/// Not if gaps between rows can prevent that, as for runs of whole sectors along one axis, and not
/// if a block would have too little work.
fn meet(copy: &StridedCopy, span: u64, tile_bytes: u64) -> bool {
    /// Rows end only from this length on: two sectors, or as many elements as the longest vector
    /// has.
    const ROW_BYTES: u64 = 2 * SECTOR_BYTES as u64;
    const ROW_ELEMENTS: u32 = 16;
    let run = &copy.axes[0];
    let between = run.src.unsigned_abs() * u64::from(copy.vector());
    let all = u64::from(run.extent) * span;
    let whole = whole_sectors(copy);
    // Runs of whole sectors leave gaps instead, except in a box that is worth two blocks and too
    // small for a tile (`boxes::fit`).
    let enough = if whole { 2 * LEAST_BOX_BYTES..tile_bytes * 3 / 4 } else { LEAST_BOX_BYTES..u64::MAX };
    between.is_multiple_of(LINE_BYTES.into())
        && span >= ROW_BYTES.min(u64::from(ROW_ELEMENTS * copy.width))
        && enough.contains(&all)
}
