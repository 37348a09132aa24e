//! Lines to be sorted, and their destination.

use devarray::function::ElementType;

/// Elements of a block that sorts short lines, by the kernel.
pub(super) const ROW_TILES: [u64; 3] = [256, 1024, 3072];

/// Elements of the longest line that a block sorts.
pub(super) const ROWS_LEN: u64 = ROW_TILES[2];

/// Lines of one length and type, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub(super) of: ElementType,
    pub(super) from: u64,
    pub(super) len: u64,
    pub(super) count: u64,
    /// Whether the greatest comes first.
    pub(super) turned: bool,
}

/// The destination of sorted lines.
#[derive(Clone, Copy, Default)]
pub(super) struct Sorted {
    /// Elements, if wanted.
    pub(super) elements: Option<u64>,
    /// Their positions in their line, if wanted: i64, or u32 if `narrow`.
    pub(super) positions: Option<u64>,
    pub(super) narrow: bool,
    /// Words that move with the elements in place of positions.
    pub(super) payload: Option<u64>,
    /// If only the first elements of each line are wanted, their number. Only for lines that a
    /// block sorts.
    pub(super) taken: Option<u64>,
}

impl Lines {
    /// Whether they are so long that counting digits is faster than comparing.
    pub(super) fn are_long(self) -> bool {
        self.len > ROWS_LEN && u32::try_from(self.len).is_ok()
    }

    /// Whether their first `k` are selected: keys and positions fit one word, and the taken are few.
    pub(super) fn takes(self, k: u64) -> bool {
        self.are_long() && matches!(self.of.len_bytes(), 2 | 4) && k <= self.len / 8
    }
}
