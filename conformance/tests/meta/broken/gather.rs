//! A broken device gathers and scatters wrongly: by other indices, other elements, or at another
//! time.
#![allow(unsafe_code)] // passes operations on, wrongly on purpose, to a simulator that checks every access

use std::sync::{Arc, PoisonError};

use devarray::{
    Layout, Result,
    backend::{GatherOp, Gathers},
    gather::{Direction, Gathering, IndexType, OutOfRange},
};

use super::{Broken, BrokenStream, Bug, Placed};

impl<D: Gathers> Broken<D> {
    pub(super) fn gather_wrongly(
        &self,
        stream: &BrokenStream<D>,
        op: &GatherOp<'_, Placed<D::Buffer>>,
    ) -> Result<()> {
        let (bug, mut work) = (self.bug, *op.work());
        if bug == Bug::GathersDoNothing {
            return Ok(());
        }
        self.gathers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back((op.number(), Arc::downgrade(&stream.alive)));
        let change = |layout: &Layout| changed(bug, &work, layout);
        let [indexed, elements] = [change(work.indexed)?, change(work.elements)?];
        let indices = without_signs(bug, &change(work.indices)?)?;
        let mask = work.mask.map(change).transpose()?;
        let mut axes = work.indexed_axes.to_vec();
        if bug == Bug::GathersFlattenInMemoryOrder {
            axes.sort_by_key(|axis| std::cmp::Reverse(axis.stride.abs()));
        }
        let shape = indexed.shape().to_vec();
        work = Gathering {
            shape: &shape,
            indexed: &indexed,
            elements: &elements,
            indices: &indices,
            mask: mask.as_ref(),
            indexed_axes: &axes,
            ..work
        };
        match (bug, work.out_of_range) {
            (Bug::GathersClampForWrap, OutOfRange::Wrap) | (Bug::GathersClampErrors, OutOfRange::Error) => {
                work.out_of_range = OutOfRange::Clamp;
            }
            _ => {}
        }
        if bug == Bug::GathersReadIndicesSigned && work.index_type == IndexType::U32 {
            work.index_type = IndexType::I32;
        }
        let mut mask = op.mask().map(|mask| &mask.inner);
        if bug == Bug::PutsIgnoreTheMask {
            (work.mask, mask) = (None, None);
        }
        let (indexed, indices) = (&op.indexed().inner, &op.indices().inner);
        let lane = stream.unless(bug == Bug::GathersOutOfOrder);
        // SAFETY: the same operation, or one that touches no more of the same buffers.
        let op = unsafe {
            GatherOp::new_unchecked(op.number(), work, indexed, indices, mask, &op.elements().inner)
        };
        self.inner.gather(lane, &op)
    }
}

/// A layout as a device with the bug reads it; used for each operand.
fn changed(bug: Bug, work: &Gathering<'_>, layout: &Layout) -> Result<Layout> {
    let axes: Vec<isize> = (0..layout.rank()).map(usize::cast_signed).collect();
    Ok(match (bug, work.direction, work.shape.first()) {
        (Bug::PutsKeepTheFirst, Direction::Scatter, _) => layout.flip(&axes)?,
        (Bug::GathersLoseTail, _, Some(&first)) if first > 64 => layout.slice_axis(0, ..first / 4 * 4)?,
        _ => layout.clone(),
    })
}

/// Indices that are read forwards, inside their span.
fn without_signs(bug: Bug, layout: &Layout) -> Result<Layout> {
    if bug != Bug::GathersIgnoreReversal {
        return Ok(layout.clone());
    }
    let strides: Vec<isize> = layout.strides().iter().map(|stride| stride.abs()).collect();
    Ok(Layout::new(layout.shape(), &strides, layout.span().start)?)
}
