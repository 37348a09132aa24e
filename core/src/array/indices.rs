//! Indices of any integer type, as a device reads them.

use super::{ArrayView, gather_layouts::GatherLayouts};
use crate::{
    LayoutError, Result,
    backend::Compute,
    gather::{Direction, Index, OutOfRange, Repeats},
    layout::Layout,
    operations::Elements,
    stream::StreamHandle,
};

/// Enqueues the gather `picked`. If the device does not read indices of type `I`, they are
/// converted first, and `pick` makes the gather again for the converted indices.
#[track_caller]
pub(super) fn submit<I: Index, D: Compute>(
    stream: &StreamHandle<D>,
    (layouts, lay_out): (GatherLayouts, impl Fn(&Layout) -> Result<GatherLayouts, LayoutError>),
    modes: (Direction, OutOfRange, Repeats),
    indexed: Elements<'_, D>,
    indices: &ArrayView<'_, I, D>,
    elements: (Elements<'_, D>, &Layout),
) -> Result<()> {
    if layouts.shape.contains(&0) {
        return Ok(());
    }
    match I::converted(stream, indices, modes.1, layouts.bound())? {
        None => layouts.submit(stream, modes, indexed, (indices.elements(), I::TYPE), None, elements),
        Some(made) => {
            let made_elements = made.as_erased().elements();
            lay_out(made.layout())?.submit(stream, modes, indexed, (made_elements, i64::TYPE), None, elements)
        }
    }
}
