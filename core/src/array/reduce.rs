//! Reductions and scans of erased views.

use std::{slice, sync::Arc};

use super::{AsErasedViewMut, ErasedArray, ErasedView, checks::check_result};
use crate::{
    LayoutError, Result,
    backend::{Compute, ReduceForm},
    function::{Combine, Computable, Function, Lowered, Reduced, Reduction, Scan, interpreter::Reducing},
    layout::{Axes, Layout, NdLayout, Order, broadcast_shapes},
    operations::Elements,
    stream::StreamHandle,
};

/// The axes over which a function's values for these inputs are reduced.
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

/// Computes a lowered reduction or scan: a new array of the combined values of a function of views,
/// broadcast together.
#[track_caller]
pub(super) fn combined<D: Compute>(
    function: &Function,
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    how: Combined<'_>,
) -> Result<ErasedArray<D>> {
    let reduced = reduced_axes(function, inputs, how.axes())?;
    let item_bytes = lowered.finish.result_type().len_bytes();
    let mut result = ErasedArray::uninit(stream, &how.shape(&reduced), item_bytes)?;
    submit_combined(lowered, stream, inputs, scalars, &reduced, how, &result.view_mut().elements())?;
    Ok(result)
}

/// Like [`combined`], into existing elements.
#[track_caller]
pub(super) fn combined_into<D: Compute>(
    function: &Function,
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    how: Combined<'_>,
    result: &mut impl AsErasedViewMut<D>,
) -> Result<()> {
    let (result, reduced) = (result.as_erased_view_mut(), reduced_axes(function, inputs, how.axes())?);
    check_shape(&how.shape(&reduced), result.shape())?;
    submit_combined(lowered, stream, inputs, scalars, &reduced, how, &result.elements())
}

/// Like [`combined`] to one element, and copies it to the host. Blocks until it is there.
#[track_caller]
pub(super) fn combined_item<D: Compute>(
    function: &Function,
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    reduction: &Reduction,
    item: &mut [u8],
) -> Result<()> {
    let reduced = reduced_axes(function, inputs, reduction.axes.as_deref())?;
    if submit_to_host(lowered, stream, inputs, scalars, &reduced, item)? {
        return Ok(());
    }
    let array = combined(function, lowered, stream, inputs, scalars, Combined::Reduction(reduction))?;
    let len = array.layout().len();
    if len != 1 || item.len() != array.item_bytes() {
        let found = if len == 1 { item.len() / array.item_bytes() } else { len };
        return Err(LayoutError::LengthMismatch { expected: 1, found }.into());
    }
    array.view().copy_to_host(stream, item, array.layout())
}

/// The way to combine values.
#[derive(Clone, Copy)]
pub(super) enum Combined<'a> {
    Reduction(&'a Reduction),
    Scan(Scan),
}

impl Combined<'_> {
    /// Looks up the lowered reduction that combines the values of a function to elements of type
    /// `R`.
    pub(super) fn lowered<R: Computable>(self, function: &Function) -> Result<Arc<Lowered>> {
        let lowered = match self {
            Self::Reduction(reduction) => function.lowered_reduction(reduction)?,
            Self::Scan(scan) => function.lowered_scan(scan)?,
        };
        check_result::<R>(lowered.finish.result_type())?;
        Ok(lowered)
    }

    fn axes(&self) -> Option<&[isize]> {
        match self {
            Self::Reduction(reduction) => reduction.axes.as_deref(),
            Self::Scan(scan) => Some(slice::from_ref(&scan.axis)),
        }
    }

    /// The shape of the result.
    fn shape(self, reduced: &Reduced) -> Axes<usize> {
        match self {
            Self::Reduction(reduction) => reduced.shape_of_result(reduction.keep_axes),
            Self::Scan(_) => reduced.shape.clone(),
        }
    }
}

pub(super) fn check_shape(expected: &[usize], found: &[usize]) -> Result<(), LayoutError> {
    if expected == found {
        return Ok(());
    }
    Err(LayoutError::ShapeMismatch { expected: expected.into(), found: found.into() })
}

#[track_caller]
fn submit_combined<D: Compute>(
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    reduced: &Reduced,
    how: Combined<'_>,
    result: &Elements<'_, D>,
) -> Result<()> {
    if result.layout.is_empty() {
        return Ok(());
    }
    let keep_axes = match how {
        Combined::Reduction(reduction) => reduction.keep_axes,
        Combined::Scan(scan) => {
            return submit_scan(lowered, stream, inputs, scalars, reduced, scan.exclusive, result);
        }
    };
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
    stream.0.fuse(&[(first, &into), (second, &result)], &shape, &operands, None)
}

/// Reduces to one element, which the reduction itself writes to the host. Returns false if the
/// device cannot do that.
#[track_caller]
fn submit_to_host<D: Compute>(
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
fn submit_scan<D: Compute>(
    lowered: &Lowered,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    reduced: &Reduced,
    exclusive: bool,
    result: &Elements<'_, D>,
) -> Result<()> {
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

/// The layout with its axes in another order.
pub(super) fn permuted(layout: &Layout, order: &[usize]) -> Result<Layout, LayoutError> {
    let axes: Vec<isize> = order.iter().map(|&axis| axis.cast_signed()).collect();
    layout.permute(&axes)
}

/// The inputs, broadcast together, with their axes in this order.
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

/// Enqueues a reduction. The axes of its result are the kept axes, in their order.
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
