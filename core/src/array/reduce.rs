//! Reductions and scans of erased views.

use super::{ErasedArray, ErasedView};
use crate::{
    LayoutError, Result,
    backend::{Compute, ReduceForm},
    function::{
        Combine, ElementType, Function, FunctionError, Lowered, Reduced, Reduction, Scan,
        interpreter::Reducing,
    },
    layout::{Axes, Layout, NdLayout, Order, broadcast_shapes},
    operations::Elements,
    stream::StreamHandle,
};

/// The axes of a function's values for these inputs.
#[track_caller]
pub(super) fn reduced_axes<D: Compute>(
    function: &Function,
    inputs: &[ErasedView<'_, D>],
    axes: Option<&[isize]>,
) -> Result<Reduced> {
    let shape = broadcast_shapes(inputs.iter().map(NdLayout::shape))?;
    if function.needed_rank() > shape.len() {
        let axis = function.needed_rank().cast_signed() - 1;
        return Err(LayoutError::AxisOutOfRange { axis, rank: shape.len() }.into());
    }
    for input in inputs {
        input.layout().broadcast_to(&shape)?;
    }
    Ok(Reduced::new(shape, axes)?)
}

/// Reduces the function of views, broadcast together, into a new array.
#[track_caller]
pub(super) fn reduce_lowered<D: Compute>(
    function: &Function,
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    reduction: &Reduction,
) -> Result<ErasedArray<D>> {
    let reduced = reduced_axes(function, inputs, reduction.axes.as_deref())?;
    let shape = reduced.shape_of_result(reduction.keep_axes);
    let mut result = ErasedArray::uninit(stream, &shape, lowered.finish.result_type().len_bytes())?;
    submit_total(
        lowered,
        stream,
        inputs,
        scalars,
        &reduced,
        reduction.keep_axes,
        &result.view_mut().elements(),
    )?;
    Ok(result)
}

/// The type of the elements of a reduction.
pub(super) fn reduced_type(function: &Function, reduction: &Reduction) -> Result<ElementType, FunctionError> {
    Ok(function.lowered_reduction(reduction)?.finish.result_type())
}

/// The type of the elements of a scan.
pub(super) fn scanned_type(function: &Function, scan: Scan) -> Result<ElementType, FunctionError> {
    Ok(function.lowered_scan(scan)?.finish.result_type())
}

#[track_caller]
pub(super) fn submit_total<D: Compute>(
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    reduced: &Reduced,
    keep_axes: bool,
    result: &Elements<'_, D>,
) -> Result<()> {
    if result.layout.is_empty() {
        return Ok(());
    }
    let kept = if keep_axes { &result.layout.squeeze_axes(reduced.axes())? } else { result.layout };
    let result = Elements { layout: kept, ..*result };
    if reduced.count() == 0 {
        return stream.0.fill(&result, &lowered.result_of_nothing()?.to_le_bytes()[..result.item_bytes]);
    }
    let Some(spread) = &lowered.spread else {
        let finish = (&lowered.finish, &lowered.finish_scalars(reduced.count())[..]);
        return submit(
            stream,
            inputs,
            scalars,
            (&lowered.element, lowered.combine, finish),
            reduced,
            ReduceForm::Total,
            &result,
        );
    };
    let item_bytes = spread.finish.result_type().len_bytes();
    let mean = ErasedArray::uninit(stream, &reduced.shape_of_result(true), item_bytes)?;
    let layout = Layout::contiguous(&reduced.shape_of_result(false), Order::C)?;
    let into = Elements { layout: &layout, allocation: mean.allocation(), item_bytes };
    let mut inputs = inputs.to_vec();
    inputs.push(mean.view());
    let order = reduced.order();
    let operands = operands(&inputs, reduced, &order)?;
    let shape: Axes<usize> = order.iter().map(|&axis| reduced.shape[axis]).collect();
    let programs =
        [&spread.element, &lowered.element].map(|element| element.combined_program().with_positions(&order));
    let [first, second] = programs;
    let (first, second) = (first?, second?);
    let (of_mean, of_result) = (spread.finish.program(), lowered.finish.program());
    let counts = [spread.finish_scalars(reduced.count()), lowered.finish_scalars(reduced.count())];
    let first = Reducing {
        program: &first,
        scalars,
        combine: Combine::Sum,
        finish: of_mean,
        finish_scalars: &counts[0],
    };
    let second = Reducing {
        program: &second,
        scalars,
        combine: lowered.combine,
        finish: of_result,
        finish_scalars: &counts[1],
    };
    stream.0.reduce_twice([first, second], &shape, &operands, &into, &result)
}

/// Reduces to one element that the same operation brings to the host. Returns whether the
/// device can do that.
#[track_caller]
pub(super) fn total_to_host<D: Compute>(
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    reduced: &Reduced,
    item: &mut [u8],
) -> Result<bool> {
    let is_one = reduced.kept.iter().all(|&axis| reduced.shape[axis] == 1);
    if !is_one || reduced.count() == 0 || lowered.spread.is_some() {
        return Ok(false);
    }
    if item.len() != lowered.finish.result_type().len_bytes() {
        return Ok(false);
    }
    let order = reduced.order();
    let operands = operands(inputs, reduced, &order)?;
    let shape: Axes<usize> = order.iter().map(|&axis| reduced.shape[axis]).collect();
    let elements = lowered.element.combined_program();
    let program = elements.with_positions(&order)?;
    let finish_scalars = lowered.finish_scalars(reduced.count());
    let work = Reducing {
        program: &program,
        scalars,
        combine: lowered.combine,
        finish: lowered.finish.program(),
        finish_scalars: &finish_scalars,
    };
    stream.0.reduce_to_host(work, &shape, &operands, item)
}

#[track_caller]
pub(super) fn submit_scan<D: Compute>(
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    reduced: &Reduced,
    exclusive: bool,
    result: &Elements<'_, D>,
) -> Result<()> {
    if result.layout.is_empty() {
        return Ok(());
    }
    let layout = permuted(result.layout, &reduced.order())?;
    let result = Elements { layout: &layout, ..*result };
    let form = if exclusive { ReduceForm::Exclusive } else { ReduceForm::Inclusive };
    submit(
        stream,
        inputs,
        scalars,
        (&lowered.element, lowered.combine, (&lowered.finish, &[])),
        reduced,
        form,
        &result,
    )
}

pub(super) fn check_shape(expected: &[usize], found: &[usize]) -> Result<(), LayoutError> {
    if expected == found {
        return Ok(());
    }
    Err(LayoutError::ShapeMismatch { expected: expected.into(), found: found.into() })
}

/// The layout with its axes in another order.
pub(super) fn permuted(layout: &Layout, order: &[usize]) -> Result<Layout, LayoutError> {
    let axes: Vec<isize> = order.iter().map(|&axis| axis.cast_signed()).collect();
    layout.permute(&axes)
}

/// Inputs broadcast together, their axes in an order.
pub(super) fn operands<'a, D: Compute>(
    inputs: &'a [ErasedView<'_, D>],
    reduced: &Reduced,
    order: &[usize],
) -> Result<Vec<(Elements<'a, D>, Layout)>, LayoutError> {
    let one = |input: &'a ErasedView<'_, D>| {
        let layout = permuted(&input.layout().broadcast_to(&reduced.shape)?, order)?;
        Ok((input.elements(), layout))
    };
    inputs.iter().map(one).collect()
}

/// Enqueues a reduction, whose result is in the order of the kept axes.
#[track_caller]
fn submit<D: Compute>(
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    (element, combine, (finish, finish_scalars)): (&Function, Combine, (&Function, &[u64])),
    reduced: &Reduced,
    form: ReduceForm,
    result: &Elements<'_, D>,
) -> Result<()> {
    let order = reduced.order();
    let operands = operands(inputs, reduced, &order)?;
    let shape: Axes<usize> = order.iter().map(|&axis| reduced.shape[axis]).collect();
    let program = element.combined_program().with_positions(&order)?;
    let finish = finish.program();
    let work = Reducing { program: &program, scalars, combine, finish, finish_scalars };
    stream.0.reduce(work, form, &shape, &operands, result)
}
