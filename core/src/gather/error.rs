//! The report of an index out of range.

use std::fmt;

/// A call that picks or puts elements by index, as errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GatherOperation {
    /// [`take`](crate::ArrayView::take) and [`take_flat`](crate::ArrayView::take_flat).
    Take,
    /// [`take_along_axis`](crate::ArrayView::take_along_axis).
    TakeAlongAxis,
    /// [`put`](crate::ArrayViewMut::put) and [`put_flat`](crate::ArrayViewMut::put_flat).
    Put,
    /// [`put_along_axis`](crate::ArrayViewMut::put_along_axis).
    PutAlongAxis,
    /// [`compress`](crate::ArrayView::compress).
    Compress,
    /// [`extract`](crate::ArrayView::extract).
    Extract,
}

impl GatherOperation {
    /// Every one of them; each is at the place of its number.
    pub const ALL: [Self; 6] =
        [Self::Take, Self::TakeAlongAxis, Self::Put, Self::PutAlongAxis, Self::Compress, Self::Extract];

    /// Its name, as calls and errors have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::TakeAlongAxis => "take_along_axis",
            Self::Put => "put",
            Self::PutAlongAxis => "put_along_axis",
            Self::Compress => "compress",
            Self::Extract => "extract",
        }
    }

    /// Its number, for devices that keep it as one.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for GatherOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An index that a device found to be out of range: the first of its operation, in row-major order
/// of the indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "made by backends, of all that there is to say")]
pub struct IndexError {
    /// The call that the index was given to.
    pub operation: GatherOperation,
    /// The axis that it counts along; none if it counts in the flattened array.
    pub axis: Option<usize>,
    /// The position of the index among the indices, in row-major order.
    pub position: u64,
    /// The index.
    pub value: i64,
    /// How many elements there are to choose from.
    pub bound: u64,
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, axis, position, value, bound } = self;
        write!(f, "{operation}: index {value} at position {position} is out of range for ")?;
        match axis {
            Some(axis) => write!(f, "axis {axis} of extent {bound}"),
            None => write!(f, "{bound} elements"),
        }
    }
}

impl std::error::Error for IndexError {}
