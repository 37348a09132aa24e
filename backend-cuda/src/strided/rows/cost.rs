//! What ways to copy rows that start anywhere cost: time as a share of a contiguous copy of as many
//! bytes, in hundredths. A part of it is spent on each byte, a part on each row, and a part on each
//! loop that leads to a row.
//!
//! The numbers are fitted to 24 shapes on an H200 (driver 580.159.04), of which they choose the
//! faster way for each.

use super::{
    super::{axes::Problem, kernel::Entry, tile::Scale},
    table::{PIECE_BYTES, Table},
};

/// Longer rows have so few partial chunks that joining them costs more than it saves.
const MAX_JOINED_BYTES: u32 = 2048;

/// Hundredths of the time of a contiguous copy.
fn cost(way: Entry, row_bytes: u32, loops: u32, width: u32) -> u32 {
    let (always, each_loop, row) = match way {
        // Neighbouring rows joined, each chunk by a thread that finds its row.
        Entry::RowsJoin => (100, 13, 3600),
        // The same, several chunks a thread, whose rows a table tells. Words of shorter elements are
        // shifted, and chunks with the end of a row take long.
        Entry::RowsTable if width < 4 => (106, 0, 15_000),
        Entry::RowsTable => (90, 0, 3500),
        // Row by row; both ends of each are partial chunks.
        _ => (90, 4, 6000),
    };
    always + each_loop * loops + row / row_bytes
}

/// The cheapest way. `follow`: whether rows follow each other in the destination.
pub(super) fn cheapest(problem: &Problem, scale: Scale, follow: bool, table: Option<&Table>) -> Entry {
    let row_bytes = problem.axes[0].extent * problem.width;
    // The cache puts the ends of rows of small results together, and they need many small blocks.
    if matches!(scale, Scale::Small | Scale::Middle) {
        return Entry::RowsRealign;
    }
    let other = if follow && row_bytes <= MAX_JOINED_BYTES { Entry::RowsJoin } else { Entry::RowsRealign };
    // Nothing is looked up for a row longer than what a block copies, and little of a short group.
    let table = row_bytes < PIECE_BYTES && table.is_some_and(Table::fills_blocks);
    let loops = u32::try_from(problem.axes.len() - 1).unwrap_or(u32::MAX);
    let cost = |way| cost(way, row_bytes, loops, problem.width);
    if table && cost(Entry::RowsTable) < cost(other) { Entry::RowsTable } else { other }
}
