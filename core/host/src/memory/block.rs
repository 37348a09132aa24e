//! One block of memory.

use std::ptr::NonNull;

use super::pages::Pages;

/// Where a block came from, and goes to.
#[derive(Debug)]
pub(crate) enum Block {
    /// A part of pages that are shared by small blocks of one class.
    Small { start: NonNull<u8>, class: usize, len_bytes: usize },
    /// Pages of its own.
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

    /// Bytes that were asked for.
    pub(crate) fn len_bytes(&self) -> usize {
        match *self {
            Self::Small { len_bytes, .. } | Self::Large { len_bytes, .. } => len_bytes,
        }
    }
}
