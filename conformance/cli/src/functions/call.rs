//! Makes a call of a function on views, and the call on its elements.

use anyhow::Result;
use devarray::{
    ErasedArray, ErasedView, ErasedViewMut, StreamHandle,
    backend::Compute,
    function::{DeviceFunction, ElementType, Function, FunctionError, FunctionErrorKind, Operation},
};

use super::OfElements;
use crate::steps::{self, Step, StepError};

/// A function with its operands, and the call on its values.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call<'a, 'v, D: Compute> {
    /// The function of each element.
    pub function: &'a Function,
    /// The arrays that it reads.
    pub inputs: &'a [ErasedView<'v, D>],
    /// The bits of its scalars.
    pub scalars: &'a [u64],
    /// If `None`, the elements are the result.
    pub of_elements: Option<&'a OfElements>,
}

impl<D: Compute> Call<'_, '_, D> {
    /// The result in a new array. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The library's error.
    pub fn compute(&self, stream: &StreamHandle<D>) -> devarray::Result<ErasedArray<D>> {
        match self.of_elements {
            None => self.function.apply(stream, self.inputs, self.scalars),
            Some(OfElements::Reduced(reduction, ..)) => {
                self.function.reduce(stream, self.inputs, self.scalars, reduction)
            }
            Some(OfElements::Running(scan, _)) => {
                self.function.scan(stream, self.inputs, self.scalars, *scan)
            }
            Some(OfElements::Whole(whole)) => whole.compute(stream, self.only()?),
        }
    }

    /// Writes the result to existing elements. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The library's error.
    pub fn compute_into(
        &self,
        stream: &StreamHandle<D>,
        result: &mut ErasedViewMut<'_, D>,
    ) -> devarray::Result<()> {
        match self.of_elements {
            None => self.function.apply_into(stream, self.inputs, self.scalars, result),
            Some(OfElements::Reduced(reduction, ..)) => {
                self.function.reduce_into(stream, self.inputs, self.scalars, reduction, result)
            }
            Some(OfElements::Running(scan, _)) => {
                self.function.scan_into(stream, self.inputs, self.scalars, *scan, result)
            }
            Some(OfElements::Whole(whole)) => whole.compute_into(stream, self.only()?, result),
        }
    }

    /// The only element of the result, on the host. Blocks until it is there.
    ///
    /// # Errors
    ///
    /// The library's error.
    pub fn item(&self, stream: &StreamHandle<D>) -> devarray::Result<Vec<u8>> {
        let Some(OfElements::Reduced(reduction, ..)) = self.of_elements else {
            return self.compute(stream)?.view().to_bytes(stream);
        };
        let mut item = vec![0; self.result_type().len_bytes()];
        self.function.reduce_item(stream, self.inputs, self.scalars, reduction, &mut item)?;
        Ok(item)
    }

    /// The only input and its type, if the function returns its elements unchanged.
    fn only(&self) -> devarray::Result<(&ErasedView<'_, D>, ElementType)> {
        match (self.function.nodes(), self.inputs) {
            ([node], [input]) if node.operation() == Operation::Input(0) => Ok((input, node.element_type())),
            _ => {
                let message = format!("this takes x0 alone, not {}", self.function);
                Err(FunctionError::new(FunctionErrorKind::Type, message).into())
            }
        }
    }

    /// The type of the result's elements, by the rules of the language.
    #[must_use]
    pub fn result_type(&self) -> ElementType {
        OfElements::result_type(self.of_elements, self.function.result_type())
    }
}

/// Makes the steps of each array; `finish` gets the views of all arrays.
///
/// # Errors
///
/// A step that has no result, and the errors of `finish`.
pub fn with_views<D: Compute, R>(
    stream: &StreamHandle<D>,
    bases: &[ErasedArray<D>],
    steps: &[&[Step]],
    finish: &mut dyn FnMut(&[ErasedView<'_, D>]) -> Result<R>,
) -> Result<R> {
    further_views(stream, bases, steps, Vec::new(), finish)
}

fn further_views<D: Compute, R>(
    stream: &StreamHandle<D>,
    bases: &[ErasedArray<D>],
    steps: &[&[Step]],
    views: Vec<ErasedView<'_, D>>,
    finish: &mut dyn FnMut(&[ErasedView<'_, D>]) -> Result<R>,
) -> Result<R> {
    let ([base, bases @ ..], [own, steps @ ..]) = (bases, steps) else { return finish(&views) };
    let next = steps::apply(stream, base, own, |view, _| {
        let mut views = views.clone();
        views.push(view.clone());
        further_views(stream, bases, steps, views, finish)
    });
    next.unwrap_or_else(|StepError { cause, .. }| Err((*cause).into()))
}
