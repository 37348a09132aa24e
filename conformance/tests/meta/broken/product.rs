//! A broken device multiplies in another order, in part, or at another time.
#![allow(unsafe_code)] // passes operations on, wrongly on purpose, to a simulator that checks every access

use devarray::{
    Layout, Result,
    backend::{Capability, Operand, ProductFunction, ProductOp, Products},
    product::Precision,
};

use super::{Broken, BrokenStream, Bug, Placed};

// SAFETY: no promise is kept; only used over a simulator, which checks every access to device
// memory.
unsafe impl<D: Products> Products for Broken<D> {
    fn product(&self, stream: &BrokenStream<D>, op: &ProductOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.lie("matmul", Capability::Products)?;
        stream.runs()?;
        if self.bug == Bug::ProductsDoNothing {
            return Ok(());
        }
        let bug = if op.function().is_some() { Bug::None } else { self.bug };
        let [a, b, result] = changed(bug, op)?;
        let [left, right, written] = [op.a(), op.b(), op.result()].map(|of| &of.buffer().inner);
        let [a, b, result] = [(left, &a), (right, &b), (written, &result)]
            .map(|(buffer, layout)| Operand::new(buffer, layout));
        if result.layout().is_empty() {
            return Ok(());
        }
        // SAFETY: the same operation, or one that touches no more of the same buffers.
        let changed = unsafe { ProductOp::new_unchecked(op.element_type(), a, b, result) };
        let changed = changed.with_precision(op.precision());
        let lane = if self.bug == Bug::ProductsOutOfOrder { stream.unless(true) } else { self.lane(stream) };
        if op.is_onto() && self.bug != Bug::ProductsStartAtZero {
            // SAFETY: the operation is onto its result, too.
            return self.inner.product(lane, &unsafe { changed.onto_unchecked() });
        }
        let is_forgotten =
            self.bug == Bug::ProductsForgetTheFunction && op.result_type() == op.element_type();
        let Some(function) = op.function().filter(|_| !is_forgotten) else {
            return self.inner.product(lane, &changed);
        };
        let inputs = function.inputs().iter();
        let inputs: Vec<_> = inputs.map(|of| Operand::new(&of.buffer().inner, of.layout())).collect();
        let mut scalars = function.scalars().to_vec();
        if self.bug == Bug::ProductsConfuseScalars {
            scalars.reverse();
        }
        let function = ProductFunction::new(function.program(), &inputs, &scalars, function.layout());
        // SAFETY: the operation has this function, too.
        self.inner.product(lane, &unsafe { changed.with_function_unchecked(function) })
    }
}

/// The layouts as a device with the bug reads them: inside the right layouts.
fn changed<B>(bug: Bug, op: &ProductOp<'_, B>) -> Result<[Layout; 3]> {
    let [mut a, mut b, mut result] = [op.a(), op.b(), op.result()].map(|of| of.layout().clone());
    let rank = a.rank();
    let (rows, depth_of_a, depth_of_b) = (rank - 2, rank - 1, rank - 2);
    let depth = op.depth();
    match bug {
        Bug::ProductsLoseTheLastRow => {
            let left = a.shape()[rows] - 1;
            (a, result) = (a.slice_axis(rows, ..left)?, result.slice_axis(rows, ..left)?);
        }
        Bug::ProductsInAHurryLoseTheLast if op.precision() == Precision::Fast && depth > 1 => {
            let last = depth - 1;
            (a, b) = (a.slice_axis(depth_of_a, ..last)?, b.slice_axis(depth_of_b, ..last)?);
        }
        Bug::ProductsRunBackwards => {
            (a, b) = (a.flip(&[depth_of_a.cast_signed()])?, b.flip(&[depth_of_b.cast_signed()])?);
        }
        Bug::ProductsFollowMemory if a.strides()[depth_of_a] < 0 => {
            (a, b) = (a.flip(&[depth_of_a.cast_signed()])?, b.flip(&[depth_of_b.cast_signed()])?);
        }
        Bug::ProductsRepeatTheFirst => {
            let shape = b.shape().to_vec();
            for axis in 0..rank - 2 {
                b = b.slice_axis(axis, ..1)?;
            }
            b = b.broadcast_to(&shape)?;
        }
        Bug::ProductsStopAtAChain if depth > 4096 => {
            (a, b) = (a.slice_axis(depth_of_a, ..4096)?, b.slice_axis(depth_of_b, ..4096)?);
        }
        _ => {}
    }
    Ok([a, b, result])
}
