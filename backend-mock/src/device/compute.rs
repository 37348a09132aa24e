//! Functions on simulated memory.
#![allow(unsafe_code)] // implements unsafe traits; performs no unsafe operation

use devarray::{
    Result,
    backend::{
        Capability, GatherOp, Gathers, MapOp, Maps, Operand, OrderOp, OrderSide, Orders, ProductOp, Products,
        ReduceOp, Reduces,
    },
    gather::{Finished, IndexError},
};

use super::{MockDevice, buffer::MockBuffer, stream::MockStream};
use crate::{
    engine::{Computation, Gathered, Multiplied, Ordered, Work},
    fault::Site,
};

// SAFETY: the operation goes to the end of the stream's lane, like every other; the interpreter
// touches the elements of the operands and no other byte.
unsafe impl Maps for MockDevice {
    #[track_caller]
    fn map(&self, stream: &MockStream, op: &MapOp<'_, MockBuffer>) -> Result<()> {
        self.check("map", Capability::Functions)?;
        let work = Work::Compute(Box::new(Computation::map(op)));
        stream.enqueue(Site::Map, "map", op.is_checked(), &buffers(op.inputs(), op.result()), work)
    }
}

// SAFETY: as for functions.
unsafe impl Reduces for MockDevice {
    #[track_caller]
    fn reduce(&self, stream: &MockStream, op: &ReduceOp<'_, MockBuffer>) -> Result<()> {
        self.check("reduce", Capability::Reductions)?;
        let work = Work::Compute(Box::new(Computation::reduce(op)));
        stream.enqueue(Site::Reduce, "reduce", op.is_checked(), &buffers(op.inputs(), op.result()), work)
    }
}

devarray::capabilities!(impl[] MockDevice: without Fuses);

// SAFETY: as for functions.
unsafe impl Gathers for MockDevice {
    #[track_caller]
    fn gather(&self, stream: &MockStream, op: &GatherOp<'_, MockBuffer>) -> Result<()> {
        self.check("gather", Capability::Gathers)?;
        let name = op.work().operation.name();
        let gathered = Gathered::of(op, devarray::backend::call_location())?;
        let sides = [Some(op.indexed()), Some(op.indices()), op.mask(), Some(op.elements())];
        let buffers: Vec<&MockBuffer> = sides.into_iter().flatten().collect();
        stream.enqueue(Site::Gather, name, op.is_checked(), &buffers, Work::Gather(Box::new(gathered)))
    }

    fn take_index_error(&self, gather: Finished) -> Option<IndexError> {
        self.shared.engine().take_index_error(gather.number())
    }
}

// SAFETY: as for functions.
unsafe impl Orders for MockDevice {
    #[track_caller]
    fn order(&self, stream: &MockStream, op: &OrderOp<'_, MockBuffer>) -> Result<()> {
        let name = op.call().name();
        self.check(name, Capability::Orders)?;
        let sides = op.inputs().iter().chain(op.results()).chain(op.count());
        let buffers: Vec<&MockBuffer> = sides.filter_map(OrderSide::buffer).collect();
        let work = Work::Order(Box::new(Ordered::of(op)));
        stream.enqueue(Site::Order, name, op.is_checked(), &buffers, work)
    }
}

// SAFETY: as for functions.
unsafe impl Products for MockDevice {
    #[track_caller]
    fn product(&self, stream: &MockStream, op: &ProductOp<'_, MockBuffer>) -> Result<()> {
        self.check("matmul", Capability::Products)?;
        let others = op.function().map_or(&[][..], |function| function.inputs());
        let operands = [op.a(), op.b(), op.result()].into_iter().chain(others);
        let buffers: Vec<&MockBuffer> = operands.map(Operand::buffer).collect();
        let work = Work::Product(Box::new(Multiplied::of(op)));
        stream.enqueue(Site::Product, "matmul", op.is_checked(), &buffers, work)
    }
}

fn buffers<'a>(inputs: &[Operand<'a, MockBuffer>], result: &Operand<'a, MockBuffer>) -> Vec<&'a MockBuffer> {
    inputs.iter().chain([result]).map(Operand::buffer).collect()
}
