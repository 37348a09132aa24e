//! Functions on erased arrays and views.

use smallvec::SmallVec;

use super::ErasedView;
use crate::{
    LayoutError, Result,
    backend::Compute,
    function::Function,
    layout::{NdLayout, broadcast_shapes},
    operations::Elements,
    stream::StreamHandle,
};

/// Enqueues the function. The inputs, broadcast together, must have the shape of the result.
#[track_caller]
pub(super) fn submit_into<D: Compute>(
    function: &Function,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    result: &Elements<'_, D>,
) -> Result<()> {
    if !inputs.is_empty() {
        let expected = broadcast_shapes(inputs.iter().map(NdLayout::shape))?;
        if result.layout.shape() != &expected[..] {
            let (expected, found) = (expected[..].into(), result.layout.shape().into());
            return Err(LayoutError::ShapeMismatch { expected, found }.into());
        }
    }
    submit(function, stream, inputs, scalars, result)
}

/// Enqueues the function. Inputs are broadcast to the shape of the result.
#[track_caller]
pub(super) fn submit<D: Compute>(
    function: &Function,
    stream: &StreamHandle<D>,
    inputs: &[ErasedView<'_, D>],
    scalars: &[u64],
    result: &Elements<'_, D>,
) -> Result<()> {
    let rank = result.layout.rank();
    if function.needed_rank() > rank {
        let axis = function.needed_rank().cast_signed() - 1;
        return Err(LayoutError::AxisOutOfRange { axis, rank }.into());
    }
    let inputs: SmallVec<[Elements<'_, D>; 4]> = inputs.iter().map(ErasedView::elements).collect();
    stream.0.map(function.program(), &inputs, scalars, result)
}
