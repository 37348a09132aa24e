//! Turns a copy plan into kernel launches: the precompiled kernel, its parameters, and the reason for the
//! choice. Pure; no driver. It is public for tests, and for programs that ask why a copy is slow.
//!
//! | family | takes | idea |
//! |---|---|---|
//! | rows | a destination contiguous along its innermost axis, the source fastest along the same | one aligned 16-byte store a thread; the source side is shifted, reversed, repeated or picked into place |
//! | tile | sides that are fastest along different axes | whole rows of the source into shared memory, whole runs of the destination out of it |
//! | gather | everything | one element a thread |
//!
//! `join` makes one launch of several copies to one destination, if that is faster.
//!
//! No kernel is made for a shape or a type. A selection depends on the extents, the strides, the
//! width of an element, the alignment of the addresses and the speed of the device's memory;
//! [`StridedLaunch::explain`] puts the choice in words.

mod explain;
mod family;
mod fill;
mod image;
mod join;
pub mod kernel;
mod launch_cache;
mod memory_speed;
mod one_by_one;
pub mod params;
pub mod rows;
mod select;
mod strided_copy;
pub mod strided_launch;
mod tile;

#[cfg(test)]
#[allow(dead_code, reason = "fills are emulated for the fake driver alone")]
#[path = "../tests/emulate/kernels.rs"]
mod emulate;
#[cfg(test)]
mod tests;

pub use self::explain::explain_copy;
pub(crate) use self::fill::fill;
pub(crate) use self::image::waits_for_the_launch_before;
pub use self::join::{JoinParams, Part, Step, join};
pub use self::launch_cache::LaunchCache;
pub use self::memory_speed::MemorySpeed;
pub use self::select::select;
pub use self::strided_launch::{Params, StridedLaunch};

/// The addresses of the two allocations that the offsets of a plan count from, as the device sees
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// First byte of the destination's allocation.
    pub dst: u64,
    /// First byte of the source's allocation.
    pub src: u64,
}
