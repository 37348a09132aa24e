//! Indices of any integer type, as a device reads them.

use super::{Array, ArrayView, Operands, picked::Picked};
use crate::{
    LayoutError, Result,
    backend::Compute,
    function::WholeNumber,
    gather::{Direction, Index, OutOfRange, Repeats},
    layout::Layout,
    operations::Elements,
    stream::StreamHandle,
};

/// Enqueues what `picked` says. If the device does not read indices of type `I`, they are converted
/// first, and `pick` works it out again for where the converted ones lie.
#[track_caller]
pub(super) fn submit<I: Index, D: Compute>(
    stream: &StreamHandle<D>,
    (picked, pick): (Picked, impl Fn(&Layout) -> Result<Picked, LayoutError>),
    modes: (Direction, OutOfRange, Repeats),
    indexed: Elements<'_, D>,
    indices: &ArrayView<'_, I, D>,
    elements: (Elements<'_, D>, &Layout),
) -> Result<()> {
    if picked.shape.contains(&0) {
        return Ok(());
    }
    match I::converted(stream, indices, modes.1, picked.bound())? {
        None => picked.submit(stream, modes, indexed, (indices.elements(), I::TYPE), None, elements),
        Some(made) => {
            let made_elements = made.as_erased().elements();
            pick(made.layout())?.submit(stream, modes, indexed, (made_elements, i64::TYPE), None, elements)
        }
    }
}

/// Indices of a type whose values `i64` has.
#[track_caller]
pub(crate) fn widened<I: WholeNumber, D: Compute>(
    stream: &StreamHandle<D>,
    indices: &ArrayView<'_, I, D>,
) -> Result<Array<i64, D>> {
    indices.map(stream, |index| index.cast())
}

/// Indices that `i64` may not have: beyond it, the greatest `i64`, which is out of every range too.
#[track_caller]
pub(crate) fn narrowed<D: Compute>(
    stream: &StreamHandle<D>,
    indices: &ArrayView<'_, u64, D>,
    out_of_range: OutOfRange,
    bound: usize,
) -> Result<Array<i64, D>> {
    match out_of_range {
        OutOfRange::Wrap => {
            (indices, bound as u64).map(stream, |(index, bound)| index.remainder(bound).cast())
        }
        OutOfRange::Error | OutOfRange::Clamp => {
            indices.map(stream, |index| index.minimum(i64::MAX.cast_unsigned()).cast())
        }
    }
}
