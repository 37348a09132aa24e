//! Functions on device memory.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

mod gather;
mod map;
mod reduce;

#[doc(inline)]
pub use crate::function::ReduceForm;
pub use gather::GatherOp;
pub use map::{MapOp, Operand};
pub use reduce::ReduceOp;

use super::{Capability, Device};
use crate::{Error, Result};

/// A device that computes functions.
///
/// # For callers
///
/// Programs use the methods of arrays and views, which end here.
///
/// # For backend authors
///
/// Core hands over a checked [`Program`](crate::function::primitive::Program) with its operands. A
/// backend whose memory the host reaches passes both to core's interpreter; others compile the
/// program. Both must agree to the bit, which the primitives make possible.
///
/// # Safety
///
/// As [`Stream`](super::Stream): the operation takes effect in stream order, reads the elements of
/// the inputs, writes the elements of the result, and touches no other byte.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` may not compute functions: `{Self}: Compute` is missing",
    label = "not a `Compute`",
    note = "functions, reductions, elements by index and random numbers take `D: Compute` where copies and layouts take `D: Device`: write `D: devarray::Compute`, which includes `Device`"
)]
pub unsafe trait Compute: Device {
    /// Computes a function for every element of the result. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued, and the result is unchanged.
    fn map(&self, stream: &Self::Stream, op: &MapOp<'_, Self::Buffer>) -> Result<()>;

    /// Reduces elements along axes, or computes their scan along one, if the device has the
    /// extra [`Reductions`](Capability::Reductions). Does not synchronize.
    ///
    /// The order in which floats are combined is part of the operation:
    /// [`Combine`](crate::function::Combine).
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`], of [`Reductions`](Capability::Reductions).
    /// - Any device error. Nothing was enqueued, and the result is unchanged.
    fn reduce(&self, stream: &Self::Stream, op: &ReduceOp<'_, Self::Buffer>) -> Result<()> {
        let _ = (stream, op);
        let (backend, operation, capability) = (self.info().backend, "reduce", Capability::Reductions);
        Err(Error::Unsupported { backend, operation, capability })
    }

    /// Reduces each row twice; the second reduction reads the result of the first. The last input
    /// of `second` is the result of `first`, repeated along the rows, and both have the same rows.
    /// Does not synchronize.
    ///
    /// Nothing else reads the result of `first`. A backend that computes both at once need not
    /// write it.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce); the result of `first` may have changed.
    fn reduce_twice(
        &self,
        stream: &Self::Stream,
        first: &ReduceOp<'_, Self::Buffer>,
        second: &ReduceOp<'_, Self::Buffer>,
    ) -> Result<()> {
        self.reduce(stream, first)?;
        self.reduce(stream, second)
    }

    /// As [`reduce_twice`](Self::reduce_twice), and computes a function of every element and both
    /// results: `last` has the inputs of `second`, and after them the result of `second`, repeated
    /// along the rows. Does not synchronize.
    ///
    /// The result of `second` may be of a wider type than the elements and the result of `last`:
    /// sums of `f16` and `bf16` are `f32`.
    ///
    /// Nothing else reads the results of `first` and `second`. A backend that computes all at once
    /// need not write them.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce) and [`map`](Self::map); the results of `first` and `second` may
    /// have changed.
    fn normalize(
        &self,
        stream: &Self::Stream,
        [first, second]: [&ReduceOp<'_, Self::Buffer>; 2],
        last: &MapOp<'_, Self::Buffer>,
    ) -> Result<()> {
        self.reduce_twice(stream, first, second)?;
        self.map(stream, last)
    }

    /// Picks or puts elements by index, if the device has the extra
    /// [`Gathers`](Capability::Gathers). Does not synchronize.
    ///
    /// [`gather`](crate::gather) defines the operation to the byte. A backend whose memory the host
    /// reaches calls [`gather_on_host`](crate::gather::gather_on_host). An index out of range is
    /// kept until [`take_index_error`](Device::take_index_error) takes it. It must be there before
    /// a wait that covers the operation ends.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`], of [`Gathers`](Capability::Gathers).
    /// - Any device error. Nothing was enqueued, and nothing is changed.
    fn gather(&self, stream: &Self::Stream, op: &GatherOp<'_, Self::Buffer>) -> Result<()> {
        let _ = (stream, op);
        let (backend, operation, capability) = (self.info().backend, "gather", Capability::Gathers);
        Err(Error::Unsupported { backend, operation, capability })
    }
}
