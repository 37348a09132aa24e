//! Functions on elements: checked here, ordered, submitted.

use smallvec::SmallVec;

use super::Elements;
use crate::{
    LayoutError, Result,
    allocation::AllocationAccess,
    backend::{Compute, MapOp, Operand},
    function::{ElementType, primitive::Program},
    layout::{Injectivity, Layout},
    statistics::Work,
    stream::StreamCore,
};

const OPERATION: &str = "map";

impl<D: Compute> StreamCore<D> {
    /// Computes a function for every element of the result. Inputs are broadcast to its shape. Does
    /// not synchronize.
    ///
    /// An input may be the result itself: the function is then computed in place.
    ///
    /// # Errors
    ///
    /// Another context, an input that has another element size than the program's or does not
    /// broadcast, a result with elements that share memory, an input that overlaps the result
    /// without being it, and any device error.
    #[track_caller]
    pub(crate) fn map(
        &self,
        program: &Program,
        inputs: &[Elements<'_, D>],
        scalars: &[u64],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        self.check_context(OPERATION, [result.allocation])?;
        check_item(program.result_type(), result.item_bytes)?;
        check_counts(program, inputs.len(), scalars.len())?;
        let shape = result.layout.shape();
        let mut layouts: SmallVec<[Layout; 4]> = SmallVec::new();
        let mut touches: SmallVec<[AllocationAccess<'_, D>; 4]> = SmallVec::new();
        for (input, &element_type) in inputs.iter().zip(program.inputs()) {
            self.check_context(OPERATION, [input.allocation])?;
            check_item(element_type, input.item_bytes)?;
            let layout = input.layout.broadcast_to(shape)?;
            self.check_disjoint(input, &layout, result, true)?;
            layouts.push(layout);
            touches.push(input.touch(false));
        }
        if result.layout.is_empty() {
            return Ok(());
        }
        if result.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        if let Some(recorder) = self.recorder() {
            return recorder.map(program, inputs, scalars, result);
        }
        touches.push(result.touch(true));
        let operands: SmallVec<[Operand<'_, D::Buffer>; 4]> = inputs
            .iter()
            .zip(&layouts)
            .map(|(input, layout)| Operand { buffer: input.allocation.buffer(), layout })
            .collect();
        let written = Operand { buffer: result.allocation.buffer(), layout: result.layout };
        let op = MapOp { program, inputs: &operands, scalars, result: written, checked: true };
        let len_bytes = result.layout.len() * result.item_bytes;
        let to = self.submit(Work::Map { len_bytes }, &touches)?.begin();
        self.core.device.map(to.raw(), &op)
    }
}

/// Returns an error unless there are as many inputs and scalars as the program has.
#[track_caller]
pub(super) fn check_counts(program: &Program, inputs: usize, scalars: usize) -> Result<()> {
    for (expected, found) in [(program.inputs().len(), inputs), (program.scalars().len(), scalars)] {
        if expected != found {
            return Err(LayoutError::RankMismatch { expected, found }.into());
        }
    }
    Ok(())
}

/// Returns an error unless elements have the program's size.
#[track_caller]
pub(super) fn check_item(element_type: ElementType, item_bytes: usize) -> Result<()> {
    if element_type.len_bytes() == item_bytes {
        return Ok(());
    }
    let reason = "the function was made for elements of another size";
    Err(LayoutError::ElementSize { item_bytes, reason }.into())
}
