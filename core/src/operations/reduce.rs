//! Reductions of elements: checked here, ordered, submitted.

use smallvec::SmallVec;

use super::{
    Elements, check_len,
    map::{check_counts, check_item},
};
use crate::{
    LayoutError, Result,
    allocation::AllocationAccess,
    backend::{
        Compute, FetchOp, FetchSource, Fetches as _, FusedOp, MapOp, Operand, ReduceForm, ReduceOp, TotalOp,
    },
    function::{interpreter::Reducing, primitive::Program},
    layout::{Injectivity, Layout, Order},
    statistics::Work,
    stream::StreamCore,
};

const OPERATION: &str = "reduce";

/// Elements that are read, and their layout in the shape of the reduced elements.
type Input<'a, D> = (Elements<'a, D>, Layout);

impl<D: Compute> StreamCore<D> {
    /// Combines elements. Each input has a layout in the shape of the elements, with the kept axes
    /// first. No extent is 0. Does not synchronize.
    #[track_caller]
    pub(crate) fn reduce(
        &self,
        work: Reducing<'_>,
        form: ReduceForm,
        shape: &[usize],
        inputs: &[Input<'_, D>],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        check_len(shape)?;
        let touches = self.checked(&work, inputs, result)?;
        if let Some(recorder) = self.recorder() {
            return recorder.reduce(&work, form, shape, inputs, result);
        }
        let operands = operands(inputs);
        let op = op(work, form, shape, &operands, result);
        let work = Work::Reduce { len_bytes: op.len_bytes() };
        let to = self.submit(work, &touches)?.begin();
        self.core.device.reduce(to.raw(), &op)
    }

    /// Reduces elements several times: each result becomes another input of the next reduction. Then
    /// computes a function of all inputs and results for each element, if there is one. Does not
    /// synchronize.
    #[track_caller]
    pub(crate) fn fuse(
        &self,
        works: &[(Reducing<'_>, &Elements<'_, D>)],
        shape: &[usize],
        inputs: &[Input<'_, D>],
        last: Option<(&Program, &Elements<'_, D>)>,
    ) -> Result<()> {
        check_len(shape)?;
        let first = inputs.len() + 1 - works.len() - usize::from(last.is_some());
        let mut touches: SmallVec<[AllocationAccess<'_, D>; 4]> = SmallVec::new();
        for (count, (work, result)) in (first..).zip(works) {
            touches.extend(self.checked(work, &inputs[..count], result)?);
        }
        if let Some((program, result)) = last {
            check_item(program.result_type(), result.item_bytes)?;
            check_counts(program, inputs.len(), 0)?;
            self.check_written(result)?;
            for (input, layout) in inputs {
                self.check_context(OPERATION, [input.allocation])?;
                self.check_disjoint(input, layout, result, true)?;
            }
            touches.extend(inputs.iter().map(|(input, _)| input.touch(false)));
            touches.push(result.touch(true));
        }
        if let Some(recorder) = self.recorder() {
            return recorder.fuse(works, shape, inputs, last);
        }
        let operands = operands(inputs);
        let mut reductions: SmallVec<[ReduceOp<'_, D::Buffer>; 2]> = SmallVec::new();
        for (count, (work, result)) in (first..).zip(works) {
            reductions.push(op(*work, ReduceForm::Total, shape, &operands[..count], result));
        }
        let map = last.map(|(program, result)| {
            let result = Operand { buffer: result.allocation.buffer(), layout: result.layout };
            MapOp { program, inputs: &operands, scalars: &[], result, checked: true }
        });
        let op = FusedOp { reductions: &reductions, last: map.as_ref() };
        let len_bytes = op.len_bytes();
        let work = if last.is_some() { Work::Map { len_bytes } } else { Work::Reduce { len_bytes } };
        let to = self.submit(work, &touches)?.begin();
        self.core.device.fuse(to.raw(), &op)
    }

    /// Combines elements to one, which the same operation writes to the host, if the backend can.
    /// Returns whether it could. Blocks until the element is there.
    #[track_caller]
    pub(crate) fn reduce_to_host(
        &self,
        work: Reducing<'_>,
        shape: &[usize],
        inputs: &[Input<'_, D>],
        item: &mut [u8],
    ) -> Result<bool> {
        self.check_runs(OPERATION)?;
        if item.len() > self.raw.most_fetched_bytes() {
            return Ok(false);
        }
        check_len(shape)?;
        let touches = self.checked_inputs(&work, inputs, item.len())?;
        let (operands, layout) = (operands(inputs), Layout::contiguous(&[], Order::C)?);
        let total = TotalOp { work, shape, inputs: &operands, place: &layout };
        let op = FetchOp { source: FetchSource::Total(total), len_bytes: item.len() };
        self.fetch(&op, Work::Reduce { len_bytes: item.len() }, &touches, item).map(|()| true)
    }

    /// Checks the inputs of a reduction, and returns their accesses.
    #[track_caller]
    fn checked_inputs<'a>(
        &self,
        work: &Reducing<'_>,
        inputs: &[Input<'a, D>],
        item_bytes: usize,
    ) -> Result<SmallVec<[AllocationAccess<'a, D>; 4]>> {
        check_item(work.finish.result_type(), item_bytes)?;
        check_counts(work.program, inputs.len(), work.scalars.len())?;
        let mut touches = SmallVec::new();
        for ((input, _), &element_type) in inputs.iter().zip(work.program.inputs()) {
            self.check_context(OPERATION, [input.allocation])?;
            check_item(element_type, input.item_bytes)?;
            touches.push(input.touch(false));
        }
        Ok(touches)
    }

    /// Returns an error if the result belongs to another context, or reaches an element twice.
    #[track_caller]
    fn check_written(&self, result: &Elements<'_, D>) -> Result<()> {
        self.check_context(OPERATION, [result.allocation])?;
        if result.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        Ok(())
    }

    /// Checks a reduction, and returns its accesses.
    #[track_caller]
    fn checked<'a>(
        &self,
        work: &Reducing<'_>,
        inputs: &[Input<'a, D>],
        result: &Elements<'a, D>,
    ) -> Result<SmallVec<[AllocationAccess<'a, D>; 4]>> {
        let mut touches = self.checked_inputs(work, inputs, result.item_bytes)?;
        for (input, layout) in inputs {
            self.check_disjoint(input, layout, result, false)?;
        }
        self.check_written(result)?;
        touches.push(result.touch(true));
        Ok(touches)
    }
}

fn operands<'a, D: Compute>(inputs: &'a [Input<'_, D>]) -> SmallVec<[Operand<'a, D::Buffer>; 4]> {
    inputs.iter().map(|(input, layout)| Operand { buffer: input.allocation.buffer(), layout }).collect()
}

fn op<'a, D: Compute>(
    work: Reducing<'a>,
    form: ReduceForm,
    shape: &'a [usize],
    inputs: &'a [Operand<'a, D::Buffer>],
    result: &Elements<'a, D>,
) -> ReduceOp<'a, D::Buffer> {
    let result = Operand { buffer: result.allocation.buffer(), layout: result.layout };
    ReduceOp { work, form, shape, inputs, result, checked: true }
}
