//! Lists of one value per axis.

use smallvec::SmallVec;

/// Up to this many axes, a layout needs no heap. Rank itself is not limited.
pub const INLINE_RANK: usize = 6;

/// A list of one value per axis, inline up to [`INLINE_RANK`].
pub type Axes<T> = SmallVec<[T; INLINE_RANK]>;
