//! Order, search, counts and sums by index: checked here, ordered, submitted.

use std::sync::Arc;

use devarray_order::{Call, OrderErrorKind, Output};
use smallvec::SmallVec;

use super::{Elements, check_len, gather::next_numbers};
use crate::{
    CallSite, LayoutError, Result,
    allocation::AllocationAccess,
    backend::{Compute, OrderOp, OrderSide},
    function::ElementType,
    layout::{Injectivity, axis_index},
    statistics::Work,
    stream::StreamCore,
};

/// Elements of a call, with their type.
pub(crate) type Typed<'a, D> = (ElementType, Elements<'a, D>);

/// The memory that a call gets.
pub(crate) struct Called<'a, D: Compute> {
    pub(crate) call: Call,
    /// The first input of `Put` may be the result; otherwise it is copied to the result first.
    pub(crate) inputs: &'a [Typed<'a, D>],
    /// Results by number; `None` is not wanted.
    pub(crate) results: &'a [Option<Elements<'a, D>>],
    /// The place for the count.
    pub(crate) count: Option<Elements<'a, D>>,
}

/// The outcome of a call for inputs of these types and shapes.
#[track_caller]
pub(crate) fn outputs_of(call: &Call, inputs: &[(ElementType, &[usize])]) -> Result<Vec<Output>> {
    for (_, shape) in inputs {
        check_len(shape)?;
    }
    let refused = match call.outputs(inputs) {
        Ok(outputs) => return Ok(outputs),
        Err(refused) => refused,
    };
    // Every call reports an axis out of range in the same way.
    if let Some(axis) = call.axis().filter(|_| refused.kind() == OrderErrorKind::Shape) {
        axis_index(axis, inputs[0].1.len())?;
    }
    Err(refused.into())
}

