//! A handle on device memory.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{fmt, sync::Arc};

use devarray::backend::Buffer;

use crate::device::Shared;

/// Which allocation of a device this is. Written `number.generation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct BufferId {
    /// Number of the address range among those the device has handed out, from 0.
    pub number: u64,
    /// How many allocations had this address range before.
    pub generation: u64,
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.generation)
    }
}

/// Simulated device memory. Its address is in a range that no host maps, and is a multiple of 256
/// but not of 512.
pub struct MockBuffer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: BufferId,
    pub(crate) len_bytes: usize,
    pub(crate) address: u64,
    /// The memory it is part of, if that is more than itself.
    pub(crate) within: Option<Within>,
}

/// Where a buffer lies in the memory that it was adopted from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within {
    /// Where it starts, which may be before the memory does.
    pub(crate) start_bytes: isize,
    /// Bytes of the memory.
    pub(crate) len_bytes: usize,
}

impl MockBuffer {
    /// A second handle on the same memory, for programs that use it after its free. The simulator
    /// defines the effect of such use, and finds it.
    #[must_use]
    pub fn twin(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ..*self }
    }

    /// Where position 0 lies in the memory of this number.
    pub(crate) fn start_bytes(&self) -> isize {
        self.within.map_or(0, |within| within.start_bytes)
    }

    /// Bytes of the memory of this number.
    pub(crate) fn bound_bytes(&self) -> usize {
        self.within.map_or(self.len_bytes, |within| within.len_bytes)
    }

    /// Which allocation of its device this is; reports and [poison](crate::Poison) name it.
    #[must_use]
    pub fn id(&self) -> BufferId {
        self.id
    }
}

// SAFETY: nothing writes the fields after `alloc` made them. The engine hands an address range out
// again only after the free that consumed its last owner has run, ranges of live buffers are
// disjoint, and their starts are multiples of 256. There is no `Drop`.
unsafe impl Buffer for MockBuffer {
    fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    fn address(&self) -> u64 {
        self.address
    }
}
