//! What ways to copy rows that start anywhere cost: time as a share of a contiguous copy of as many
//! bytes, in hundredths. A part of it is spent on each byte, a part on each row, and a part on each
//! loop that leads to a row.
//!
//! The numbers are fitted to 24 shapes on an H200 (driver 580.159.04), of which they choose the
//! faster way for each.

use super::{
    super::tile::Scale,
    table::{PIECE_BYTES, Table},
};

/// How rows are copied whose starts are not multiples of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Row by row; both ends of each are partial chunks.
    Realign,
    /// Neighbouring rows joined, each chunk by a thread that finds its row.
    Join,
    /// The same, several chunks a thread, whose rows a table tells.
    Table,
}

/// Longer rows have so few partial chunks that joining them costs more than it saves.
const MAX_JOINED_BYTES: u32 = 2048;

/// Hundredths of the time of a contiguous copy.
fn cost(way: Way, row_bytes: u32, loops: u32, width: u32) -> u32 {
    let (always, each_loop, row) = match way {
        Way::Realign => (90, 4, 6000),
        Way::Join => (100, 13, 3600),
        // Words of shorter elements are shifted, and chunks with the end of a row take long.
        Way::Table if width < 4 => (106, 0, 15_000),
        Way::Table => (90, 0, 3500),
    };
    always + each_loop * loops + row / row_bytes
}

/// The cheapest way, for this many loops around rows. `follow`: whether rows follow each other in the
/// destination.
pub(super) fn cheapest(
    scale: Scale,
    row_bytes: u32,
    loops: usize,
    follow: bool,
    table: Option<&Table>,
) -> Way {
    // The cache puts the ends of rows of small results together, and they need many small blocks.
    if matches!(scale, Scale::Small | Scale::Middle) {
        return Way::Realign;
    }
    let other = if follow && row_bytes <= MAX_JOINED_BYTES { Way::Join } else { Way::Realign };
    // Nothing is looked up for a row longer than what a block copies, and little of a short group.
    let table = table.filter(|table| row_bytes < PIECE_BYTES && table.fills_blocks());
    let loops = u32::try_from(loops).unwrap_or(u32::MAX);
    let of = |way, width| cost(way, row_bytes, loops, width);
    match table {
        Some(table) if of(Way::Table, table.width) < of(other, table.width) => Way::Table,
        _ => other,
    }
}
