//! Picking and putting elements by index: the options of `take` and `put` for callers, and the
//! operation that backends do.
//!
//! `take`, `take_along_axis`, `put` and the selection by a mask are one operation of the backend
//! interface. It runs over a shape. Each position has an element, an index, and the element of the
//! indexed array that the index names. A gather copies from the indexed array, a scatter to it:
//!
//! ```text
//! gather    elements[s] = indexed[s, indices[s]]
//! scatter   indexed[s, indices[s]] = elements[s]      where mask[s], if there is a mask
//! ```
//!
//! All four are layouts of that shape. Strides of 0 repeat elements or indices along an axis. So
//! rows picked by a list, an index for each element, and positions of a flattened array need only
//! one kernel. Bytes move unchanged, so the operation knows no element type.
//!
//! # Selection by a mask
//!
//! A selection reads no indices ([`IndexType::Counted`]): a selected element goes to the place
//! after the selected element before it. One pass is enough, because a device need not store the
//! counts. The number of selected elements is written to the place of the indices.
//!
//! # Indices out of range
//!
//! The device finds an index out of range after the call has returned. With [`OutOfRange::Error`]
//! the first wait that covers the operation returns [`Error::Index`](crate::Error::Index): the
//! operation, the axis, the position of the index, its value and the bound. A wait covers the
//! operations that come before its stream or event. So a reader of a result gets the error before
//! it reads, and a wait for other work does not get it. When several operations fail, each wait
//! reports one, in the order of submission. Each operation is reported once, with its first index
//! out of range in row-major order of the indices.
//!
//! An error outlives its stream. Waits for the stream's events, for later streams and for results
//! of the operation still report it. When no open stream and no event covers the operation,
//! [`Context::take_errors`](crate::Context::take_errors) reports it, unless a wait did before. (A
//! stream keeps account of 1,024 other streams with unreported errors. If there are more, the
//! oldest errors are reported by their own streams, by their events, or by the list.)
//!
//! [`EventHandle::query`](crate::EventHandle::query) is not a wait and reports no error. A copy in
//! place between two contexts first waits for gathers of the source that may have found an error,
//! and reports it.
//!
//! A gather writes zeros for an index out of range; a scatter puts nothing. All other elements
//! move.
//!
//! # Indices that come twice
//!
//! If several indices of a scatter name one element, its value depends on the order. With
//! [`Repeats::Last`] the index that comes last in row-major order wins, as in NumPy's `put`. A
//! parallel device needs memory and a second pass over the indices for that. With [`Repeats::None`]
//! the caller promises that no index repeats, and one pass is enough.
#![allow(unsafe_code)] // declares an unsafe constructor; performs no unsafe operation

mod error;
mod host;
mod index;
mod moves;
mod parts;
#[cfg(test)]
mod tests;
mod walk;

pub use error::{GatherOperation, IndexError};
pub use host::{GatherMemory, gather_on_host, gather_range_on_host, scatter_share_on_host};
pub use index::Index;
pub use walk::GatherRun;

use std::fmt;

use crate::layout::Layout;

/// The treatment of an index out of range.
///
/// The valid indices of an axis of `n` elements are `0..n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::exhaustive_enums, reason = "the modes of NumPy")]
pub enum OutOfRange {
    /// It is an error, reported by the first wait that covers the operation. The indices `-n..0`
    /// count from the end: NumPy's `mode='raise'`.
    #[default]
    Error,
    /// It counts modulo `n`, never negative: `mode='wrap'`.
    Wrap,
    /// The nearest valid index takes its place, 0 for all negative ones: `mode='clip'`.
    Clamp,
}

/// The element that a scatter writes where an index comes more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Repeats {
    /// The element whose index is last, in row-major order of the indices.
    #[default]
    Last,
    /// The caller promises that no index repeats, which saves a pass. If an index repeats, its
    /// place may hold any of the elements put there, or parts of several; the simulator finds the
    /// mistake.
    None,
}

/// The direction in which elements move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Direction {
    /// From the indexed array to the elements, which are the result.
    Gather,
    /// From the elements to the indexed array.
    Scatter,
}

