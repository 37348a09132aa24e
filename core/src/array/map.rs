//! Functions on arrays and views, written as closures.

use super::{Array, ArrayView, ArrayViewMut, ErasedView, SharedArray};
use crate::{
    Result,
    backend::Compute,
    function::{Arguments, Computable, Expression, Parameter, trace},
    stream::StreamHandle,
};

/// An argument of a function: an array or a view, one element of which is taken for each element of the result, or a
/// number, which is the same for all.
pub trait Operand<D: Compute> {
    /// The type of its elements.
    type Item: Computable;

    /// Adds it to the arguments of a call.
    fn bind(self, call: &mut Call<'_, D>)
    where
        Self: Sized;
}
