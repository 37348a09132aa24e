//! Order, search, counts and sums by index, in a queue.
#![allow(unsafe_code)] // makes calls on memory of its own

use devarray::{
    Layout, Order,
    backend::{OrderOp, OrderSide},
    copy::{Limits, Plan},
    function::{
        ElementType,
        interpreter::{InputElements, ResultElements},
    },
    gather::IndexError,
    order::{Alone, Call, OrderMemory, order_on_host},
};
use smallvec::SmallVec;

use super::{Memory, compute::Elements, reach::Reach, source::Source};
use crate::{
    allocation::Allocated,
    finding::Access,
    judge::{Place, Touch},
};

/// A call, and its memory.
#[derive(Debug)]
pub(crate) struct Ordered {
    call: Call,
    inputs: Vec<Operand>,
    /// By number; those that are not wanted are none.
    results: Vec<Option<Operand>>,
    count: Option<Operand>,
    /// Tells it from other launches, also of gathers.
    number: u64,
    len_bytes: usize,
}

/// One side of a call.
#[derive(Debug)]
struct Operand {
    element_type: ElementType,
    layout: Layout,
    /// Where they are, if there are any.
    elements: Option<Elements>,
}

impl Operand {
    fn of(side: &OrderSide<'_, impl Allocated>) -> Self {
        let (element_type, layout) = (side.element_type(), side.layout());
        let elements = side.buffer().map(|buffer| Elements::of(buffer, layout, element_type.len_bytes()));
        Self { element_type, layout: layout.clone(), elements }
    }

    fn dense(&self) -> Layout {
        dense(&self.layout)
    }

    /// Its elements in row-major order, copied; poison where there is no memory.
    fn read(&self, memory: &Memory) -> Vec<u8> {
        let mut bytes = vec![0; self.layout.len() * self.element_type.len_bytes()];
        if let Some(elements) = &self.elements {
            let source = Source::new(memory, elements.buffer);
            for (from, to, len) in runs(&self.dense(), &self.layout, self.element_type) {
                source.read(from.saturating_add_signed(elements.start_bytes), &mut bytes[to..to + len]);
            }
        }
        bytes
    }

    /// Writes its elements, or those of its first rows, from bytes in row-major order.
    fn write(&self, memory: &mut Memory, bytes: &[u8], rows: Option<usize>) {
        let Some(elements) = &self.elements else { return };
        let first = rows.and_then(|rows| self.layout.slice_axis(0, ..rows).ok());
        let layout = first.as_ref().unwrap_or(&self.layout);
        let mut written = memory.take(elements.buffer);
        for (from, to, len) in runs(layout, &dense(layout), self.element_type) {
            let start = to.saturating_add_signed(elements.start_bytes);
            let into = written.part_mut(start..start + len);
            let there = into.len();
            into.copy_from_slice(&bytes[from..from + there]);
        }
        memory.put(elements.buffer, written);
    }
}

/// The shape, with elements side by side in row-major order.
fn dense(layout: &Layout) -> Layout {
    layout.dense_like(Order::C).unwrap_or_else(|_| layout.clone())
}

/// The ways of bytes from the second layout to the first: from where, to where, how many.
fn runs(
    to: &Layout,
    from: &Layout,
    element_type: ElementType,
) -> impl Iterator<Item = (usize, usize, usize)> {
    let plan = Plan::new(to, from, element_type.len_bytes(), Limits::default());
    plan.map_or_else(|_| Vec::new(), |plan| plan.runs().collect()).into_iter()
}

impl Ordered {
    pub(crate) fn of(op: &OrderOp<'_, impl Allocated>) -> Self {
        Self {
            call: *op.call(),
            inputs: op.inputs().iter().map(Operand::of).collect(),
            results: op.results_by_number().map(|side| side.map(Operand::of)).collect(),
            count: op.count().map(Operand::of),
            number: op.number(),
            len_bytes: op.len_bytes(),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.call.name()
    }

    /// Tells it from other launches.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes that it writes, at most.
    pub(super) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Its sides that have elements, the inputs before what is written.
    fn sides(&self) -> impl Iterator<Item = (&Elements, Access)> {
        let inputs = self.inputs.iter().map(|side| (side, Access::Read));
        let written = self.results.iter().flatten().chain(&self.count).map(|side| (side, Access::Write));
        inputs.chain(written).filter_map(|(side, access)| Some((side.elements.as_ref()?, access)))
    }

    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        self.sides().map(|(side, access)| side.reach(access)).collect()
    }

    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        let touch = |(side, access): (&Elements, Access)| Touch {
            place: Place::Device(side.buffer),
            bytes: side.bytes(),
            access,
        };
        self.sides().map(touch).collect()
    }

    /// Whether a touch is of the array that elements are put into, which is read and written.
    pub(super) fn is_in_place(&self, touch: usize) -> bool {
        matches!(self.call, Call::Put { .. }) && touch == 0
    }

    /// Runs it whole. Returns the first index that has no place.
    ///
    /// On copies: its memory may be gone, be the host's, or be both read and written by mistake.
    pub(super) fn run(&self, memory: &mut Memory) -> Option<IndexError> {
        let read: Vec<(Vec<u8>, Layout)> =
            self.inputs.iter().map(|side| (side.read(memory), side.dense())).collect();
        let mut written: Vec<Option<(Vec<u8>, Layout)>> = self
            .results
            .iter()
            .map(|side| side.as_ref().map(|side| (side.read(memory), side.dense())))
            .collect();
        let inputs: SmallVec<[_; 4]> = self
            .inputs
            .iter()
            .zip(&read)
            .map(|(side, (bytes, layout))| {
                (side.element_type, InputElements { start: bytes.as_ptr(), layout })
            })
            .collect();
        let results: SmallVec<[_; 4]> = written
            .iter_mut()
            .map(|result| {
                let (bytes, layout) = result.as_mut()?;
                Some(ResultElements { start: bytes.as_mut_ptr(), layout })
            })
            .collect();
        let mut count = [0; size_of::<i64>()];
        let sides = OrderMemory { inputs: &inputs, results: &results, count: Some(count.as_mut_ptr()) };
        // SAFETY: each layout is a dense one of as many bytes as were copied for it, which nothing
        // else uses
        let error = unsafe { order_on_host(&self.call, sides, &Alone) };
        drop(results);
        let rows = usize::try_from(i64::from_le_bytes(count)).unwrap_or(0);
        for (number, (side, result)) in self.results.iter().zip(&written).enumerate() {
            let (Some(side), Some((bytes, _))) = (side, result) else { continue };
            let counted = match self.call {
                Call::Unique => number != 2,
                Call::NonZero => true,
                _ => false,
            };
            let room = side.layout.shape().first().copied().unwrap_or(0);
            side.write(memory, bytes, counted.then_some(rows.min(room)));
        }
        if let Some(side) = &self.count {
            side.write(memory, &count, None);
        }
        error
    }
}
