//! Plans of copies, for authors of backends and of copies: from two layouts to the bytes to move.
//! Everything is pure, and needs no memory and no backend.
//!
//! ```text
//! (destination, source, element size)
//!   → loops: drop unit axes, point the destination forward, sort by destination stride, merge, take the run out
//!   → class: empty · linear · pitched 2-D · pitched 3-D · batched · transpose · broadcast · gather
//!   → runs:  (source, destination, length), the reference every class is proven against
//! ```
//!
//! Layouts count elements, plans count bytes; the conversion happens once, in [`Plan::new`].
//!
//! # The canonical form
//!
//! A copy between two strided layouts of one shape is a nest of loops that walks both sides at
//! once. The order and the directions of the axes do not change which bytes move, so both sides are
//! reduced together:
//!
//! 1. An axis of extent 1 moves nothing and is dropped.
//! 2. An axis along which the destination runs backwards is walked from its other end, on both
//!    sides. If it was negative on both sides, it becomes positive on both. If it was negative on
//!    one side, it is then negative in the source.
//! 3. Axes are sorted by descending destination stride, so that the innermost loop writes the
//!    nearest bytes.
//! 4. If an axis has, on both sides, a stride as long as the whole next axis, it continues that
//!    axis: the two become one axis.
//! 5. An innermost axis that is contiguous on both sides becomes part of the run: the bytes moved
//!    by one step.
//!
//! ```text
//! dst (2, 3, 4) strides (12, 4, 1), src (2, 3, 4) strides (-20, 4, 1), 4-byte elements
//!   after 3:  2 × (48, -80)   3 × (16, 16)   4 × (4, 4)     extent × (destination, source), in bytes
//!   after 4:  2 × (48, -80)  12 × (4, 4)
//!   after 5:  2 × (48, -80)  run of 48 bytes
//! ```
//!
//! The destination is the sorting key for three reasons. A memory system merges stores less well
//! than loads, so neighbouring steps should store to neighbouring bytes. No two indices share an
//! element of a destination, so no two of its strides are equal and the order is unique. And a
//! repeated source has stride 0, which would make its axis the innermost.
//!
//! Transfers between host and device pass through staging memory. [`Plan::blocks`] cuts a plan to
//! its size, [`Plan::pack`] and [`Plan::unpack`] are the two copies to and from it, and [`execute`]
//! runs one of them on the host.

mod axis;
mod blocks;
mod class;
mod host;
mod limits;
mod loops;
mod plan;
mod runs;
mod staging;
mod streaming;
mod tiles;
mod turned;

pub use axis::Axis;
pub use blocks::Blocks;
pub use class::Class;
#[doc(hidden)]
pub use host::{PAGE_BYTES, execute_pages, execute_past_caches};
pub use host::{copy_bytes, execute};
pub use limits::Limits;
pub use plan::Plan;
pub use runs::Runs;
#[doc(hidden)]
pub use streaming::copy_streaming;
