//! The report of an index out of range.

use std::fmt;

use devarray_order::IndexFault;

/// A call that finds places by index, as errors name it.
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
    /// `bincount`. This and the following calls belong to [`order`](crate::order).
    BinCount,
    /// `put_add`.
    PutAdd,
    /// `put_minimum`.
    PutMinimum,
    /// `put_maximum`.
    PutMaximum,
    /// `segment_sum`.
    SegmentSum,
    /// `segment_minimum`.
    SegmentMinimum,
    /// `segment_maximum`.
    SegmentMaximum,
    /// [`csr_dot`](crate::math::csr_dot).
    CsrDot,
    /// `unique` with less room than there are distinct elements.
    Unique,
    /// `nonzero` with less room than there are elements that are not zero.
    NonZero,
}

impl GatherOperation {
    /// Every operation, at the position of its number.
    pub const ALL: [Self; 16] = [
        Self::Take,
        Self::TakeAlongAxis,
        Self::Put,
        Self::PutAlongAxis,
        Self::Compress,
        Self::Extract,
        Self::BinCount,
        Self::PutAdd,
        Self::PutMinimum,
        Self::PutMaximum,
        Self::SegmentSum,
        Self::SegmentMinimum,
        Self::SegmentMaximum,
        Self::CsrDot,
        Self::Unique,
        Self::NonZero,
    ];

    /// Its name in calls and errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::TakeAlongAxis => "take_along_axis",
            Self::Put => "put",
            Self::PutAlongAxis => "put_along_axis",
            Self::Compress => "compress",
            Self::Extract => "extract",
            Self::BinCount => "bincount",
            Self::PutAdd => "put_add",
            Self::PutMinimum => "put_minimum",
            Self::PutMaximum => "put_maximum",
            Self::SegmentSum => "segment_sum",
            Self::SegmentMinimum => "segment_minimum",
            Self::SegmentMaximum => "segment_maximum",
            Self::CsrDot => "csr_dot",
            Self::Unique => "unique",
            Self::NonZero => "nonzero",
        }
    }

    /// Whether its only indices are offsets, which bound groups.
    const fn has_offsets(self) -> bool {
        matches!(self, Self::SegmentSum | Self::SegmentMinimum | Self::SegmentMaximum)
    }

    /// Its number, for devices that store it as one.
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
    /// The call that got the index.
    pub operation: GatherOperation,
    /// The mistake in it.
    pub fault: IndexFault,
    /// The axis that it selects along; `None` if it selects in the flattened array.
    pub axis: Option<usize>,
    /// The position of the index among the indices, in row-major order.
    pub position: u64,
    /// The index.
    pub value: i64,
    /// The number of valid indices.
    pub bound: u64,
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, fault, axis, position, value, bound } = self;
        if *fault == IndexFault::EmptyGroup {
            return write!(
                f,
                "{operation}: the group before position {position}, which ends at {value}, is empty"
            );
        }
        let (index, out) = if operation.has_offsets() || *fault == IndexFault::Offset {
            ("offset", "is below the one before it, or out of range")
        } else {
            ("index", "is out of range")
        };
        write!(f, "{operation}: {index} {value} at position {position} {out} for ")?;
        match axis {
            Some(axis) => write!(f, "axis {axis} of extent {bound}"),
            None => write!(f, "{bound} elements"),
        }
    }
}

impl std::error::Error for IndexError {}
