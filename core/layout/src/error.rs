//! Mistakes in a layout, found before any backend is called.

use std::ops::Range;

use thiserror::Error;

use super::Order;

/// A layout that cannot exist, a transform that has no result, or two layouts that do not fit each
/// other.
///
/// Depends only on shapes, strides and offsets, and for memory of other code on addresses. It is
/// returned before anything is enqueued or allocated, so the operation has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Shape and strides, or two layouts, differ in their number of axes.
    #[error("rank mismatch: expected {expected} axes, found {found}")]
    RankMismatch {
        /// The rank that was needed.
        expected: usize,
        /// The rank that was given.
        found: usize,
    },
    /// Two layouts that must have one shape do not.
    #[error("shape mismatch: expected {expected:?}, found {found:?}")]
    ShapeMismatch {
        /// The shape that was needed.
        expected: Box<[usize]>,
        /// The shape that was given.
        found: Box<[usize]>,
    },
    /// An axis number is outside `-rank..rank`.
    #[error("axis {axis} is out of range for rank {rank}")]
    AxisOutOfRange {
        /// The axis asked for; negative counts from the end.
        axis: isize,
        /// The rank of the layout.
        rank: usize,
    },
    /// An axis is named twice where each may be named once.
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
        /// The index asked for; negative counts from the end.
        index: isize,
        /// The extent of that axis.
        extent: usize,
    },
    /// A range was given the step 0.
    #[error("step 0 on axis {axis}")]
    ZeroStep {
        /// The axis of the source layout.
        axis: usize,
    },
    /// More index items than the layout has axes.
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
    /// No stride-0 view of the shape exists.
    #[error("cannot broadcast shape {from:?} to {to:?}")]
    NotBroadcastable {
        /// The shape of the layout.
        from: Box<[usize]>,
        /// The shape asked for.
        to: Box<[usize]>,
    },
    /// A reshape would change the number of elements.
    #[error("cannot reshape shape {from:?} of {} elements to {to:?}", len(from))]
    SizeMismatch {
        /// The shape of the layout.
        from: Box<[usize]>,
        /// The shape asked for.
        to: Box<[usize]>,
    },
    /// The extent `-1` was given twice, or the others do not divide the number of elements.
    #[error("cannot infer the extent -1 of {to:?} for shape {from:?}")]
    CannotInfer {
        /// The shape of the layout.
        from: Box<[usize]>,
        /// The extents asked for.
        to: Box<[isize]>,
    },
    /// An extent below `-1`, or below 0 where none may be inferred.
    #[error("negative extent {extent}")]
    NegativeExtent {
        /// The extent given.
        extent: isize,
    },
    /// No view of the result exists: it needs a copy, which this call never makes.
    #[error("no view of this layout has that shape in that order: it needs a copy")]
    NeedsCopy,
    /// An order that does not say in which order to read elements.
    #[error("order {order:?} has no meaning for a reshape")]
    UnsupportedOrder {
        /// The order given.
        order: Order,
    },
    /// A count of elements or bytes, or an offset, does not fit `isize`.
    #[error("extents, strides or offset overflow")]
    Overflow,
    /// The layout reaches outside the memory it is put on.
    #[error("layout reaches elements {start}..{end} of {len}")]
    OutOfBounds {
        /// First element reached.
        start: usize,
        /// One past the last element reached.
        end: usize,
        /// Elements there are.
        len: usize,
    },
    /// The memory was adopted or opened, and the layout reaches elements in it that were not
    /// promised.
    #[error("layout reaches elements {start}..{end}, and some of them were not lent")]
    NotLent {
        /// First element reached.
        start: usize,
        /// One past the last element reached.
        end: usize,
    },
    /// Other strides that reach, or may reach, an element that the view does not have.
    #[error("the strides reach elements that the view does not have")]
    OutsideView,
    /// A window longer than the axis it slides along.
    #[error("a window of {len} is longer than axis {axis} of extent {extent}")]
    WindowTooLong {
        /// The axis, counted from the front.
        axis: usize,
        /// Positions of the window.
        len: usize,
        /// The extent of that axis.
        extent: usize,
    },
    /// A join of no arrays, whose shape is not known.
    #[error("at least one array is needed to join")]
    NothingToJoin,
    /// An axis without elements that is to be extended by its own elements.
    #[error("axis {axis} has no element to extend it with")]
    EmptyAxis {
        /// The axis, counted from the front.
        axis: usize,
    },
    /// A host slice does not hold exactly as many elements as the operation moves.
    #[error("length mismatch: expected {expected} elements, found {found}")]
    LengthMismatch {
        /// Elements the operation moves.
        expected: usize,
        /// Elements of the slice.
        found: usize,
    },
    /// A destination in which two indices share an element, or may do so.
    #[error("the destination reaches one element by two indices")]
    AliasedDestination,
    /// Elements to read share memory with elements to write, or may do so: both are in memory of
    /// other code, adopted twice. Elementwise functions accept them if they are the same elements
    /// in the same places.
    #[error("elements that are read share memory with elements that are written")]
    SharedMemory,
    /// A split into no sections, or into sections of no elements.
    #[error("cannot split into sections of {section}")]
    BadSection {
        /// The section length or count given, at most 0.
        section: isize,
    },
    /// Positions to split at that do not ascend.
    #[error("cannot split at {next} after {previous}: positions must ascend")]
    UnsortedPositions {
        /// A position.
        previous: usize,
        /// The smaller one that follows.
        next: usize,
    },
    /// A bound or step of an arithmetic sequence that is no finite real number.
    #[error("start, stop and step of a sequence must be finite")]
    NotFinite,
    /// Two fields to be written apart share bytes of the record.
    #[error("fields at bytes {first:?} and {second:?} of the record overlap")]
    FieldOverlap {
        /// The bytes of one field.
        first: Range<usize>,
        /// The bytes of the other.
        second: Range<usize>,
    },
    /// An element size that the operation cannot express.
    #[error("an element of {item_bytes} bytes does not fit here: {reason}")]
    ElementSize {
        /// Bytes of one element.
        item_bytes: usize,
        /// The requirement that is not met.
        reason: &'static str,
    },
}

/// Elements of a shape that a layout has; beside an extent of 0 the product of others may overflow.
fn len(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().product() }
}
