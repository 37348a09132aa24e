//! One argument of a function: an array, a view or a number.

use std::fmt;

use smallvec::SmallVec;

use super::{Array, ArrayView, ArrayViewMut, ErasedView, SharedArray, ViewRef};
use crate::{
    backend::Device,
    function::{Arguments, Computable, Expression, Function, FunctionError, Parameter, trace},
};

/// The arguments of one call of a function.
pub struct Call<'a, D: Device> {
    pub(super) parameters: SmallVec<[Parameter; 4]>,
    pub(super) inputs: SmallVec<[ErasedView<'a, D>; 4]>,
    pub(super) scalars: SmallVec<[u64; 4]>,
}

/// The number of arguments.
impl<D: Device> fmt::Debug for Call<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({} arguments)", self.parameters.len())
    }
}

impl<'a, D: Device> Call<'a, D> {
    pub(super) fn input<T: Computable>(&mut self, view: ErasedView<'a, D>) {
        self.parameters.push(Parameter::Input(T::TYPE));
        self.inputs.push(view);
    }

    /// Adds an argument that a device computes in the same call.
    pub(super) fn element<T: Computable>(&mut self) {
        self.parameters.push(Parameter::Input(T::TYPE));
    }

    /// Appends the arguments of another call.
    pub(super) fn extend<'b: 'a>(&mut self, others: Call<'b, D>) {
        self.parameters.extend(others.parameters);
        others.inputs.into_iter().for_each(|input| self.inputs.push(input));
        self.scalars.extend(others.scalars);
    }

    fn scalar<T: Computable>(&mut self, value: T) {
        self.parameters.push(Parameter::Scalar(T::TYPE));
        self.scalars.push(value.to_bits());
    }

    pub(super) fn trace<R: Computable>(
        &self,
        write: impl FnOnce(&mut Arguments<'_>) -> Expression<R>,
    ) -> Result<Function, FunctionError> {
        trace(&self.parameters, write)
    }
}

/// One argument of a function: an array or a view, which gives one element for each element of the
/// result, or a number, which serves all of them.
///
/// A call with another number reuses the compiled function. A literal inside the closure is part of
/// the function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a function on a device of type `{D}`",
    note = "arguments are `&Array`, `&ArrayView`, `&ArrayViewMut`, `&SharedArray` and numbers; several of them are a tuple"
)]
pub trait Operand<'a, D: Device> {
    /// The type of its elements.
    type Item: Computable;

    /// Adds itself to the arguments of a call.
    fn bind(self, call: &mut Call<'a, D>);
}

impl<'a, T: Computable, D: Device> Operand<'a, D> for &'a Array<T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().view());
    }
}

impl<'a, T: Computable, D: Device> Operand<'a, D> for &'a SharedArray<T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.view().as_erased().clone());
    }
}

impl<'a, T: Computable, D: Device> Operand<'a, D> for &ArrayView<'a, T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().clone());
    }
}

impl<'a, T: Computable, D: Device> Operand<'a, D> for ArrayView<'a, T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().clone());
    }
}

impl<'a, T: Computable, D: Device> Operand<'a, D> for &'a ArrayViewMut<'_, T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_view().into_erased());
    }
}

/// The result of [`as_array_view`](super::AsArrayView::as_array_view).
impl<'a, T: Computable, D: Device> Operand<'a, D> for &ViewRef<'_, 'a, T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().clone());
    }
}

impl<'a, T: Computable, D: Device> Operand<'a, D> for ViewRef<'_, 'a, T, D> {
    type Item = T;

    fn bind(self, call: &mut Call<'a, D>) {
        call.input::<T>(self.as_erased().clone());
    }
}

impl<D: Device, T: Computable> Operand<'_, D> for T {
    type Item = T;

    fn bind(self, call: &mut Call<'_, D>) {
        call.scalar(self);
    }
}
