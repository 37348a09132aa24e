//! Reductions of the elements that a mask selects.

use super::{
    Array, ArrayView, DeviceFunction, ErasedArray, ErasedView, Operand, Operands, reduce::reduced_axes,
};
use crate::{
    Bool, Result,
    backend::{Compute, Device},
    function::{
        BinaryOperation, Computable, ElementType, Function, FunctionBuilder, FunctionError, ReduceOperation,
        Reduction, UnaryOperation, Value, squared_deviation, sum_type,
    },
    stream::StreamHandle,
};

/// A mean or a variance of the elements that a mask selects.
pub(super) struct Masked<'a, 'i, D: Compute> {
    pub(super) mask: &'a Function,
    pub(super) stream: &'a StreamHandle<D>,
    pub(super) inputs: &'a [ErasedView<'i, D>],
    pub(super) scalars: &'a [u64],
    pub(super) reduction: &'a Reduction,
}

impl<D: Compute> Masked<'_, '_, D> {
    /// A reduction by `operation` over the same axes, which keeps them.
    fn along(&self, operation: ReduceOperation) -> Reduction {
        Reduction { axes: self.reduction.axes.clone(), ..Reduction::new(operation) }.keep_axes()
    }

    /// Counts the elements that take part.
    #[track_caller]
    fn counts(&self) -> Result<ErasedArray<D>> {
        let count = self.along(ReduceOperation::CountNonzero);
        self.mask.reduce(self.stream, self.inputs, self.scalars, &count)
    }

    /// Returns the elements in the type of sums, and the type of the result.
    fn elements(&self, function: &Function) -> Result<(Function, ElementType), FunctionError> {
        let (mut builder, value) = FunctionBuilder::continuing(function, &[])?;
        let of = self.reduction.element_type.unwrap_or(function.result_type());
        let value = builder.cast(value, of)?;
        let value = builder.cast(value, sum_type(of))?;
        Ok((builder.finish(value)?, of))
    }

    #[track_caller]
    pub(super) fn mean(&self, function: &Function) -> Result<ErasedArray<D>> {
        let (elements, of) = self.elements(function)?;
        let sum = self.along(ReduceOperation::Sum);
        let sums = elements.reduce_where(self.mask, self.stream, self.inputs, self.scalars, &sum)?;
        self.quotients(&sums, &self.counts()?, of)
    }

    #[track_caller]
    pub(super) fn variance(&self, function: &Function) -> Result<ErasedArray<D>> {
        let ((elements, of), sum) = (self.elements(function)?, self.along(ReduceOperation::Sum));
        let sums = elements.reduce_where(self.mask, self.stream, self.inputs, self.scalars, &sum)?;
        let (counts, sum_type) = (self.counts()?, elements.result_type());
        let mean = quotient(sum_type, sum_type, |_, count| Ok(count), false)?;
        let means = mean.apply(self.stream, &[sums.view(), counts.view()], &[])?;
        let mut inputs = self.inputs.to_vec();
        inputs.push(means.view());
        let (builder, value) = FunctionBuilder::continuing(self.mask, &[sum_type])?;
        let mask = builder.finish(value)?;
        let squares = squared_deviation(&elements, sum_type)?;
        let sums = squares.reduce_where(&mask, self.stream, &inputs, self.scalars, &sum)?;
        self.quotients(&sums, &counts, of)
    }

    /// Divides sums by counts. The result has the shape that the caller asked for.
    #[track_caller]
    fn quotients(
        &self,
        sums: &ErasedArray<D>,
        counts: &ErasedArray<D>,
        of: ElementType,
    ) -> Result<ErasedArray<D>> {
        let (operation, ddof) = (self.reduction.operation, i64::try_from(self.reduction.ddof));
        let ddof = if operation == ReduceOperation::Mean { 0 } else { ddof.unwrap_or(i64::MAX) };
        let divisor = |builder: &mut FunctionBuilder, count| {
            let [ddof, zero] =
                [ddof, 0].map(|number| builder.constant(ElementType::I64, number.cast_unsigned()));
            let less = builder.binary(BinaryOperation::Subtract, count, ddof?)?;
            builder.binary(BinaryOperation::Maximum, less, zero?)
        };
        let root = operation == ReduceOperation::StandardDeviation;
        let quotient = quotient(sum_type(of), of, divisor, root)?;
        let views = [sums.view(), counts.view()];
        if self.reduction.keep_axes {
            return quotient.apply(self.stream, &views, &[]);
        }
        let reduced = reduced_axes(self.mask, self.inputs, self.reduction.axes.as_deref())?;
        let [sums, counts] = views.map(|view| view.squeeze_axes(reduced.axes()));
        quotient.apply(self.stream, &[sums?, counts?], &[])
    }
}

/// Divides a sum by a number derived from a count, and takes the root if `root` is set.
fn quotient(
    from: ElementType,
    to: ElementType,
    divisor: impl FnOnce(&mut FunctionBuilder, Value) -> Result<Value, FunctionError>,
    root: bool,
) -> Result<Function, FunctionError> {
    let mut builder = FunctionBuilder::new(&[from, ElementType::I64], &[])?;
    let (total, count) = (builder.input(0)?, builder.input(1)?);
    let count = divisor(&mut builder, count)?;
    let count = builder.cast(count, from)?;
    let mut value = builder.binary(BinaryOperation::Divide, total, count)?;
    if root {
        value = builder.unary(UnaryOperation::Sqrt, value)?;
    }
    let value = builder.cast(value, to)?;
    builder.finish(value)
}

impl<T: Computable, D: Device> ArrayView<'_, T, D> {
    /// Reduces the elements for which a mask is true; both are broadcast together. Does not
    /// synchronize.
    ///
    /// ```
    /// use devarray::{Array, Bool, Context, function::{ReduceOperation, Reduction}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[4], &[1.0_f32, 20.0, 3.0, 40.0])?;
    /// let mask = x.map(&stream, |x| x.less(10.0))?;
    /// let mean = x.reduce_where::<f32>(&stream, &mask, &Reduction::new(ReduceOperation::Mean))?;
    /// assert_eq!(mean.item(&stream)?, 2.0);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceFunction::reduce_where`] and [`reduce`](Self::reduce).
    #[doc(alias = "where", alias = "masked")]
    #[track_caller]
    pub fn reduce_where<'m, R: Computable>(
        &self,
        stream: &StreamHandle<D>,
        mask: impl Operand<'m, D, Item = Bool>,
        reduction: &Reduction,
    ) -> Result<Array<R, D>>
    where
        Self: 'm,
        D: Compute,
    {
        (self, mask).reduce_where(stream, reduction, |(x, mask)| (mask, x))
    }
}

impl<T: Computable, D: Device> Array<T, D> {
    /// Reduces the elements for which a mask is true; both are broadcast together. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::reduce_where`].
    #[doc(alias = "where", alias = "masked")]
    #[track_caller]
    pub fn reduce_where<'m, R: Computable>(
        &'m self,
        stream: &StreamHandle<D>,
        mask: impl Operand<'m, D, Item = Bool>,
        reduction: &Reduction,
    ) -> Result<Array<R, D>>
    where
        D: Compute,
    {
        (self, mask).reduce_where(stream, reduction, |(x, mask)| (mask, x))
    }
}
