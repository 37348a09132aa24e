//! Mistakes in a call and in its indices.

use std::fmt;

/// The kind of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OrderErrorKind {
    /// The call takes another number of inputs, or other types.
    Type,
    /// The shapes do not fit together, an axis is out of range, or an argument does not fit a shape.
    Shape,
    /// An element of the result is made from no elements, and has no value then.
    Empty,
    /// An index has no place, or a group has no element but needs one: see [`WrongIndex`].
    Index,
}

/// A call was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderError {
    kind: OrderErrorKind,
    message: String,
}

impl OrderError {
    pub(crate) fn new(kind: OrderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of the mistake.
    #[must_use]
    pub fn kind(&self) -> OrderErrorKind {
        self.kind
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OrderError {}

/// The first index without a place, in row-major order of the indices. Everything else is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "complete by nature")]
pub struct WrongIndex {
    /// The mistake in the index.
    pub fault: IndexFault,
    /// Its position among the indices, in row-major order.
    pub position: usize,
    /// The index; `i64::MAX` if it does not fit `i64`.
    pub index: i64,
    /// The number of places.
    pub extent: usize,
}

/// The mistake in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexFault {
    /// It has no place, or is an offset below the one before it.
    Outside,
    /// It ends a group of no elements, which has no least or greatest.
    EmptyGroup,
    /// It is an offset that has no place, or is below the one before it, in a call that takes other
    /// indices too.
    Offset,
}

impl fmt::Display for WrongIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, position, index, extent } = self;
        match fault {
            IndexFault::Outside => {
                write!(f, "the index {index}, number {position}, has no place among {extent}")
            }
            IndexFault::Offset => {
                write!(f, "the offset {index}, number {position}, falls, or has no place among {extent}")
            }
            IndexFault::EmptyGroup => {
                write!(f, "the group that ends at {index}, offset number {position}, has no element")
            }
        }
    }
}

impl From<WrongIndex> for OrderError {
    fn from(wrong: WrongIndex) -> Self {
        let kind = match wrong.fault {
            IndexFault::Outside | IndexFault::Offset => OrderErrorKind::Index,
            IndexFault::EmptyGroup => OrderErrorKind::Empty,
        };
        Self::new(kind, wrong.to_string())
    }
}
