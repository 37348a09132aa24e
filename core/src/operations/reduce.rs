//! Reductions of elements: checked here, ordered, submitted.
#![allow(unsafe_code)] // uses a place of the host as the contract says

use smallvec::SmallVec;

use super::{
    Elements, check_len,
    map::{check_counts, check_item},
};
use crate::{
    LayoutError, Result,
    allocation::AllocationAccess,
    backend::{Compute, MapOp, Operand, ReduceForm, ReduceOp, Stream as _},
    function::{interpreter::Reducing, primitive::Program},
    layout::{Injectivity, Layout, Order},
    statistics::Work,
    stream::StreamCore,
};

const OPERATION: &str = "reduce";

/// Elements that are read, with their layout in the shape of the reduced elements.
type Input<'a, D> = (Elements<'a, D>, Layout);

impl<D: Compute> StreamCore<D> {
    /// Combines elements. Each input comes with its layout in the shape of the elements, the kept
    /// axes first. Nothing of that shape is empty. Does not synchronize.
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
        let operands = operands(inputs);
        let op = op(work, form, shape, &operands, result);
        let _submission = self.admit(Work::Reduce { len_bytes: op.len_bytes() }, &touches)?;
        self.core.device.reduce(&self.raw, &op)
    }

    /// Reduces elements to `between`, and with that as another input, the last, to the result. Does
    /// not synchronize.
    #[track_caller]
    pub(crate) fn reduce_twice(
        &self,
        [first, second]: [Reducing<'_>; 2],
        shape: &[usize],
        inputs: &[Input<'_, D>],
        between: &Elements<'_, D>,
        result: &Elements<'_, D>,
    ) -> Result<()> {
        check_len(shape)?;
        let (last, before) = inputs.split_last().expect("the last input is what comes between");
        debug_assert!(std::ptr::eq(last.0.allocation, between.allocation), "the last input comes between");
        let mut touches = self.checked(&first, before, between)?;
        touches.extend(self.checked(&second, inputs, result)?);
        let operands = operands(inputs);
        let of_first = &operands[..before.len()];
        let first = op(first, ReduceForm::Total, shape, of_first, between);
        let second = op(second, ReduceForm::Total, shape, &operands, result);
        let _submission = self.admit(Work::Reduce { len_bytes: second.len_bytes() }, &touches)?;
        self.core.device.reduce_twice(&self.raw, &first, &second)
    }

    /// Reduces elements twice, as [`reduce_twice`](Self::reduce_twice), and computes the function
    /// of all three inputs for each element: the last two are what comes between. Does not
    /// synchronize.
    #[track_caller]
    pub(crate) fn normalize(
        &self,
        ([first, second], last): ([Reducing<'_>; 2], &Program),
        shape: &[usize],
        inputs: &[Input<'_, D>; 3],
        [of_first, of_second]: [&Elements<'_, D>; 2],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        check_item(last.result_type(), result.item_bytes)?;
        check_counts(last, inputs.len(), 0)?;
        let mut touches = self.checked(&first, &inputs[..1], of_first)?;
        touches.extend(self.checked(&second, &inputs[..2], of_second)?);
        self.check_context(OPERATION, [&result.allocation.core])?;
        if result.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        for (input, layout) in inputs {
            self.check_disjoint(input, layout, result, true)?;
        }
        touches.extend(inputs.iter().map(|(input, _)| input.touch(false)));
        touches.push(result.touch(true));
        let operands = operands(inputs);
        let first = op(first, ReduceForm::Total, shape, &operands[..1], of_first);
        let second = op(second, ReduceForm::Total, shape, &operands[..2], of_second);
        let written = Operand { buffer: result.allocation.buffer(), layout: result.layout };
        let last = MapOp { program: last, inputs: &operands, scalars: &[], result: written, checked: true };
        let _submission = self.admit(Work::Map { len_bytes: last.len_bytes() }, &touches)?;
        self.core.device.normalize(&self.raw, [&first, &second], &last)
    }

    /// Combines elements to one and brings it to the host by the same operation, if the backend
    /// can; answers whether it could. Blocks until the element is there.
    #[track_caller]
    pub(crate) fn reduce_to_host(
        &self,
        work: Reducing<'_>,
        shape: &[usize],
        inputs: &[Input<'_, D>],
        item: &mut [u8],
    ) -> Result<bool> {
        let fetching = self.raw.fetching().filter(|fetching| item.len() <= fetching.most_bytes());
        let Some(fetching) = fetching else { return Ok(false) };
        check_len(shape)?;
        let touches = self.checked_inputs(&work, inputs, item.len())?;
        let (operands, layout) = (operands(inputs), Layout::contiguous(&[], Order::C)?);
        // SAFETY: the one reduction below has the place as its result, on this stream, and the buffer
        // is gone before the element is asked for or the place taken back.
        let Some((place, begun)) = unsafe { fetching.place(item.len()) }? else { return Ok(false) };
        let result = Operand { buffer: &place, layout: &layout };
        let op = ReduceOp { work, form: ReduceForm::Total, shape, inputs: &operands, result, checked: true };
        // The position is taken with the submission: what other threads submit later is not
        // covered.
        let submitted =
            self.admit(Work::Reduce { len_bytes: op.len_bytes() }, &touches).and_then(|submission| {
                self.core.device.reduce(&self.raw, &op)?;
                Ok(submission.position(self.lane.index))
            });
        drop(place);
        let position = match submitted {
            Ok(position) => position,
            Err(error) => {
                fetching.give_back(begun);
                return Err(error);
            }
        };
        self.take_fetched(fetching, begun, item, &position).map(|()| true)
    }

    /// What the inputs of a reduction touch, unless they must not be read.
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
            self.check_context(OPERATION, [&input.allocation.core])?;
            check_item(element_type, input.item_bytes)?;
            touches.push(input.touch(false));
        }
        Ok(touches)
    }

    /// What a reduction touches, unless it must not be.
    #[track_caller]
    fn checked<'a>(
        &self,
        work: &Reducing<'_>,
        inputs: &[Input<'a, D>],
        result: &Elements<'a, D>,
    ) -> Result<SmallVec<[AllocationAccess<'a, D>; 4]>> {
        self.check_context(OPERATION, [&result.allocation.core])?;
        let mut touches = self.checked_inputs(work, inputs, result.item_bytes)?;
        for (input, layout) in inputs {
            self.check_disjoint(input, layout, result, false)?;
        }
        if result.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
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
