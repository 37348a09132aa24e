//! Where elements lie: pure algebra on shapes and strides, no memory.

mod error;
mod nd;
mod order;
mod value;

use smallvec::SmallVec;

pub use error::LayoutError;
pub use nd::NdLayout;
pub use order::Order;
pub use value::Layout;

/// Axes up to which a layout lives without the heap. Rank itself is not limited.
pub const INLINE_RANK: usize = 6;

/// One value an axis, inline up to [`INLINE_RANK`].
pub type Axes<T> = SmallVec<[T; INLINE_RANK]>;
