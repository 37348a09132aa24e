//! Captured gathers, scatters, order and search.
#![allow(unsafe_code)] // makes operations on memory that their launch vouches for

use devarray::{
    Layout,
    backend::{GatherOp, OrderOp, OrderSide},
    function::ElementType,
    gather::{Gathering, IndexedAxis},
};

use super::{Step, kept::Few};
use crate::{execute, memory::DeviceMemory};

/// A gather without its memory, kept.
struct KeptGathering {
    shape: Few<usize>,
    indexed_axes: Few<IndexedAxis>,
    positions: Few<usize>,
    indexed: Layout,
    indices: Layout,
    mask: Option<Layout>,
    elements: Layout,
}

pub(crate) fn gather(op: &GatherOp<'_, DeviceMemory>) -> Step {
    let Gathering { operation, axis, direction, out_of_range, repeats, width_bytes, index_type, .. } =
        *op.work();
    let work = op.work();
    let kept = KeptGathering {
        shape: work.shape.into(),
        indexed_axes: work.indexed_axes.into(),
        positions: work.positions.into(),
        indexed: work.indexed.clone(),
        indices: work.indices.clone(),
        mask: work.mask.cloned(),
        elements: work.elements.clone(),
    };
    let (number, mask) = (op.number(), op.mask().map(DeviceMemory::again));
    let [indexed, indices, elements] = [op.indexed(), op.indices(), op.elements()].map(DeviceMemory::again);
    Step::new(move |device| {
        let KeptGathering { shape, indexed_axes, positions, .. } = &kept;
        let work = Gathering {
            operation,
            axis,
            direction,
            out_of_range,
            repeats,
            width_bytes,
            shape,
            indexed_axes,
            indexed: &kept.indexed,
            indices: &kept.indices,
            index_type,
            positions,
            mask: kept.mask.as_ref(),
            elements: &kept.elements,
        };
        // SAFETY: the same operation on the same memory was valid before.
        let op =
            unsafe { GatherOp::new_unchecked(number, work, &indexed, &indices, mask.as_ref(), &elements) };
        // SAFETY: the elements lie inside their buffers; at the launch's turn, nothing else uses them.
        let error = unsafe { execute::gather(&device.threads, &op) };
        if let Some(error) = error {
            device.index_errors.put(number, error);
        }
    })
}

/// An operand of an order call, kept.
struct KeptSide {
    number: usize,
    element_type: ElementType,
    memory: Option<DeviceMemory>,
    layout: Layout,
}

impl KeptSide {
    fn of(side: &OrderSide<'_, DeviceMemory>) -> Self {
        let (number, element_type, layout) = (side.number(), side.element_type(), side.layout().clone());
        Self { number, element_type, memory: side.buffer().map(DeviceMemory::again), layout }
    }

    fn side(&self) -> OrderSide<'_, DeviceMemory> {
        OrderSide::new(self.number, self.element_type, self.memory.as_ref(), &self.layout)
    }
}

pub(crate) fn order(op: &OrderOp<'_, DeviceMemory>) -> Step {
    let (number, call) = (op.number(), *op.call());
    let [inputs, results] =
        [op.inputs(), op.results()].map(|sides| sides.iter().map(KeptSide::of).collect::<Few<_>>());
    let count = op.count().map(KeptSide::of);
    Step::new(move |device| {
        let [inputs, results] =
            [&inputs, &results].map(|sides| sides.iter().map(KeptSide::side).collect::<Few<_>>());
        let count = count.as_ref().map(KeptSide::side);
        // SAFETY: the same operation on the same memory was valid before.
        let op = unsafe { OrderOp::new_unchecked(number, call, &inputs, &results, count.as_ref()) };
        // SAFETY: as for `gather`.
        let error = unsafe { execute::order(&device.threads, &op) };
        if let Some(error) = error {
            device.index_errors.put(number, error);
        }
    })
}
