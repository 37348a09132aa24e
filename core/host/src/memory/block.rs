//! One block of memory.

use std::ptr::NonNull;

use super::pages::Pages;

/// The origin of a block, to which it returns.
#[derive(Debug)]
pub(crate) enum Block {
    /// A part of pages that are shared by small blocks of one class.
    Small { start: NonNull<u8>, class: usize, len_bytes: usize },
    /// Pages that only this block has.
    Large { pages: Pages, len_bytes: usize },
}

impl Block {
    /// Its first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        match self {
            Self::Small { start, .. } => *start,
            Self::Large { pages, .. } => pages.start(),
        }
    }

    /// The number of bytes that were asked for.
    pub(crate) fn len_bytes(&self) -> usize {
        match *self {
            Self::Small { len_bytes, .. } | Self::Large { len_bytes, .. } => len_bytes,
        }
    }
}
