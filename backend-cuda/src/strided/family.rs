//! The family of kernels that carries out a copy.

use super::{one_by_one, rows, strided_copy::StridedCopy, strided_launch::StridedLaunch, tile};

/// The best launch for one copy. Gather takes copies that no other family takes.
pub(super) fn choose(copy: &StridedCopy, scale: tile::Scale) -> StridedLaunch {
    rows::select(copy, scale)
        .or_else(|| tile::select(copy, scale))
        .unwrap_or_else(|| one_by_one::select(copy))
}
