//! Device memory as operations name it: an allocation, and a position in it.

use std::fmt;

/// The identity of an allocation on a device. Written `number.generation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct BufferId {
    /// The number of the address range among the ranges that the device has handed out, from 0.
    pub number: u64,
    /// The number of earlier allocations at this address range.
    pub generation: u64,
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.generation)
    }
}

/// A handle to device memory, as far as operations are concerned.
pub(crate) trait Allocated {
    /// The allocation that it belongs to.
    fn id(&self) -> BufferId;

    /// The position of its byte 0 in the memory of that allocation.
    fn start_bytes(&self) -> isize;

    /// The length in bytes of the memory of that allocation.
    fn bound_bytes(&self) -> usize;

    /// Whether the memory of that allocation may be larger than this handle's part.
    fn is_part(&self) -> bool;
}
