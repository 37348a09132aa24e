//! Reductions and running forms of erased views.
#![allow(unsafe_code)] // computes one element on the host

use std::{slice, sync::Arc};

use super::{AsErasedViewMut, ErasedArray, ErasedView, checks::check_result, compute::broadcast_shape};
use crate::{
    LayoutError, Result,
    backend::{Compute, ReduceForm},
    function::{
        Combine, Computable, Function, FunctionError, FunctionErrorKind, Lowered, Reduction, Scan,
        interpreter::{InputElements, Reducing, ResultElements, interpret},
    },
    layout::{Axes, Layout, NdLayout, Order},
    operations::Elements,
    stream::StreamHandle,
};

/// Which axes are reduced, and the order that has the others first.
pub(super) struct Reduced {
    pub(super) shape: Axes<usize>,
    pub(super) kept: Vec<usize>,
    reduced: Vec<usize>,
}

impl Reduced {
    /// The axes of a function's values for these inputs.
    #[track_caller]
    pub(super) fn of<D: Compute>(
        function: &Function,
        inputs: &[ErasedView<'_, D>],
        axes: Option<&[isize]>,
    ) -> Result<Self> {
        let shape = broadcast_shape(inputs.iter().map(NdLayout::shape))?;
        if function.needed_rank() > shape.len() {
            let axis = function.needed_rank().cast_signed() - 1;
            return Err(LayoutError::AxisOutOfRange { axis, rank: shape.len() }.into());
        }
        for input in inputs {
            input.layout().broadcast_to(&shape)?;
        }
        Ok(Self::new(shape, axes)?)
    }

    fn new(shape: Axes<usize>, axes: Option<&[isize]>) -> Result<Self, LayoutError> {
        let rank = shape.len();
        let mut reduced = Vec::new();
        match axes {
            None => reduced.extend(0..rank),
            Some(axes) => {
                for &axis in axes {
                    let found = if axis < 0 { axis.checked_add_unsigned(rank) } else { Some(axis) };
                    let found = found.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
                    let found = found.ok_or(LayoutError::AxisOutOfRange { axis, rank })?;
                    if reduced.contains(&found) {
                        return Err(LayoutError::RepeatedAxis { axis: found });
                    }
                    reduced.push(found);
                }
                reduced.sort_unstable();
            }
        }
        let kept = (0..rank).filter(|axis| !reduced.contains(axis)).collect();
        Ok(Self { shape, kept, reduced })
    }

    /// The axes that are kept, then those that are reduced.
    pub(super) fn order(&self) -> Vec<usize> {
        self.kept.iter().chain(&self.reduced).copied().collect()
    }

    pub(super) fn shape_of_result(&self, keep_axes: bool) -> Axes<usize> {
        let extent = |axis: usize| if self.reduced.contains(&axis) { 1 } else { self.shape[axis] };
        let axes = 0..self.shape.len();
        axes.filter(|axis| keep_axes || !self.reduced.contains(axis)).map(extent).collect()
    }

    /// The axes that are reduced.
    pub(super) fn axes(&self) -> Vec<isize> {
        self.reduced.iter().map(|&axis| axis.cast_signed()).collect()
    }

    /// How many elements become one.
    pub(super) fn count(&self) -> usize {
        self.reduced.iter().map(|&axis| self.shape[axis]).product()
    }
}

impl Function {
    /// Computes the function of the elements of views, broadcast together, and reduces its values.
    /// Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`Error::Function`](crate::Error::Function): the operation does not take the type; an
    ///   element of the result has nothing to reduce, and the operation has no value for that; or
    ///   positions are taken along an axis that comes after more than 255 others once it is
    ///   reduced.
    /// - [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    /// - [`LayoutError::Overflow`]: more than 2^48 elements, which only broadcast views have.
    /// - As [`apply`](Self::apply).
    #[track_caller]
    pub fn reduce<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
    ) -> Result<ErasedArray<D>> {
        let lowered = self.lowered_reduction(reduction)?;
        self.combined(&lowered, stream, inputs, scalars, Combined::Reduction(reduction))
    }

    /// What [`reduce`](Self::reduce) and [`scan`](Self::scan) do, lowered.
    #[track_caller]
    pub(super) fn combined<D: Compute>(
        &self,
        lowered: &Lowered,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        how: Combined<'_>,
    ) -> Result<ErasedArray<D>> {
        let reduced = Reduced::of(self, inputs, how.axes())?;
        let item_bytes = lowered.finish.result_type().len_bytes();
        let mut result = ErasedArray::uninit(stream, &how.shape(&reduced), item_bytes)?;
        lowered.submit(stream, inputs, scalars, &reduced, how, &result.view_mut().elements())?;
        Ok(result)
    }

