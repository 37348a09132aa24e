//! Normalization along an axis: a function of each element, the greatest element, and a sum.

use std::sync::OnceLock;

use super::{
    DeviceFunction as _, ErasedArray, ErasedView, ErasedViewMut,
    reduce::{check_shape, operands, permuted, reduced_axes},
};
use crate::{
    Result,
    backend::Compute,
    function::{
        ElementType, Function, FunctionError, ReduceOperation, Reduction, interpreter::Reducing, sum_type,
    },
    layout::{Axes, Layout, Order},
    operations::Elements,
    stream::StreamHandle,
};

/// Functions of an element `x0`, of the greatest element `x1`, and of `x2`, the sum of the values
/// of `summed`. The sum has the type in which it was added: `f32` for `f16` and `bf16`.
struct Functions {
    element: Function,
    summed: Function,
    last: Function,
}

/// A function whose value depends on all elements along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Normalization {
    Softmax,
    LogSoftmax,
}

impl Normalization {
    fn functions(self, of: ElementType) -> Result<&'static Functions, FunctionError> {
        static KNOWN: [[OnceLock<Functions>; 4]; 2] = [const { [const { OnceLock::new() }; 4] }; 2];
        let of_type = match of {
            ElementType::F16 => 0,
            ElementType::BF16 => 1,
            ElementType::F32 => 2,
            _ => 3,
        };
        let which = match self {
            Self::Softmax => 0,
            Self::LogSoftmax => 1,
        };
        let known = &KNOWN[which][of_type];
        if let Some(functions) = known.get() {
            return Ok(functions);
        }
        // Elements are widened to the type of sums first, so only the result is rounded.
        let sum = sum_type(of);
        let below = format!("cast(x0, {sum}) - cast(x1, {sum})");
        let last = match self {
            Self::Softmax => format!("exp({below}) / x2"),
            Self::LogSoftmax => format!("{below} - log(x2)"),
        };
        let types = [of, of, sum];
        let functions = Functions {
            element: Function::parse("x0", &types[..1], &[])?,
            summed: Function::parse(&format!("exp({below})"), &types[..2], &[])?,
            last: Function::parse(&format!("cast({last}, {of})"), &types, &[])?,
        };
        Ok(known.get_or_init(|| functions))
    }

    /// Computes it for elements of a float type along an axis. Does not synchronize.
    #[track_caller]
    pub(crate) fn compute<D: Compute>(
        self,
        stream: &StreamHandle<D>,
        (x, of): (&ErasedView<'_, D>, ElementType),
        axis: isize,
        result: &mut ErasedViewMut<'_, D>,
    ) -> Result<()> {
        let Functions { element, summed, last } = self.functions(of)?;
        let greatest = Reduction::new(ReduceOperation::Maximum).axes(&[axis]);
        let inputs = [x.clone()];
        let reduced = reduced_axes(element, &inputs, Some(&[axis]))?;
        check_shape(&reduced.shape, result.shape())?;
        if result.layout().is_empty() {
            // The reduction says whether having no elements is an error.
            return element.reduce(stream, &inputs, &[], &greatest).map(drop);
        }
        let first = element.lowered_reduction(&greatest)?;
        let second = summed.lowered_reduction(&Reduction::new(ReduceOperation::Sum))?;
        let (kept, long) = (reduced.shape_of_result(true), reduced.shape_of_result(false));
        let max = ErasedArray::uninit(stream, &kept, of.len_bytes())?;
        let sum = ErasedArray::uninit(stream, &kept, summed.result_type().len_bytes())?;
        let layout = Layout::contiguous(&long, Order::C)?;
        let [of_first, of_second] = [&max, &sum].map(|array| Elements {
            allocation: array.allocation(),
            layout: &layout,
            item_bytes: array.item_bytes(),
        });
        let order = reduced.order();
        let views = [x.clone(), max.view(), sum.view()];
        let operands = operands(&views, &reduced, &order)?;
        let shape: Axes<usize> = order.iter().map(|&axis| reduced.shape[axis]).collect();
        let elements = result.elements();
        let layout = permuted(elements.layout, &order)?;
        let work = [&first, &second].map(|lowered| Reducing {
            program: lowered.element.combined_program(),
            scalars: &[],
            combine: lowered.combine,
            finish: lowered.finish.program(),
            finish_scalars: &[],
        });
        let into = Elements { layout: &layout, ..elements };
        let works = [(work[0], &of_first), (work[1], &of_second)];
        stream.0.fuse(&works, &shape, &operands, Some((last.program(), &into)))
    }
}
