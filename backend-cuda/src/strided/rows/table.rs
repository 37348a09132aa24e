//! Rows that follow each other in the destination: a block has a piece of it, and looks up where
//! the rows of that piece come from.

use super::{
    super::{
        axes::{Axis, Problem},
        launch::THREADS,
    },
    MIN_ROW_BYTES,
};

/// Chunks of a thread; `JOINED` in `row_table.cuh`.
pub const CHUNKS: u32 = 4;
/// Bytes of the destination that a block writes.
pub(super) const PIECE_BYTES: u32 = CHUNKS * THREADS * 16;

/// Rows of one length, in groups without gaps.
#[derive(Debug)]
pub(super) struct Table {
    /// Bytes of a group, and rows of it.
    pub(super) group_bytes: u32,
    pub(super) rows: u32,
    pub(super) groups: u32,
    /// Blocks of a group.
    pub(super) blocks: u32,
}

impl Table {
    /// Groups over as many loops as follow each other in the destination, if there are two rows and
    /// more, each long enough for an entry.
    pub(super) fn of(problem: &Problem, row_bytes: u32, outer: &[Axis]) -> Option<Self> {
        let mut group_bytes = row_bytes;
        let mut rows = 1_u32;
        let mut follow = 0;
        while let Some(next) = outer.get(follow).filter(|next| next.dst == i64::from(group_bytes)) {
            group_bytes = group_bytes.checked_mul(next.extent)?;
            rows *= next.extent;
            follow += 1;
        }
        let groups = outer[follow..].iter().map(|axis| axis.extent).product::<u32>();
        let blocks = (group_bytes + 15).div_ceil(PIECE_BYTES);
        let fits = rows > 1 && (2..=8).contains(&problem.width) && row_bytes >= MIN_ROW_BYTES;
        let counted = groups.checked_mul(blocks).is_some_and(|blocks| blocks < 1 << 31);
        (fits && counted).then_some(Self { group_bytes, rows, groups, blocks })
    }

    /// Whether at most a fifth of what blocks could copy is missing at the ends of groups.
    pub(super) fn fills_blocks(&self) -> bool {
        u64::from(self.group_bytes) * 5 >= u64::from(self.blocks) * u64::from(PIECE_BYTES) * 4
    }
}