    /// As [`reduce`](Self::reduce), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce); also [`LayoutError::ShapeMismatch`], if `result` has another
    /// shape.
    #[track_caller]
    pub fn reduce_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        reduction: &Reduction,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        let lowered = self.lowered_reduction(reduction)?;
        self.combined_into(&lowered, stream, inputs, scalars, Combined::Reduction(reduction), result)
    }

    /// Computes the function of the elements of views, broadcast together, and combines each value
    /// with those before it along an axis. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce).
    #[track_caller]
    pub fn scan<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        scan: Scan,
    ) -> Result<ErasedArray<D>> {
        self.combined(&*self.lowered_scan(scan)?, stream, inputs, scalars, Combined::Scan(scan))
    }

    /// As [`scan`](Self::scan), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan); also [`LayoutError::ShapeMismatch`], if `result` has another shape.
    #[track_caller]
    pub fn scan_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        scan: Scan,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        let lowered = self.lowered_scan(scan)?;
        self.combined_into(&lowered, stream, inputs, scalars, Combined::Scan(scan), result)
    }

    /// As [`combined`](Self::combined), into existing elements.
    #[track_caller]
    pub(super) fn combined_into<D: Compute>(
        &self,
        lowered: &Lowered,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        how: Combined<'_>,
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        let (result, reduced) = (result.as_erased_view_mut(), Reduced::of(self, inputs, how.axes())?);
        check_shape(&how.shape(&reduced), result.shape())?;
        lowered.submit(stream, inputs, scalars, &reduced, how, &result.elements())
    }
}

/// How values are combined.
#[derive(Clone, Copy)]
pub(super) enum Combined<'a> {
    Reduction(&'a Reduction),
    Scan(Scan),
}

impl Combined<'_> {
    /// What combines the values of a function to elements of a type.
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

impl Lowered {
    #[track_caller]
    fn submit<D: Compute>(
        &self,
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
                return self.running(stream, inputs, scalars, reduced, scan.exclusive, result);
            }
        };
        let kept = if keep_axes { &result.layout.squeeze_axes(reduced.axes())? } else { result.layout };
        let result = Elements { layout: kept, ..*result };
        if reduced.count() == 0 {
            return self.of_nothing(stream, &result);
        }
        let Some(spread) = &self.spread else {
            let finish = (&self.finish, &self.finish_scalars(reduced.count())[..]);
            return submit(
                stream,
                inputs,
                scalars,
                (&self.element, self.combine, finish),
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
            [&spread.element, &self.element].map(|element| element.combined_program().with_positions(&order));
        let [first, second] = programs;
        let (first, second) = (first?, second?);
        let (of_mean, of_result) = (spread.finish.program(), self.finish.program());
        let counts = [spread.finish_scalars(reduced.count()), self.finish_scalars(reduced.count())];
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
            combine: self.combine,
            finish: of_result,
            finish_scalars: &counts[1],
        };
        stream.0.reduce_twice([first, second], &shape, &operands, &into, &result)
    }

    #[track_caller]
    fn running<D: Compute>(
        &self,
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
            (&self.element, self.combine, (&self.finish, &[])),
            reduced,
            form,
            &result,
        )
    }

    /// Fills elements that have nothing to reduce with the operation's value for that, if it has
    /// one.
    #[track_caller]
    fn of_nothing<D: Compute>(&self, stream: &StreamHandle<D>, result: &Elements<'_, D>) -> Result<()> {
        let Some(identity) = self.of_nothing else {
            let message = "no elements are reduced to an element of the result, which has no value then";
            return Err(FunctionError::new(FunctionErrorKind::Empty, message).into());
        };
        let one = Layout::contiguous(&[], Order::C)?;
        let (identity, mut item) = (identity.to_le_bytes(), [0; 8]);
        let input = InputElements { start: identity.as_ptr(), layout: &one };
        let out = ResultElements { start: item.as_mut_ptr(), layout: &one };
        // SAFETY: one element of at most 8 bytes is read and one is written, in arrays of 8 bytes
        unsafe { interpret(self.finish.program(), &[input], &self.finish_scalars(0), out) }
        stream.0.fill(result, &item[..result.item_bytes])
    }
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
