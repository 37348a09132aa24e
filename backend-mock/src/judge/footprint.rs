//! The part of an operation that the judge is told: the bytes and memories that it touches, and
//! how. Never their content.

use std::ops::Range;

use devarray::copy::Plan;
use smallvec::SmallVec;

use super::bytes::Bytes;
use crate::{allocation::BufferId, finding::Access};

/// An operation, as far as the judge needs it.
pub(crate) trait Footprint {
    /// The kind of work.
    fn kind(&self) -> Kind<'_>;

    /// Its touches, the memory that is read before the memory that is written. An allocation or a
    /// free touches all of its memory.
    fn touches(&self) -> SmallVec<[Touch; 2]>;

    /// Whether two of its touches may share bytes: the touches of one kernel argument, or of a
    /// function's result and an input that it replaces.
    fn may_share(&self, before: usize, at: usize) -> bool;

    /// The positions in [`touches`](Self::touches) of writes that may leave out some of their bytes, as it
    /// turns out at run time: of a scatter, or of a result whose rows are counted.
    fn partial(&self) -> SmallVec<[usize; 1]>;

    /// The name of the kernel argument that belongs to this position in [`touches`](Self::touches).
    fn argument(&self, at: usize) -> Option<&'static str>;
}

/// The effect of an operation on the bytes that it touches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// Nothing: it records an event, or waits for one.
    Order,
    /// It makes memory usable.
    Alloc { buffer: BufferId, len_bytes: usize },
    /// It frees memory.
    Free(BufferId),
    /// It copies from device memory to device memory.
    Copy(&'a Plan),
    /// It copies bytes to the host.
    Download,
    /// It reads inputs, and writes a result.
    Compute,
    /// It reads the elements that indices name, and writes them elsewhere.
    Gather,
    /// It writes the elements that indices or a mask name, and may leave out others.
    Scatter,
    /// It does what a kernel declares.
    Launch,
    /// It does not read values: a fill, an upload, a prefetch.
    Other,
}

/// Bytes that an operation touches.
#[derive(Debug, Clone)]
pub(crate) struct Touch {
    pub(crate) place: Place,
    pub(crate) bytes: Bytes,
    pub(crate) access: Access,
}

/// A memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Device(BufferId),
    /// The host's memory as a whole, by address.
    Host,
}

impl Touch {
    /// Whether the order of the two matters.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        (self.access != Access::Read || other.access != Access::Read)
            && self.place == other.place
            && self.bytes.meets(&other.bytes)
    }

    pub(crate) fn device(buffer: BufferId, bytes: Bytes, access: Access) -> Self {
        Self { place: Place::Device(buffer), bytes, access }
    }

    pub(crate) fn host(addresses: Range<usize>, access: Access) -> Self {
        Self { place: Place::Host, bytes: Bytes::range(addresses), access }
    }
}
