//! Functions on erased arrays and views.

use smallvec::SmallVec;

use super::{AsErasedViewMut, ErasedArray, ErasedView};
use crate::{
    LayoutError, Result,
    backend::Compute,
    function::Function,
    layout::{Axes, Layout, NdLayout, Order},
    operations::Elements,
    stream::StreamHandle,
};

impl Function {
    /// Computes the function of the elements of views, broadcast together, into a new array. Does
    /// not synchronize.
    ///
    /// The result is dense, in the order of the first input that has its shape, or in C order.
    /// Without inputs it has no axes. A scalar is given by its bits, with zeros above them.
    ///
    /// ```
    /// use devarray::{Context, ErasedArray, function::{ElementType, Function}};
    /// use devarray_mock::MockDevice;
    ///
    /// let stream = Context::new(MockDevice::new())?.stream()?;
    /// let axpy = Function::parse("x0 * k0 + x1", &[ElementType::I32; 2], &[ElementType::I32])?;
    /// let x = ErasedArray::from_bytes(&stream, &[2], 4, bytemuck::bytes_of(&[1, 2]))?;
    /// let sum = axpy.apply(&stream, &[x.view(), x.view()], &[10])?;
    /// assert_eq!(sum.view().to_bytes(&stream)?, bytemuck::bytes_of(&[11, 22]));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NotBroadcastable`]: the shapes of the views do not fit by the rules of
    ///   broadcasting.
    /// - [`LayoutError::ElementSize`], [`LayoutError::RankMismatch`]: the number of views, or the
    ///   size of their elements, is not the function's; likewise for scalars.
    /// - Out of memory, another context's stream, and any other device error.
    #[track_caller]
    pub fn apply<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
    ) -> Result<ErasedArray<D>> {
        let shape = broadcast_shape(inputs.iter().map(NdLayout::shape))?;
        let layout = match inputs.iter().find(|input| input.shape() == &shape[..]) {
            Some(input) => input.layout().dense_like(Order::K)?,
            None => Layout::contiguous(&shape, Order::C)?,
        };
        let mut result = ErasedArray::of_layout(stream, layout, self.result_type().len_bytes())?;
        self.apply_into(stream, inputs, scalars, &mut result.view_mut())?;
        Ok(result)
    }

    /// As [`apply`](Self::apply), into existing elements of any strides. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`]: `result` has another shape than the inputs broadcast
    ///   together; if there are none, it may have any.
    /// - As [`apply`](Self::apply).
    #[track_caller]
    pub fn apply_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        result: &mut impl AsErasedViewMut<D>,
    ) -> Result<()> {
        self.submit_into(stream, inputs, scalars, &result.as_erased_view_mut().elements())
    }

    /// Enqueues the function, unless the inputs broadcast together have another shape than the
    /// result.
    #[track_caller]
    pub(super) fn submit_into<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        if !inputs.is_empty() {
            let expected = broadcast_shape(inputs.iter().map(NdLayout::shape))?;
            if result.layout.shape() != &expected[..] {
                let (expected, found) = (expected[..].into(), result.layout.shape().into());
                return Err(LayoutError::ShapeMismatch { expected, found }.into());
            }
        }
        self.submit(stream, inputs, scalars, result)
    }

    /// Enqueues the function. Inputs are broadcast to the shape of the result.
    #[track_caller]
    pub(super) fn submit<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        inputs: &[ErasedView<'_, D>],
        scalars: &[u64],
        result: &Elements<'_, D>,
    ) -> Result<()> {
        let rank = result.layout.rank();
        if self.needed_rank() > rank {
            let axis = self.needed_rank().cast_signed() - 1;
            return Err(LayoutError::AxisOutOfRange { axis, rank }.into());
        }
        let inputs: SmallVec<[Elements<'_, D>; 4]> = inputs.iter().map(ErasedView::elements).collect();
        stream.0.map(self.program(), &inputs, scalars, result)
    }
}

/// The shape that all broadcast to; no axes if there are none. An error names the first two that
/// do not fit.
pub(super) fn broadcast_shape<'a>(
    shapes: impl Iterator<Item = &'a [usize]> + Clone,
) -> Result<Axes<usize>, LayoutError> {
    let rank = shapes.clone().map(<[usize]>::len).max().unwrap_or(0);
    let mut result: Axes<usize> = std::iter::repeat_n(1, rank).collect();
    for shape in shapes.clone() {
        let added = rank - shape.len();
        for (axis, &extent) in (added..).zip(shape) {
            let to = &mut result[axis];
            if *to == 1 {
                *to = extent;
            } else if extent != 1 && extent != *to {
                let has = |other: &&[usize]| {
                    (axis + other.len()).checked_sub(rank).is_some_and(|at| other[at] == *to)
                };
                let to = shapes.clone().find(has).unwrap_or_default();
                return Err(LayoutError::NotBroadcastable { from: shape.into(), to: to.into() });
            }
        }
    }
    Ok(result)
}
