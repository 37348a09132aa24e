//! The bytes of memories that an operation touches, for the judge.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::Work;
use crate::{
    finding::Access,
    judge::{ByteSet, Footprint, Kind, Touch},
};

impl Footprint for Work {
    fn kind(&self) -> Kind<'_> {
        match self {
            Self::Record(_) | Self::Wait(_) => Kind::Order,
            Self::Alloc { buffer, len_bytes } => Kind::Alloc { buffer: *buffer, len_bytes: *len_bytes },
            Self::Free { buffer, .. } => Kind::Free(*buffer),
            Self::Copy { plan, .. } => Kind::Copy(plan),
            Self::Download { .. } => Kind::Download,
            Self::Compute(_) | Self::Order(_) | Self::Product(_) | Self::Exchange(_) => Kind::Compute,
            Self::Gather(gathered) if gathered.is_scatter() => Kind::Scatter,
            Self::Gather(_) => Kind::Gather,
            Self::Launch(_) => Kind::Launch,
            Self::Fill { .. } | Self::Upload { .. } | Self::Prefetch { .. } => Kind::Other,
        }
    }

    fn touches(&self) -> SmallVec<[Touch; 2]> {
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
            Self::Order(ordered) => ordered.touches(),
            Self::Product(multiplied) => multiplied.touches(),
            Self::Launch(kernel) => kernel.touches(),
            Self::Exchange(exchanged) => exchanged.touches(),
            // No byte changes, but the memory must exist.
            Self::Prefetch { buffer, bytes } => {
                smallvec![Touch::device(*buffer, range(bytes), Access::Read)]
            }
            Self::Fill { dst, plan, .. } => {
                smallvec![Touch::device(*dst, ByteSet::destination(plan), Access::Write)]
            }
            Self::Upload { dst, bytes, host } => {
                smallvec![
                    Touch::host(host.addresses(), Access::Read),
                    Touch::device(*dst, range(bytes), Access::Write),
                ]
            }
            Self::Download { src, bytes, host } => {
                smallvec![
                    Touch::device(*src, range(bytes), Access::Read),
                    Touch::host(host.addresses(), Access::Write),
                ]
            }
        }
    }

    fn may_share(&self, before: usize, at: usize) -> bool {
        match self {
            Self::Launch(_) => self.argument(before) == self.argument(at),
            Self::Compute(computation) => computation.is_in_place(before),
            Self::Order(ordered) => ordered.is_in_place(before),
            Self::Product(multiplied) => multiplied.is_in_place(before),
            Self::Exchange(exchanged) => exchanged.is_in_place(),
            _ => false,
        }
    }

    fn partial(&self) -> SmallVec<[usize; 1]> {
        match self {
            Self::Gather(gathered) if gathered.is_scatter() => smallvec![gathered.written_touch()],
            Self::Order(ordered) => ordered.partial(),
            _ => SmallVec::new(),
        }
    }

    fn argument(&self, at: usize) -> Option<&'static str> {
        let Self::Launch(kernel) = self else { return None };
        kernel.argument(at)
    }
}
