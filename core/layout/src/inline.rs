//! Lists of one value an axis.

use smallvec::SmallVec;

/// Axes up to which a layout lives without the heap. Rank itself is not limited.
pub const INLINE_RANK: usize = 6;

/// One value an axis, inline up to [`INLINE_RANK`].
pub type Axes<T> = SmallVec<[T; INLINE_RANK]>;
