//! A broken device sorts and combines by index wrongly, not at all, or at another time.
#![allow(unsafe_code)] // passes operations on, wrongly on purpose, to a simulator that checks every access

use devarray::{
    Layout, Result,
    backend::{Capability, OrderOp, OrderSide, Orders},
    order::{Call, Combining},
};

use super::{Broken, BrokenStream, Bug, Placed};

// SAFETY: no promise is kept; only used over a simulator, which checks every access to device
// memory.
unsafe impl<D: Orders> Orders for Broken<D> {
    fn order(&self, stream: &BrokenStream<D>, op: &OrderOp<'_, Placed<D::Buffer>>) -> Result<()> {
        self.lie("order", Capability::Orders)?;
        stream.runs()?;
        let bug = self.bug;
        if bug == Bug::OrdersDoNothing {
            return Ok(());
        }
        let mut call = *op.call();
        let reversed =
            if bug == Bug::SortsAreUnstable { turned(&mut call, op.results())? } else { Vec::new() };
        match &mut call {
            Call::SearchSorted { right } if bug == Bug::SearchesTakeTheOtherSide => *right = !*right,
            Call::Put { operation: operation @ Combining::Sum, .. }
                if bug == Bug::SumsByIndexTakeTheGreatest =>
            {
                *operation = Combining::Maximum;
            }
            _ => {}
        }
        let mut layouts: Vec<Layout> = op.inputs().iter().map(|side| side.layout().clone()).collect();
        if bug == Bug::SparseColumnsCountBackwards && call == Call::CsrDot {
            layouts[3] = layouts[3].flip([0])?;
        }
        let sides = op.inputs().iter().zip(&layouts);
        let inputs: Vec<_> = sides.map(|(side, layout)| on_inner(side, layout)).collect();
        let layout = |at: usize| reversed.get(at).unwrap_or(op.results()[at].layout());
        let results: Vec<_> =
            op.results().iter().enumerate().map(|(at, side)| on_inner(side, layout(at))).collect();
        let count = op.count().filter(|_| bug != Bug::OrdersForgetTheCount);
        let count = count.map(|side| on_inner(side, side.layout()));
        let number = op.number() | u64::from(bug == Bug::OrdersNeverTell) << 62;
        // SAFETY: the same operation, or one that touches no more of the same buffers.
        let op = unsafe { OrderOp::new_unchecked(number, call, &inputs, &results, count.as_ref()) };
        let lane = if bug == Bug::OrdersOutOfOrder { stream.unless(true) } else { self.lane(stream) };
        self.inner.order(lane, &op)
    }
}

/// Sorts in the other direction, into layouts that are reversed: equal elements change places.
fn turned<B>(call: &mut Call, results: &[OrderSide<'_, B>]) -> Result<Vec<Layout>> {
    let (Call::Sort { axis, descending } | Call::ArgSort { axis, descending }) = call else {
        return Ok(Vec::new());
    };
    *descending = !*descending;
    Ok(results.iter().map(|side| side.layout().flip([*axis])).collect::<Result<_, _>>()?)
}

/// The operand with the memory of the inner device.
fn on_inner<'a, B>(side: &OrderSide<'a, Placed<B>>, layout: &'a Layout) -> OrderSide<'a, B> {
    let buffer = side.buffer().map(|buffer| &buffer.inner);
    OrderSide::new(side.number(), side.element_type(), buffer, layout)
}
