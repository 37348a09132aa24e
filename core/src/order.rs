//! Order, search, counts and sums by index: the rules for callers of `sort`, `unique` and `put_add`, and
//! the calls that backends make.
//!
//! One operation of the waist stands behind `sort`, `argsort`, `topk`, `unique`, `search_sorted`,
//! `bincount`, `histogram`, `put_add`, `segment_sum`, `csr_dot`, `nonzero`, `quantile` and their kin: a
//! [`Call`] with its inputs and results, which the package `devarray-order` defines to the bit.
//! [`DeviceCall`] makes one on erased views; arrays and views have methods for each, which the manual's
//! page [Order, search and sums by index](crate::manual::_d_order) shows.
//!
//! # Results
//!
//! A backend is given memory for those results of a call that are wanted, by their
//! [number](crate::backend::OrderSide::number), and where the results are *counted* also one `i64`
//! for how many there are: the distinct elements of `Unique`, the rows of `NonZero`. Such results have
//! any number of rows; rows that fit are written, and the others stay as they are.
//!
//! [`Call::Put`] works in place: its first input *is* its result, at the same place of the same
//! memory in the same layout. No other input shares memory with a result.
//!
//! Sides without elements have no memory.
//!
//! # Indices that have no place
//!
//! The device finds them after the call has returned, and a wait tells of them, as it does for
//! [gathers](crate::gather): for each operation the first in row-major order, by
//! [`Error::Index`](crate::Error::Index). [`IndexFault`] says whether it is the index, or a group that
//! needs an element and has none; of [`Call::CsrDot`], whether it is a column or an offset, and an offset
//! comes first. If there are more distinct elements, or more that are not zero, than
//! there is room for, that is told as the index of the first row without a place. Everything else is
//! done.

mod host;

pub use crate::array::DeviceCall;
#[doc(inline)]
pub use devarray_order::{
    Alone, Call, Combining, IndexFault, OrderError, OrderErrorKind, Output, Workers, WrongIndex,
};
pub use host::{OrderMemory, order_on_host};

use crate::gather::GatherOperation;

/// The side that elements equal to the one that is looked for are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Side {
    /// The position before all equals: how many elements are below.
    #[default]
    Left,
    /// The position behind all equals: how many elements are not above.
    Right,
}

/// The name that errors give to a call with indices.
fn operation_of(call: &Call) -> Option<GatherOperation> {
    GatherOperation::ALL.into_iter().find(|operation| operation.name() == call.name())
}
