//! Mistakes in a layout, found before any backend is called.

use std::ops::Range;

use thiserror::Error;

use super::Order;

/// The error of a layout that cannot exist, of a transform that has no result, or of two layouts
/// that do not fit each other.
///
/// It depends only on shapes, strides and offsets, and for adopted memory on addresses. It is
/// returned before anything is enqueued or allocated, so the operation has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Shape and strides, or two layouts, have different numbers of axes.
    #[error("rank mismatch: expected {expected} axes, found {found}")]
    RankMismatch {
        /// The required rank.
        expected: usize,
        /// The given rank.
        found: usize,
    },
    /// Two layouts must have one shape, but do not.
    #[error("shape mismatch: expected {expected:?}, found {found:?}")]
    ShapeMismatch {
        /// The required shape.
        expected: Box<[usize]>,
        /// The given shape.
        found: Box<[usize]>,
    },
    /// An axis number is outside `-rank..rank`.
    #[error("axis {axis} is out of range for rank {rank}")]
    AxisOutOfRange {
        /// The given axis; negative counts from the end.
        axis: isize,
        /// The rank of the layout.
        rank: usize,
    },
    /// An axis is named twice but may be named only once.
    #[error("axis {axis} is repeated")]
    RepeatedAxis {
        /// The axis, counted from the front.
        axis: usize,
    },
    /// An integer index is outside `-extent..extent`.
    #[error("index {index} is out of range for axis {axis} of extent {extent}")]
    IndexOutOfRange {
        /// The axis of the source layout.
        axis: usize,
        /// The given index; negative counts from the end.
        index: isize,
        /// The extent of that axis.
        extent: usize,
    },
    /// A range has the step 0.
    #[error("step 0 on axis {axis}")]
    ZeroStep {
        /// The axis of the source layout.
        axis: usize,
    },
    /// There are more index items than the layout has axes.
    #[error("{found} indices for rank {rank}")]
    TooManyIndices {
        /// The rank of the layout.
        rank: usize,
        /// The number of items that consume an axis.
        found: usize,
    },
    /// An index holds more than one ellipsis.
    #[error("an index may hold one ellipsis")]
    RepeatedEllipsis,
    /// `squeeze` named an axis whose extent is not 1.
    #[error("cannot squeeze axis {axis} of extent {extent}")]
    NotSqueezable {
        /// The axis, counted from the front.
        axis: usize,
        /// Its extent.
        extent: usize,
    },
    /// No view with stride 0 has the requested shape.
    #[error("cannot broadcast shape {from:?} to {to:?}")]
    NotBroadcastable {
        /// The shape of the layout.
        from: Box<[usize]>,
        /// The requested shape.
        to: Box<[usize]>,
    },
    /// A reshape would change the number of elements.
    #[error("cannot reshape shape {from:?} of {} elements to {to:?}", len(from))]
    SizeMismatch {
        /// The shape of the layout.
        from: Box<[usize]>,
        /// The requested shape.
        to: Box<[usize]>,
    },
    /// The extent `-1` was given twice, or the others do not divide the number of elements.
    #[error("cannot infer the extent -1 of {to:?} for shape {from:?}")]
    CannotInfer {
        /// The shape of the layout.
        from: Box<[usize]>,
        /// The requested extents.
        to: Box<[isize]>,
    },
    /// An extent is below `-1`, or below 0 where none can be inferred.
    #[error("negative extent {extent}")]
    NegativeExtent {
        /// The given extent.
        extent: isize,
    },
    /// No view of the result exists. It needs a copy, which this call never makes.
    #[error("no view of this layout has that shape in that order: it needs a copy")]
    NeedsCopy,
    /// The order does not say how to read the elements.
    #[error("order {order:?} has no meaning for a reshape")]
    UnsupportedOrder {
        /// The given order.
        order: Order,
    },
    /// A count of elements or bytes, or an offset, does not fit `isize`.
    #[error("extents, strides or offset overflow")]
    Overflow,
    /// The layout reaches outside the memory it is put on.
    #[error("layout reaches elements {start}..{end} of {len}")]
    OutOfBounds {
        /// The first element that is reached.
        start: usize,
        /// One past the last element reached.
        end: usize,
        /// The number of elements in the memory.
        len: usize,
    },
    /// The memory was adopted or opened, and the layout reaches elements in it that nobody
    /// promised.
    #[error("layout reaches elements {start}..{end}, and some of them were not lent")]
    NotLent {
        /// The first element that is reached.
        start: usize,
        /// One past the last element reached.
        end: usize,
    },
    /// The new strides reach, or may reach, an element that the view does not have.
    #[error("the strides reach elements that the view does not have")]
    OutsideView,
    /// A window is longer than the axis it slides along.
    #[error("a window of {len} is longer than axis {axis} of extent {extent}")]
    WindowTooLong {
        /// The axis, counted from the front.
        axis: usize,
        /// The length of the window.
        len: usize,
        /// The extent of that axis.
        extent: usize,
    },
    /// There is nothing to join, so the shape of the result is unknown.
    #[error("at least one array is needed to join")]
    NothingToJoin,
    /// An axis without elements cannot be extended by its own elements.
    #[error("axis {axis} has no element to extend it with")]
    EmptyAxis {
        /// The axis, counted from the front.
        axis: usize,
    },
    /// A host slice does not hold exactly as many elements as the operation moves.
    #[error("length mismatch: expected {expected} elements, found {found}")]
    LengthMismatch {
        /// The number of elements that the operation moves.
        expected: usize,
        /// The number of elements in the slice.
        found: usize,
    },
    /// Two indices of a destination share an element, or may do so.
    #[error("the destination reaches one element by two indices")]
    AliasedDestination,
    /// Elements to read share memory with elements to write, or may do so: both are in memory of
    /// other code, which was adopted twice. Elementwise functions accept them if they are the same
    /// elements in the same places.
    #[error("elements that are read share memory with elements that are written")]
    SharedMemory,
    /// A split has no sections, or sections of no elements.
    #[error("cannot split into sections of {section}")]
    BadSection {
        /// The given section length or count, at most 0.
        section: isize,
    },
    /// The positions of a split do not ascend.
    #[error("cannot split at {next} after {previous}: positions must ascend")]
    UnsortedPositions {
        /// A position.
        previous: usize,
        /// The smaller position that follows.
        next: usize,
    },
    /// A bound or step of an arithmetic sequence is not a finite real number.
    #[error("start, stop and step of a sequence must be finite")]
    NotFinite,
    /// Two fields that are written separately share bytes of the record.
    #[error("fields at bytes {first:?} and {second:?} of the record overlap")]
    FieldOverlap {
        /// The bytes of one field.
        first: Range<usize>,
        /// The bytes of the other.
        second: Range<usize>,
    },
    /// The operation cannot express an element of this size.
    #[error("an element of {item_bytes} bytes does not fit here: {reason}")]
    ElementSize {
        /// Bytes of one element.
        item_bytes: usize,
        /// The requirement that is not met.
        reason: &'static str,
    },
}

/// The number of elements of a layout's shape. Beside an extent of 0 the product of the other
/// extents may overflow.
fn len(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().product() }
}
