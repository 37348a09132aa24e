//! An order call or a matrix product, by the names in files and on command lines.

use devarray::{
    ErasedArray, ErasedView, ErasedViewMut, Result, StreamHandle,
    array::AsErasedViewMut,
    backend::Compute,
    function::ElementType,
    order::{Call, DeviceCall, Output},
    product::{ProductError, ProductErrorKind, product_shape},
};

use super::{Arguments, most_elements, named};

/// The type and the shape of an input.
type Input<'a> = (ElementType, &'a [usize]);

/// An input on a device.
type View<'a, D> = (ElementType, ErasedView<'a, D>);

/// A call with its arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum AnyCall {
    /// A call of order, search, counts or sums by index.
    Order(Call),
    /// A matrix product.
    MatMul,
}

impl AnyCall {
    /// The call of a name.
    ///
    /// # Errors
    ///
    /// [`named`] refuses the name or an argument.
    pub fn named(name: &str, arguments: &Arguments) -> std::result::Result<Self, String> {
        if name != "matmul" {
            return named(name, arguments).map(Self::Order);
        }
        match arguments.keys().next() {
            Some(unknown) => Err(format!("matmul has no argument `{unknown}`")),
            None => Ok(Self::MatMul),
        }
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Order(call) => call.name(),
            Self::MatMul => "matmul",
        }
    }

    /// The number of results.
    #[must_use]
    pub fn count_of_outputs(&self) -> usize {
        match self {
            Self::Order(call) => call.count_of_outputs(),
            Self::MatMul => 1,
        }
    }

    /// The least and the greatest number of inputs.
    #[must_use]
    pub fn count_of_inputs(&self) -> (usize, usize) {
        match self {
            Self::Order(Call::BinCount { .. }) => (1, 2),
            Self::Order(Call::SearchSorted { .. } | Call::Histogram | Call::Segments { .. })
            | Self::MatMul => (2, 2),
            Self::Order(Call::Put { .. }) => (3, 3),
            Self::Order(Call::CsrDot) => (4, 4),
            Self::Order(_) => (1, 1),
        }
    }

    /// The results for inputs of these types and shapes.
    ///
    /// # Errors
    ///
    /// The library's error, if the call does not take such inputs.
    pub fn outputs(&self, inputs: &[Input<'_>]) -> Result<Vec<Output>> {
        match self {
            Self::Order(call) => Ok(call.outputs(inputs)?),
            Self::MatMul => {
                let [(of, a), (_, b)] = both(inputs)?;
                let (element_type, shape) = (*of, product_shape(a, b)?);
                Ok(vec![Output { element_type, shape, counted: false }])
            }
        }
    }

    /// The largest number of elements in an operand.
    ///
    /// # Errors
    ///
    /// [`outputs`](Self::outputs) refuses the inputs.
    pub fn most_elements(&self, inputs: &[Input<'_>]) -> Result<usize> {
        if let Self::Order(call) = self {
            return Ok(most_elements(call, inputs)?);
        }
        let count = |shape: &[usize]| shape.iter().fold(1_usize, |len, &extent| len.saturating_mul(extent));
        let outputs = self.outputs(inputs)?;
        let results = outputs.iter().map(|output| count(&output.shape));
        Ok(inputs.iter().map(|(_, shape)| count(shape)).chain(results).max().unwrap_or(0))
    }

    /// Makes the call. Returns the wanted results as new arrays.
    ///
    /// # Errors
    ///
    /// The library's error.
    pub fn apply_to_some<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[View<'_, D>],
        wanted: &[bool],
    ) -> Result<Vec<Option<ErasedArray<D>>>> {
        match self {
            Self::Order(call) => call.apply_to_some(stream, inputs, wanted),
            Self::MatMul => {
                let [(of, a), (_, b)] = both(inputs)?;
                Ok(vec![Some(a.matmul(stream, *of, b)?)])
            }
        }
    }

    /// Makes the call into existing elements.
    ///
    /// # Errors
    ///
    /// The library's error.
    pub fn apply_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[View<'_, D>],
        results: &mut [Option<ErasedViewMut<'_, D>>],
    ) -> Result<()> {
        match self {
            Self::Order(call) => call.apply_into(stream, inputs, results, None),
            Self::MatMul => {
                let [(of, a), (_, b)] = both(inputs)?;
                let mut results = results.iter_mut().flatten();
                results.try_for_each(|result| a.matmul_into(stream, *of, b, &mut result.as_erased_view_mut()))
            }
        }
    }
}

/// The operands of a product, which must have the same type.
fn both<T>(inputs: &[(ElementType, T)]) -> Result<&[(ElementType, T); 2]> {
    let refuse = |message: String| ProductError::new(ProductErrorKind::Type, message).into();
    let both: &[_; 2] =
        inputs.try_into().map_err(|_| refuse(format!("{} operands of a product", inputs.len())))?;
    if both[0].0 == both[1].0 && both[0].0 != ElementType::Bool {
        return Ok(both);
    }
    Err(refuse(format!("{} and {} have no product", both[0].0, both[1].0)))
}