/// The type of indices, as a device reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "matched by backends, which must know each")]
pub enum IndexType {
    /// `i32`.
    I32,
    /// `u32`.
    U32,
    /// `i64`.
    I64,
    /// No index is read. The index of a selected element is the number of selected elements before
    /// it, in row-major order of the positions. The number of all selected elements is written, as
    /// one `i64`, to the place of the indices. Only for a scatter with a mask and
    /// [`OutOfRange::Error`], whose [`positions`](Gathering::positions) number all elements, and
    /// whose layout of indices has strides of 0.
    Counted,
}

impl IndexType {
    /// Bytes of an index, or of the count.
    #[must_use]
    pub const fn len_bytes(self) -> usize {
        match self {
            Self::I32 | Self::U32 => 4,
            Self::I64 | Self::Counted => 8,
        }
    }
}

/// An axis of the indexed array that indices select along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "two numbers")]
pub struct IndexedAxis {
    /// Its extent, which is not 0.
    pub extent: usize,
    /// The step from one of its elements to the next, in elements.
    pub stride: isize,
}

/// A gather or scatter, without its memory.
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "made by core, read by backends, spoilt by tests")]
pub struct Gathering<'a> {
    /// The call, for error reports.
    pub operation: GatherOperation,
    /// The axis that indices select along, for error reports; `None` if they select in the
    /// flattened array.
    pub axis: Option<usize>,
    /// The direction in which elements move.
    pub direction: Direction,
    /// The treatment of an index out of range.
    pub out_of_range: OutOfRange,
    /// The element that a scatter writes where an index comes more than once.
    pub repeats: Repeats,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub width_bytes: usize,
    /// The extents that all layouts have. None is 0.
    pub shape: &'a [usize],
    /// The axes that an index selects in, in row-major order. The product of their extents is the
    /// bound.
    pub indexed_axes: &'a [IndexedAxis],
    /// Where each position finds the element that index 0 would name.
    pub indexed: &'a Layout,
    /// Where each position finds its index, counted in indices; or where the count is written.
    pub indices: &'a Layout,
    /// The type of the indices.
    pub index_type: IndexType,
    /// The step of the index's position along each axis of the shape, in row-major order of the
    /// indices.
    pub positions: &'a [usize],
    /// Where each position finds its byte of the mask, counted in bytes. If the byte is 0, nothing
    /// is done. Only for a scatter.
    pub mask: Option<&'a Layout>,
    /// Where a gather writes each element, or a scatter reads it. A gather writes no element twice.
    pub elements: &'a Layout,
}

/// A finished gather, by its [number](crate::backend::GatherOp::number), or by the number of a captured gather in a
/// [launch](crate::backend::Captures::launch_captured). Core asks a device about it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished(pub(crate) u64);

impl Finished {
    /// Names a gather by its number.
    ///
    /// # Safety
    ///
    /// A wait has covered the gather, and core asks for its error once only. A device may reuse
    /// memory that it kept for the gather.
    #[must_use]
    pub const unsafe fn new_unchecked(number: u64) -> Self {
        Self(number)
    }

    /// The number of the gather.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl Gathering<'_> {
    /// The number of valid indices.
    #[must_use]
    pub fn bound(&self) -> usize {
        self.indexed_axes.iter().map(|axis| axis.extent).product()
    }

    /// The index after wrapping or clamping; `None` if it is out of range and that is an error.
    #[must_use]
    pub fn resolve(&self, index: i64) -> Option<usize> {
        // The bound is at most the number of elements of an array, so it fits.
        let bound = self.bound().cast_signed() as i64;
        let found = match self.out_of_range {
            OutOfRange::Error if index < 0 => index + bound,
            OutOfRange::Error => index,
            OutOfRange::Wrap => index.rem_euclid(bound),
            OutOfRange::Clamp => index.clamp(0, bound - 1),
        };
        usize::try_from(found).ok().filter(|&found| found < self.bound())
    }

    /// The distance from the element of index 0 to the element of an index, in elements. The index
    /// is below the [bound](Self::bound).
    #[must_use]
    pub fn distance(&self, index: usize) -> isize {
        let Some((first, others)) = self.indexed_axes.split_first() else { return 0 };
        let mut left = index;
        let mut distance = 0;
        for axis in others.iter().rev() {
            distance += (left % axis.extent).cast_signed() * axis.stride;
            left /= axis.extent;
        }
        distance + left.cast_signed() * first.stride
    }
}

/// Prints the call and its shape.
impl fmt::Debug for Gathering<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Gathering({} of {} among {}, {:?})",
            self.operation,
            self.elements.len(),
            self.bound(),
            self.out_of_range
        )
    }
}
