//! An operation divided into pieces, which run in any order.

use std::{num::NonZeroUsize, ops::Range};

/// The most pieces into which an operation is divided.
pub(super) const MOST_PIECES: usize = 4;

/// The pieces of an operation that have not run yet: ranges of about equal size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    len_bytes: usize,
    piece_bytes: NonZeroUsize,
    /// A bit for each piece, the lowest for the first piece.
    left: u32,
}

impl Pieces {
    /// Divides `0..len_bytes` into `count` pieces, or fewer if a piece would be empty.
    pub(super) fn new(len_bytes: usize, count: usize) -> Self {
        let piece_bytes = NonZeroUsize::new(len_bytes.div_ceil(count)).unwrap_or(NonZeroUsize::MIN);
        Self { len_bytes, piece_bytes, left: (1 << len_bytes.div_ceil(piece_bytes.get())) - 1 }
    }

    /// The number of pieces that are left.
    pub(super) fn count(self) -> usize {
        self.left.count_ones() as usize
    }

    /// Takes the piece that has `before` remaining pieces in front of it; an empty range if there
    /// is none.
    pub(super) fn take(&mut self, before: usize) -> Range<usize> {
        let behind = (0..before).fold(self.left, |left, _| left & left.wrapping_sub(1));
        if behind == 0 {
            return 0..0;
        }
        let index = behind.trailing_zeros();
        self.left &= !(1 << index);
        let start = index as usize * self.piece_bytes.get();
        start..self.len_bytes.min(start + self.piece_bytes.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_byte_once_in_any_order() {
        for len_bytes in 0..30 {
            for count in 1..=MOST_PIECES {
                for choice in 0..count {
                    let mut pieces = Pieces::new(len_bytes, count);
                    let mut covered = Vec::new();
                    while pieces.count() > 0 {
                        covered.extend(pieces.take(choice.min(pieces.count() - 1)));
                    }
                    covered.sort_unstable();
                    assert_eq!(covered, (0..len_bytes).collect::<Vec<_>>());
                    assert_eq!(pieces.take(0), 0..0);
                }
            }
        }
    }

    #[test]
    fn the_piece_behind_so_many_that_are_left() {
        let mut pieces = Pieces::new(10, 4);
        assert_eq!([2, 0, 1, 0].map(|before| pieces.take(before)), [6..9, 0..3, 9..10, 3..6]);
    }
}
