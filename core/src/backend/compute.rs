//! Computations of a device.
#![allow(unsafe_code)] // declares unsafe traits; performs no unsafe operation

mod fuse;
mod gather;
mod map;
mod order;
mod product;
mod product_function;
mod product_steps;
mod reduce;

#[doc(inline)]
pub use crate::function::ReduceForm;
pub use fuse::FusedOp;
pub use gather::GatherOp;
pub use map::{MapOp, Operand};
pub use order::{OrderOp, OrderSide};
pub use product::ProductOp;
pub use product_function::ProductFunction;
pub use reduce::ReduceOp;

use super::Device;
use crate::{
    Result,
    gather::{Finished, IndexError},
};

/// A device that computes: it implements [`Maps`], [`Reduces`], [`Fuses`], [`Gathers`], [`Orders`] and
/// [`Products`]. Every device that implements these six traits is `Compute`.
///
/// # For callers
///
/// Programs use the methods of arrays and views, which end in the traits' methods.
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` may not compute functions: `{Self}: Compute` is missing",
    label = "not a `Compute`",
    note = "functions, reductions, elements by index, order, products and random numbers take `D: Compute` where copies and layouts take `D: Device`: write `D: devarray::Compute`, which includes `Device`",
    note = "a backend implements `Maps`, `Reduces`, `Fuses`, `Gathers`, `Orders` and `Products`, all of them; for those that its devices do not have, `devarray::capabilities!` answers"
)]
pub trait Compute: Maps + Reduces + Fuses + Gathers + Orders + Products {}

#[diagnostic::do_not_recommend]
impl<D: Maps + Reduces + Fuses + Gathers + Orders + Products> Compute for D {}

/// A device that computes functions: the capability [`Functions`](super::Capability::Functions).
///
/// # For backend authors
///
/// Core hands over a checked [`Program`](crate::function::primitive::Program) with its operands. A
/// backend whose memory the host reaches passes both to core's interpreter; others compile the
/// program. Both must agree to the bit, which the primitives make possible.
///
/// # Safety
///
/// Like [`Stream`](super::Stream): the operation takes effect in stream order, reads the elements of
/// the inputs, writes the elements of the result, and touches no other byte.
pub unsafe trait Maps: Device {
    /// Computes a function for every element of the result. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - Any device error. Nothing was enqueued, and the result is unchanged.
    fn map(&self, stream: &Self::Stream, op: &MapOp<'_, Self::Buffer>) -> Result<()>;
}

/// A device that reduces elements: the capability [`Reductions`](super::Capability::Reductions).
///
/// # Safety
///
/// Like [`Maps`].
pub unsafe trait Reduces: Device {
    /// Reduces elements along axes, or computes their scan along one. Does not synchronize.
    ///
    /// The order in which floats are combined is part of the operation:
    /// [`Combine`](crate::function::Combine).
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - Any device error. Nothing was enqueued, and the result is unchanged.
    fn reduce(&self, stream: &Self::Stream, op: &ReduceOp<'_, Self::Buffer>) -> Result<()>;
}

/// A device that may keep a row between passes over it, as a variance and a softmax make them.
///
/// # Safety
///
/// Like [`Reduces`] and [`Maps`].
pub unsafe trait Fuses: Maps + Reduces {
    /// Makes all passes, at once or as [`one_by_one`](FusedOp::one_by_one) does. Does not
    /// synchronize.
    ///
    /// Nothing else reads the results in between. A device that makes the passes at once need
    /// not write them.
    ///
    /// # Errors
    ///
    /// The errors of [`reduce`](Reduces::reduce) and [`map`](Maps::map); the results in between may have
    /// changed.
    fn fuse(&self, stream: &Self::Stream, op: &FusedOp<'_, Self::Buffer>) -> Result<()>;
}

/// A device that picks and puts elements by index: the capability
/// [`Gathers`](super::Capability::Gathers).
///
/// # Safety
///
/// Like [`Maps`], with the sides of the [gather](crate::gather) for operands.
pub unsafe trait Gathers: Device {
    /// Picks or puts elements by index. Does not synchronize.
    ///
    /// [`gather`](crate::gather) defines the operation to the byte. A backend whose memory
    /// the host reaches calls [`gather_on_host`](crate::gather::gather_on_host). An index out
    /// of range is kept until [`take_index_error`](Self::take_index_error) takes it. It must be
    /// there before a wait that covers the operation ends.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - Any device error. Nothing was enqueued, and nothing is changed.
    fn gather(&self, stream: &Self::Stream, op: &GatherOp<'_, Self::Buffer>) -> Result<()>;

    /// Takes the first index out of range that a finished [`gather`](Self::gather) found, if it
    /// found one. Does not synchronize and does not call the driver.
    ///
    /// # For backend authors
    ///
    /// Core asks once for each [launch](GatherOp::number) of a gather that was enqueued with
    /// [`OutOfRange::Error`](crate::gather::OutOfRange::Error), when a wait or a query has
    /// shown that it is finished, or when its context ends; what is kept for the gather can
    /// then be reused. Nobody asks about a gather that is not known to be finished when its
    /// context ends. On a turn ([`RunsAtOnce`](super::RunsAtOnce)), core also asks about one that
    /// failed.
    fn take_index_error(&self, gather: Finished) -> Option<IndexError>;
}

/// A device that orders, searches and counts elements, and combines them by index: the capability
/// [`Orders`](super::Capability::Orders).
///
/// # Safety
///
/// Like [`Maps`], with the sides of the [call](crate::order) for operands.
pub unsafe trait Orders: Gathers {
    /// Makes a call of [`order`](crate::order). Does not synchronize.
    ///
    /// A backend whose memory the host reaches calls
    /// [`order_on_host`](crate::order::order_on_host). The first index error, or a group that needs an
    /// element and has none, is kept until [`take_index_error`](Gathers::take_index_error) takes it by the
    /// number of the operation. Operations of this kind and gathers share one sequence of numbers.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - Any device error. Nothing was enqueued, and nothing is changed.
    fn order(&self, stream: &Self::Stream, op: &OrderOp<'_, Self::Buffer>) -> Result<()>;
}

/// A device that multiplies matrices: the capability [`Products`](super::Capability::Products).
///
/// # Safety
///
/// Like [`Maps`].
pub unsafe trait Products: Device {
    /// Multiplies matrices, as [`product`](crate::product) says. Does not synchronize.
    ///
    /// A [function](ProductOp::function) may follow: it takes each element, rounded to its type, and
    /// elements of other operands. Or the chains [start](ProductOp::is_onto) from the elements of the
    /// result. A backend whose memory the host reaches calls [`run_on_host`](ProductOp::run_on_host); one
    /// that has no kernel for a function after a product calls [`one_by_one`](ProductOp::one_by_one).
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::Error::Unsupported): the device does not have the capability.
    /// - Any device error. Nothing was enqueued, and nothing is changed; where a function follows, the
    ///   result may be.
    fn product(&self, stream: &Self::Stream, op: &ProductOp<'_, Self::Buffer>) -> Result<()>;
}

impl<B> FusedOp<'_, B> {
    /// Enqueues one pass after another, as any device can. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`Fuses::fuse`].
    #[track_caller]
    pub fn one_by_one<D: Maps<Buffer = B> + Reduces>(&self, device: &D, stream: &D::Stream) -> Result<()> {
        for reduction in self.reductions {
            device.reduce(stream, reduction)?;
        }
        self.last.map_or(Ok(()), |last| device.map(stream, last))
    }
}
