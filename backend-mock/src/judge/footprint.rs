//! What the judge is told of an operation: what bytes and memory it touches, and how. Never
//! what they hold.

use std::ops::Range;

use devarray::copy::Plan;
use smallvec::SmallVec;

use super::bytes::Bytes;
use crate::{allocation::BufferId, finding::Access};

/// An operation, as far as it is judged.
pub(crate) trait Footprint {
    /// What it does.
    fn kind(&self) -> Kind<'_>;

    /// What it touches, the side that is read before the side that is written. What allocates or
    /// frees touches all of its memory.
    fn touches(&self) -> SmallVec<[Touch; 2]>;

    /// Whether two of its touches may share bytes: touches of one argument of a kernel, or of a
    /// function's result and an input that it replaces.
    fn may_share(&self, before: usize, at: usize) -> bool;

    /// The argument of a kernel whose touch is the one at this place in [`touches`](Self::touches).
    fn argument(&self, at: usize) -> Option<&'static str>;
}

/// What an operation does to the bytes that it touches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// Nothing: it records an event, or waits for one.
    Order,
    /// It makes memory usable.
    Alloc { buffer: BufferId, len_bytes: usize },
    /// It gives memory back.
    Free(BufferId),
    /// It copies from device memory to device memory.
    Copy(&'a Plan),
    /// It reads them for the host.
    Download,
    /// It reads inputs, and writes a result.
    Compute,
    /// It reads elements that indices name, and writes them elsewhere.
    Gather,
    /// It writes elements that indices or a mask name, and may leave out others.
    Scatter,
    /// It does what a kernel declares.
    Launch,
    /// It reads no value: a fill, an upload, a prefetch.
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
    /// All of the host's, by address.
    Host,
}

impl Touch {
    /// Whether it matters which of the two comes first.
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
