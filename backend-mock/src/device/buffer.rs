//! A handle to device memory.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::sync::Arc;

use devarray::backend::Buffer;

use super::shared::Shared;
use crate::allocation::{Allocated, BufferId};

/// Simulated device memory. Its address is in a range that no host maps, and is a multiple of 256
/// but not of 512.
pub struct MockBuffer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: BufferId,
    pub(crate) len_bytes: usize,
    pub(crate) address: u64,
    /// The memory that it is part of, if that is larger.
    pub(crate) within: Option<Within>,
}

/// The position of a buffer in the memory that it was adopted from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within {
    /// The byte at which it starts, which may be before the memory.
    pub(crate) start_bytes: isize,
    /// The length of the memory in bytes.
    pub(crate) len_bytes: usize,
}

impl MockBuffer {
    /// A second handle to the same memory, for programs that use it after it is freed. The
    /// simulator defines the effect of such use, and reports it.
    #[must_use]
    pub fn twin(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ..*self }
    }

    /// The identity of the allocation on its device; reports and [poison](crate::Poison) name it.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.id
    }
}

impl Allocated for MockBuffer {
    fn id(&self) -> BufferId {
        self.id
    }

    fn start_bytes(&self) -> isize {
        self.within.map_or(0, |within| within.start_bytes)
    }

    fn bound_bytes(&self) -> usize {
        self.within.map_or(self.len_bytes, |within| within.len_bytes)
    }

    fn is_part(&self) -> bool {
        self.within.is_some()
    }
}

// SAFETY: nothing writes the fields after `alloc` has set them. The engine hands out an address
// range again only after the free that consumed its last owner has run, ranges of live buffers are
// disjoint, and their starts are multiples of 256. There is no `Drop`.
unsafe impl Buffer for MockBuffer {
    fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    fn address(&self) -> u64 {
        self.address
    }
}
