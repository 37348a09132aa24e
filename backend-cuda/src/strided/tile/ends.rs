//! Where rows end although they could go on along the run.
//!
//! A matrix of few columns is one long row, and what runs along that takes no table. But such runs
//! cannot overlap: of a run that ends within a memory sector another tile writes the rest. And
//! vectors of it begin so many rows apart, which may be one bank of shared memory for all.

use super::{SECTOR_BYTES, boxes::LEAST_BOX_BYTES};
use crate::strided::{axes::Problem, launch::LINE_BYTES};

/// Whether a row of so many bytes is better left as it is, in a tile of about so many. `sectors`:
/// whether torn ones count.
pub(super) fn ends(problem: &Problem, span: u64, tile_bytes: u64, sectors: bool) -> bool {
    (sectors && tears(problem, span, tile_bytes)) || meet(problem, span, tile_bytes)
}

/// Whether every run starts at a memory sector, if each is as long as its axis.
fn whole_sectors(problem: &Problem) -> bool {
    let others = &problem.axes[1..];
    let bits = others.iter().fold(problem.dst, |bits, axis| bits | axis.dst.unsigned_abs());
    bits.is_multiple_of(SECTOR_BYTES.into())
}

/// Whether runs along the row would tear many sectors: where it has many columns, runs are short.
fn tears(problem: &Problem, span: u64, tile_bytes: u64) -> bool {
    /// Of fewer, runs are so long that their ends do not count.
    const COLUMNS: u64 = 32;
    // A tile is then a part of the run, and may overlap with the next.
    let part = u64::from(problem.axes[0].extent) * span > 2 * tile_bytes;
    span >= COLUMNS * u64::from(problem.width) && part && !whole_sectors(problem)
}

/// Whether all vectors of a run would begin in one bank, their elements being a row apart. Not if
/// gaps can be left for that, as in runs of whole sectors along one axis, nor if what that leaves
/// is too little for a block.
fn meet(problem: &Problem, span: u64, tile_bytes: u64) -> bool {
    const ROW_BYTES: u64 = 64;
    const ROW_ELEMENTS: u32 = 16;
    let run = &problem.axes[0];
    let between = run.src.unsigned_abs() * u64::from(problem.vector());
    let all = u64::from(run.extent) * span;
    let whole = whole_sectors(problem);
    let enough = if whole { 2 * LEAST_BOX_BYTES..tile_bytes * 3 / 4 } else { LEAST_BOX_BYTES..u64::MAX };
    between.is_multiple_of(LINE_BYTES.into())
        && span >= ROW_BYTES.min(u64::from(ROW_ELEMENTS * problem.width))
        && enough.contains(&all)
}
