//! Device memory as operations name it: which allocation, and where in it.

use std::fmt;

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

/// A handle on device memory, as far as operations are concerned.
pub(crate) trait Allocated {
    /// Which allocation it is of.
    fn id(&self) -> BufferId;

    /// Where its position 0 lies in the memory of that number.
    fn start_bytes(&self) -> isize;

    /// Bytes of the memory of that number.
    fn bound_bytes(&self) -> usize;

    /// Whether the memory of that number may be more than this.
    fn is_part(&self) -> bool;
}
