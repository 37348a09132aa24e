//! Functions on elements: checked here, ordered, submitted.

use smallvec::SmallVec;

use super::Elements;
use crate::{
    Error, LayoutError, Result,
    backend::{Compute, Device, MapOp, Operand},
    function::{ElementType, primitive::Program},
    hazards::AllocationAccess,
    layout::{Injectivity, Layout, NdLayout, Overlap},
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
    /// Another context, an input of another element size than the program's or that does not
    /// broadcast, a result some of whose elements share memory, an input that overlaps the result
    /// without being it, and what the device says.
    #[track_caller]
    pub(crate) fn map(
        &self,
        program: &Program,
        inputs: &[Elements<'_, D>],
        scalars: &[u64],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        self.check_context(OPERATION, [&result.allocation.core])?;
        check_item(program.result_type(), result.item_bytes)?;
        check_counts(program, inputs.len(), scalars.len())?;
        let shape = result.layout.shape();
        let mut layouts: SmallVec<[Layout; 4]> = SmallVec::new();
        let mut touches: SmallVec<[AllocationAccess<'_, D>; 4]> = SmallVec::new();
        for (input, &element_type) in inputs.iter().zip(program.inputs()) {
            self.check_context(OPERATION, [&input.allocation.core])?;
            check_item(element_type, input.item_bytes)?;
            let layout = input.layout.broadcast_to(shape)?;
            debug_assert!(is_apart(input, &layout, result, true), "an input overlaps the result");
            layouts.push(layout);
            touches.push(input.touch(false));
        }
        if result.layout.is_empty() {
            return Ok(());
        }
        if result.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
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
        let _submission = self.admit(Work::Map { len_bytes }, &touches)?;
        self.core.device.map(&self.raw, &op)
    }
}

/// Refuses inputs and scalars that are not as many as the program's.
pub(super) fn check_counts(program: &Program, inputs: usize, scalars: usize) -> Result<()> {
    for (expected, found) in [(program.inputs().len(), inputs), (program.scalars().len(), scalars)] {
        if expected != found {
            return Err(LayoutError::RankMismatch { expected, found }.into());
        }
    }
    Ok(())
}

/// Refuses elements of another size than the program's.
pub(super) fn check_item(element_type: ElementType, item_bytes: usize) -> Result<()> {
    if element_type.len_bytes() == item_bytes {
        return Ok(());
    }
    let reason = "the function was made for elements of another size";
    Err(Error::Layout(LayoutError::ElementSize { item_bytes, reason }))
}

/// Whether an input shares no memory with the result, or is the result's own elements and may be.
/// Borrows see to that: a view to write is alone.
pub(super) fn is_apart<D: Device>(
    input: &Elements<'_, D>,
    layout: &Layout,
    result: &Elements<'_, D>,
    in_place: bool,
) -> bool {
    let is_same = in_place && input.item_bytes == result.item_bytes && layout == result.layout;
    !std::ptr::eq(input.allocation, result.allocation)
        || is_same
        || !input.touch(false).footprint.meets(&result.touch(true).footprint)
        || in_bytes(layout, input.item_bytes)
            .zip(in_bytes(result.layout, result.item_bytes))
            .is_none_or(|(read, written)| read.overlap(&written) != Overlap::Overlapping)
}

/// The bytes of elements, which can be compared with the bytes of elements of another size; nothing
/// if they are too many to be counted.
pub(super) fn in_bytes(layout: &Layout, item_bytes: usize) -> Option<Layout> {
    layout.expand_dims(-1).ok()?.reinterpreted(item_bytes, 1).ok()
}
