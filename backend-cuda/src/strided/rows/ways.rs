//! Ways to copy rows that start at any alignment, and their cost: time in hundredths of the time of
//! a contiguous copy of the same size. The cost has a part for each byte, a part for each row, and
//! a part for each loop around rows.
//!
//! The numbers are fitted to 24 shapes on an H200 (driver 580.159.04), where they choose the
//! faster way for each.

use super::super::{
    kernel::Entry,
    strided_copy::{Axis, StridedCopy},
    strided_launch::THREADS,
    tile::Scale,
};

/// The number of chunks of a thread; `JOINED` in `row_table.cuh`.
pub const CHUNKS: u32 = 4;
/// Too many chunks of shorter rows are partial; at least `LEAST_ROW` in `row_table.cuh`.
pub(in crate::strided) const MIN_ROW_BYTES: u32 = 64;
/// The number of bytes of the destination that a block writes.
const PIECE_BYTES: u32 = CHUNKS * THREADS * 16;
/// Longer rows have so few partial chunks that joining them costs more than it saves.
const MAX_JOINED_BYTES: u32 = 2048;

/// Rows of one length that follow each other in the destination, in groups without gaps. A block
/// writes a piece of a group, and looks up where the rows of that piece come from.
#[derive(Debug)]
pub(super) struct Table {
    /// The bytes and the rows of a group.
    pub(super) group_bytes: u32,
    pub(super) rows: u32,
    pub(super) groups: u32,
    /// The number of blocks for a group.
    pub(super) blocks: u32,
}

impl Table {
    /// The groups over as many loops as follow each other in the destination, if there are kernels
    /// for the width.
    pub(super) fn of(copy: &StridedCopy, row_bytes: u32, outer: &[Axis]) -> Option<Self> {
        let mut group_bytes = row_bytes;
        let mut rows = 1_u32;
        let mut follow = 0;
        while let Some(next) = outer.get(follow).filter(|next| next.dst == i64::from(group_bytes)) {
            group_bytes *= next.extent;
            rows *= next.extent;
            follow += 1;
        }
        let groups = outer[follow..].iter().map(|axis| axis.extent).product::<u32>();
        let blocks = (group_bytes + 15).div_ceil(PIECE_BYTES);
        let fits = (2..=8).contains(&copy.width);
        fits.then_some(Self { group_bytes, rows, groups, blocks })
    }

    /// Whether at most a fifth of the blocks' capacity is unused at the ends of groups.
    fn fills_blocks(&self) -> bool {
        u64::from(self.group_bytes) * 5 >= u64::from(self.blocks) * u64::from(PIECE_BYTES) * 4
    }
}

/// The cost, in hundredths of the time of a contiguous copy.
fn cost(way: Entry, row_bytes: u32, loops: u32, width: u32) -> u32 {
    let (always, each_loop, row) = match way {
        // Neighbouring rows are joined; each thread copies one chunk and finds its row.
        Entry::RowsJoin => (100, 13, 3600),
        // A thread takes several chunks, and a table tells their rows. Words of shorter elements
        // are shifted, and chunks that contain the end of a row are slow.
        Entry::RowsTable if width < 4 => (106, 0, 15_000),
        Entry::RowsTable => (90, 0, 3500),
        // Row by row; both ends of each row are partial chunks.
        _ => (90, 4, 6000),
    };
    always + each_loop * loops + row / row_bytes
}

/// The cheapest way. `follow`: whether rows follow each other in the destination.
pub(super) fn cheapest(copy: &StridedCopy, scale: Scale, follow: bool, table: Option<&Table>) -> Entry {
    let row_bytes = copy.axes[0].extent * copy.width;
    // Most chunks of short rows would be partial.
    if follow && row_bytes < MIN_ROW_BYTES {
        return Entry::RowsJoin;
    }
    // The cache merges the ends of rows of small results, and small copies need many small blocks.
    if matches!(scale, Scale::Small | Scale::Middle) {
        return Entry::RowsRealign;
    }
    let other = if follow && row_bytes <= MAX_JOINED_BYTES { Entry::RowsJoin } else { Entry::RowsRealign };
    // A table is of no use for rows longer than a block's piece, and of little use for short
    // groups. Tables of short elements are limited by instructions; on fast memory, joined rows are
    // limited even more.
    let short = copy.width < 4 && scale != Scale::FastStream;
    let table = row_bytes < PIECE_BYTES && !short && table.is_some_and(Table::fills_blocks);
    let loops = u32::try_from(copy.axes.len() - 1).unwrap_or(u32::MAX);
    let cost = |way| cost(way, row_bytes, loops, copy.width);
    if table && cost(Entry::RowsTable) < cost(other) { Entry::RowsTable } else { other }
}
