//! Reductions of elements: checked here, ordered, submitted.

use smallvec::SmallVec;

use super::{
    Elements,
    map::{check_counts, check_item, is_apart},
};
use crate::{
    LayoutError, Result,
    backend::{Compute, Operand, ReduceForm, ReduceOp},
    function::interpreter::Reducing,
    hazards::AllocationAccess,
    layout::{Injectivity, Layout},
    statistics::Work,
    stream::StreamCore,
};

const OPERATION: &str = "reduce";

impl<D: Compute> StreamCore<D> {
    /// Combines elements. Each input comes with its layout in the shape of the elements, the kept axes first. Nothing of
    /// that shape is empty. Does not synchronize.
    #[track_caller]
    pub(crate) fn reduce(
        &self,
        work: Reducing<'_>,
        form: ReduceForm,
        shape: &[usize],
        inputs: &[(Elements<'_, D>, Layout)],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        self.check_context(OPERATION, [&result.allocation.core])?;
        check_item(work.finish.result_type(), result.item_bytes)?;
        check_counts(work.program, inputs.len(), work.scalars.len())?;
        let mut touches: SmallVec<[AllocationAccess<'_, D>; 4]> = SmallVec::new();
        for ((input, layout), &element_type) in inputs.iter().zip(work.program.inputs()) {
            self.check_context(OPERATION, [&input.allocation.core])?;
            check_item(element_type, input.item_bytes)?;
            debug_assert!(is_apart(input, layout, result, false), "an input overlaps the result");
            touches.push(input.touch(false));
        }
        if result.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        touches.push(result.touch(true));
        let operands: SmallVec<[Operand<'_, D::Buffer>; 4]> = inputs
            .iter()
            .map(|(input, layout)| Operand { buffer: input.allocation.buffer(), layout })
            .collect();
        let written = Operand { buffer: result.allocation.buffer(), layout: result.layout };
        let op = ReduceOp { work, form, shape, inputs: &operands, result: written, checked: true };
        let len_bytes = result.layout.len() * result.item_bytes;
        let _submission = self.admit(Work::Reduce { len_bytes }, &touches)?;
        self.core.device.reduce(&self.raw, &op)
    }
}
