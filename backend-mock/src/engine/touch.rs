//! Which bytes of which memory an operation touches.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::Work;
use crate::{buffer::BufferId, finding::Access, host::HostRange, judge::ByteSet};

/// Bytes that an operation touches.
#[derive(Debug, Clone)]
pub(crate) struct Touch {
    pub(crate) place: Place,
    pub(crate) bytes: ByteSet,
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

    fn device(buffer: BufferId, bytes: ByteSet, access: Access) -> Self {
        Self { place: Place::Device(buffer), bytes, access }
    }

    fn host(host: &HostRange, access: Access) -> Self {
        Self { place: Place::Host, bytes: ByteSet::range(host.addresses()), access }
    }
}

impl Work {
    /// What it touches, the side that is read before the side that is written. What allocates or
    /// frees touches all of its memory.
    pub(crate) fn touches(&self) -> SmallVec<[Touch; 2]> {
        let range = |bytes: &Range<usize>| ByteSet::range(bytes.clone());
        match self {
            Self::Record(_) | Self::Wait(_) => SmallVec::new(),
            Self::Alloc { buffer, len_bytes } | Self::Free { buffer, len_bytes } => {
                smallvec![Touch::device(*buffer, ByteSet::range(0..*len_bytes), Access::Lifetime)]
            }
            Self::Copy { dst, src, plan } => smallvec![
                Touch::device(*src, ByteSet::source(plan), Access::Read),
                Touch::device(*dst, ByteSet::destination(plan), Access::Write),
            ],
            Self::Compute(computation) => computation.touches(),
            Self::Gather(gathered) => gathered.touches(),
            Self::Launch(kernel) => kernel.touches(),
            // No byte changes, but the memory must be there.
            Self::Prefetch { buffer, bytes } => {
                smallvec![Touch::device(*buffer, range(bytes), Access::Read)]
            }
            Self::Fill { dst, plan, .. } => {
                smallvec![Touch::device(*dst, ByteSet::destination(plan), Access::Write)]
            }
            Self::Upload { dst, bytes, host } => {
                smallvec![Touch::host(host, Access::Read), Touch::device(*dst, range(bytes), Access::Write),]
            }
            Self::Download { src, bytes, host } => {
                smallvec![Touch::device(*src, range(bytes), Access::Read), Touch::host(host, Access::Write),]
            }
        }
    }
}
