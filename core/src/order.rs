//! Order, search, counts and sums by index: the rules for callers of `sort`, `unique` and `put_add`, and
//! the calls that backends implement.
//!
//! One operation of the backend interface serves `sort`, `argsort`, `topk`, `unique`, `search_sorted`,
//! `bincount`, `histogram`, `put_add`, `segment_sum`, `csr_dot`, `nonzero`, `quantile` and their kin: a
//! [`Call`] with its inputs and results, which the package `devarray-order` defines to the bit.
//! [`DeviceCall`] makes one on erased views. Arrays and views have a method for each call, which the
//! manual's page [Order, search and sums by index](crate::manual::_d_order) shows.
//!
//! # Results
//!
//! A backend gets memory for the results of a call that are wanted, by their
//! [number](crate::backend::OrderSide::number). Where the results are *counted*, it also gets one
//! `i64` for their number of rows: the distinct elements of `Unique`, the rows of `NonZero`. Memory
//! for such results may have any number of rows. Rows that fit are written, and the others stay.
//!
//! [`Call::Put`] works in place: its first input *is* its result, in the same memory with the same
//! layout. No other input shares memory with a result.
//!
//! Sides without elements have no memory.
//!
//! # Indices that have no place
//!
//! The device finds an index out of range after the call has returned, and a wait reports it, as for
//! [gathers](crate::gather): for each operation the first in row-major order, by
//! [`Error::Index`](crate::Error::Index). [`IndexFault`] says whether the index itself is wrong, or a
//! group needs an element and has none. For [`Call::CsrDot`] it says whether the index is a column or an
//! offset; a wrong offset is reported before a wrong column. If there are more distinct elements, or more
//! that are not zero, than there is room for, the index of the first row without a place is reported.
//! Everything else is done.

mod host;

pub use crate::array::DeviceCall;
#[doc(inline)]
pub use devarray_order::{
    Alone, Call, Combining, IndexFault, OrderError, OrderErrorKind, Output, Workers, WrongIndex,
};
pub use host::{OrderMemory, order_on_host};

use crate::gather::GatherOperation;

/// On which side of equal elements a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum Side {
    /// Before all equal elements: the result is how many elements are below.
    #[default]
    Left,
    /// After all equal elements: the result is how many elements are not above.
    Right,
}

/// The name of a call with indices in errors.
fn operation_of(call: &Call) -> Option<GatherOperation> {
    GatherOperation::ALL.into_iter().find(|operation| operation.name() == call.name())
}
