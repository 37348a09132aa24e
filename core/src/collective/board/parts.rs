//! The boards of splits, and the ranks that are to join them.

use std::sync::{Arc, Weak};

use super::Board;

/// The new board of one color.
pub(super) struct Part {
    pub(super) board: Arc<Board>,
    color: usize,
    /// The ranks of the board that was split, in the order of ranks.
    ranks: Vec<usize>,
}

/// Where a rank is to sit.
pub(super) struct Place {
    pub(super) rank: usize,
    pub(super) ranks: usize,
}

/// A part that is left to its ranks.
pub(super) struct Known {
    board: Weak<Board>,
    ranks: Vec<usize>,
}

/// A board for each color.
pub(super) fn parts(colors: &[Option<usize>]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (rank, color) in colors.iter().enumerate() {
        let Some(color) = *color else { continue };
        match parts.iter_mut().find(|part| part.color == color) {
            Some(part) => part.ranks.push(rank),
            None => parts.push(Part { board: Arc::default(), color, ranks: vec![rank] }),
        }
    }
    parts
}

impl Part {
    pub(super) fn place(&self, rank: usize) -> Option<Place> {
        place(&self.ranks, rank)
    }

    pub(super) fn known(self) -> Known {
        Known { board: Arc::downgrade(&self.board), ranks: self.ranks }
    }
}

impl Known {
    /// Whether anybody has a seat there, or may take one.
    pub(super) fn is_there(&self) -> bool {
        self.board.strong_count() > 0
    }

    /// The board, and the place there of a rank.
    pub(super) fn of(&self, rank: usize) -> Option<(Arc<Board>, Place)> {
        Some((self.board.upgrade()?, place(&self.ranks, rank)?))
    }
}

fn place(of: &[usize], rank: usize) -> Option<Place> {
    Some(Place { rank: of.binary_search(&rank).ok()?, ranks: of.len() })
}