impl<D: Compute> StreamCore<D> {
    /// Makes a call. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Another context, elements of another size than their types have, results of another shape or
    /// with elements that share memory, and any device error.
    #[track_caller]
    pub(crate) fn make_call(&self, called: &Called<'_, D>) -> Result<()> {
        let outputs = self.check_order(called)?;
        let Called { call, inputs: [(element_type, x), rest @ ..], results: [Some(result)], .. } = called
        else {
            return self.submit_order(called, &outputs);
        };
        if !matches!(call, Call::Put { .. }) {
            return self.submit_order(called, &outputs);
        }
        let is_result = Arc::ptr_eq(x.allocation, result.allocation) && x.layout == result.layout;
        if !is_result {
            self.copy(result, x)?;
        }
        let in_place = Elements { ..*result };
        let mut inputs: SmallVec<[Typed<'_, D>; 4]> = SmallVec::new();
        inputs.push((*element_type, in_place));
        inputs.extend(rest.iter().map(|(of, elements)| (*of, Elements { ..*elements })));
        let called = Called { inputs: &inputs, results: called.results, call: *call, count: None };
        self.submit_order(&called, &outputs)
    }

    #[track_caller]
    fn submit_order(&self, called: &Called<'_, D>, outputs: &[Output]) -> Result<()> {
        let Called { call, inputs, results, count } = called;
        let name = call.name();
        let mut touches: SmallVec<[AllocationAccess<'_, D>; 4]> = SmallVec::new();
        let written = || results.iter().flatten().chain(count);
        let sides = inputs.iter().map(|(_, elements)| (elements, false));
        for (elements, write) in sides.chain(written().map(|elements| (elements, true))) {
            if !elements.layout.is_empty() {
                touches.push(elements.touch(write));
            }
        }
        let shapes: SmallVec<[&[usize]; 4]> =
            inputs.iter().map(|(_, elements)| elements.layout.shape()).collect();
        if written().all(|elements| elements.layout.is_empty()) && !call.looks_at_indices(&shapes) {
            return Ok(());
        }
        if let Some(recorder) = self.recorder() {
            return recorder.order(called);
        }
        let inputs: SmallVec<[OrderSide<'_, D::Buffer>; 4]> =
            inputs.iter().enumerate().map(|(number, (of, elements))| side(number, *of, elements)).collect();
        let results: SmallVec<[OrderSide<'_, D::Buffer>; 4]> = results
            .iter()
            .zip(outputs)
            .enumerate()
            .filter_map(|(number, (result, output))| {
                Some(side(number, output.element_type, result.as_ref()?))
            })
            .collect();
        let count = count.as_ref().map(|count| side(0, ElementType::I64, count));
        let len_bytes = results.iter().chain(&count).map(OrderSide::len_bytes).sum();
        let site = CallSite::here();
        let to = self.submit(Work::Order { name, len_bytes }, &touches)?;
        // Numbered under the lock, so that the numbers of a context grow in the order of
        // submission.
        let number = next_numbers(1).start;
        let (inputs, results, count) = (&inputs[..], &results[..], count.as_ref());
        let op = OrderOp { number, call: *call, inputs, results, count, checked: true };
        let to = to.begin_noting(|to| {
            if call.finds_indices() {
                to.note_gather(number, site);
            }
        });
        self.core.device.order(to.raw(), &op)?;
        to.end();
        Ok(())
    }

    #[track_caller]
    fn check_order(&self, called: &Called<'_, D>) -> Result<Vec<Output>> {
        let Called { call, inputs, results, count } = called;
        let name = call.name();
        let sides = inputs.iter().map(|(_, elements)| elements);
        for side in sides.chain(results.iter().flatten()).chain(count) {
            self.check_context(name, [side.allocation])?;
        }
        let shapes: SmallVec<[(ElementType, &[usize]); 4]> =
            inputs.iter().map(|(of, elements)| (*of, elements.layout.shape())).collect();
        let outputs = outputs_of(call, &shapes)?;
        for (element_type, elements) in *inputs {
            check_item(*element_type, elements)?;
        }
        if results.len() != outputs.len() {
            return Err(LayoutError::RankMismatch { expected: outputs.len(), found: results.len() }.into());
        }
        let in_place = matches!(call, Call::Put { .. });
        for (result, output) in results.iter().zip(&outputs) {
            let Some(result) = result else { continue };
            check_item(output.element_type, result)?;
            let (due, found) = (&output.shape[..], result.layout.shape());
            let rows = usize::from(output.counted);
            if found.len() != due.len() || found[rows..] != due[rows..] {
                return Err(LayoutError::ShapeMismatch { expected: due.into(), found: found.into() }.into());
            }
        }
        let written: SmallVec<[&Elements<'_, D>; 4]> = results.iter().flatten().chain(count).collect();
        for (at, to) in written.iter().enumerate() {
            if to.layout.injectivity() != Injectivity::Injective {
                return Err(LayoutError::AliasedDestination.into());
            }
            for other in &written[at + 1..] {
                self.check_disjoint(other, other.layout, to, false)?;
            }
            for (number, (_, input)) in inputs.iter().enumerate() {
                self.check_disjoint(input, input.layout, to, in_place && number == 0)?;
            }
        }
        call.check_elements(&shapes)?;
        Ok(outputs)
    }
}

fn side<'a, D: Compute>(
    number: usize,
    element_type: ElementType,
    elements: &Elements<'a, D>,
) -> OrderSide<'a, D::Buffer> {
    let buffer = (!elements.layout.is_empty()).then(|| elements.allocation.buffer());
    OrderSide { number, element_type, buffer, layout: elements.layout }
}

/// Returns an error unless elements have the size of their type.
#[track_caller]
fn check_item<D: Compute>(element_type: ElementType, elements: &Elements<'_, D>) -> Result<()> {
    if element_type.len_bytes() == elements.item_bytes {
        return Ok(());
    }
    let reason = "the call was made for elements of another size";
    Err(LayoutError::ElementSize { item_bytes: elements.item_bytes, reason }.into())
}
