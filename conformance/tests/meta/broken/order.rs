//! What a broken device orders and combines by index.
#![allow(unsafe_code)] // hands operations on, wrongly on purpose, to a simulator that checks every access

use devarray::{
    Result,
    backend::{Capability, OrderOp, OrderSide, Orders},
};

use super::{Broken, BrokenStream, Placed};

// SAFETY: none can be claimed; only used over a simulator, whose device memory is checked at every
// access.
unsafe impl<D: Orders> Orders for Broken<D> {
    fn order(&self, stream: &BrokenStream<D>, op: &OrderOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.lie("order", Capability::Orders)?;
        let inputs: Vec<_> = op.inputs().iter().map(on_inner).collect();
        let results: Vec<_> = op.results().iter().map(on_inner).collect();
        let count = op.count().map(on_inner);
        // SAFETY: the same operation, or one that touches no more of the same buffers.
        let op =
            unsafe { OrderOp::new_unchecked(op.number(), *op.call(), &inputs, &results, count.as_ref()) };
        self.inner.order(self.lane(stream), &op)
    }
}

/// The side, on the memory of the device below.
fn on_inner<'a, B>(side: &OrderSide<'a, Placed<B>>) -> OrderSide<'a, B> {
    let buffer = side.buffer().map(|buffer| &buffer.inner);
    OrderSide::new(side.number(), side.element_type(), buffer, side.layout())
}
