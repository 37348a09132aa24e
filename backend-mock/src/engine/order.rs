//! Order, search, counts and sums by index, as queued operations.
#![allow(unsafe_code)] // makes calls on copies, in its own memory

use devarray::{
    Layout,
    backend::{OrderOp, OrderSide},
    function::interpreter::{InputElements, ResultElements},
    gather::IndexError,
    order::{Alone, Call, OrderMemory, order_on_host},
};
use smallvec::SmallVec;

use super::{Memory, reach::Reach, side::Side};
use crate::{
    allocation::Allocated,
    finding::Access,
    judge::{ByteSet, Touch},
};

/// A call and its operands.
#[derive(Debug)]
pub(crate) struct Ordered {
    call: Call,
    inputs: Vec<Side>,
    /// The results by number; a result that is not wanted is none.
    results: Vec<Option<Side>>,
    count: Option<Side>,
    /// Distinguishes this launch from others, also from gathers.
    number: u64,
    len_bytes: usize,
    /// For results that it may write only in part: the touch, and the bytes that had no value before.
    put: SmallVec<[(usize, ByteSet); 1]>,
}

fn side_of(side: &OrderSide<'_, impl Allocated>) -> Side {
    Side::new(side.element_type(), side.buffer(), side.layout())
}

impl Ordered {
    pub(crate) fn of(op: &OrderOp<'_, impl Allocated>) -> Self {
        Self {
            call: *op.call(),
            inputs: op.inputs().iter().map(side_of).collect(),
            results: op.results_by_number().map(|side| side.map(side_of)).collect(),
            count: op.count().map(side_of),
            number: op.number(),
            len_bytes: op.len_bytes(),
            put: SmallVec::new(),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.call.name()
    }

    /// Distinguishes this launch from others.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The most bytes that it writes.
    pub(super) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Its operands, the inputs before those that are written.
    fn sides(&self) -> impl Iterator<Item = (&Side, Access)> {
        let inputs = self.inputs.iter().map(|side| (side, Access::Read));
        let written = self.results.iter().flatten().chain(&self.count).map(|side| (side, Access::Write));
        inputs.chain(written)
    }

    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        self.sides().filter_map(|(side, access)| side.reach(access)).collect()
    }

    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        self.sides().filter_map(|(side, access)| side.touch(access)).collect()
    }

    /// Whether a touch is of the array that elements are put into, which is both read and written.
    pub(super) fn is_in_place(&self, touch: usize) -> bool {
        matches!(self.call, Call::Put { .. }) && touch == 0
    }

    /// Whether the number of rows that it writes of a result is known only when it runs.
    fn is_counted(&self, number: usize) -> bool {
        match self.call {
            Call::Unique => number != 2,
            Call::NonZero => true,
            _ => false,
        }
    }

    /// The results that have elements: the position among the touches, the number, and the side.
    fn touched_results(&self) -> impl Iterator<Item = (usize, usize, &Side)> {
        let inputs = self.inputs.iter().filter(|side| side.elements.is_some()).count();
        let results = self.results.iter().enumerate();
        let results = results.filter_map(|(number, side)| Some((number, side.as_ref()?)));
        let results = results.filter(|(_, side)| side.elements.is_some());
        results.enumerate().map(move |(at, (number, side))| (inputs + at, number, side))
    }

    /// The touches whose rows it may leave out.
    pub(super) fn partial(&self) -> SmallVec<[usize; 1]> {
        let counted = self.touched_results().filter(|&(_, number, _)| self.is_counted(number));
        counted.map(|(at, ..)| at).collect()
    }

    pub(super) fn set_put(&mut self, put: SmallVec<[(usize, ByteSet); 1]>) {
        self.put = put;
    }

    /// Notes the bytes that have a value now, and the bytes that could have got one and did not.
    fn note_given(&self, memory: &mut Memory, rows: usize) {
        for (at, missing) in &self.put {
            let of = self.touched_results().find(|(touch, ..)| touch == at);
            let Some(elements) = of.and_then(|(_, _, side)| side.elements.as_ref()) else { continue };
            let Some(unput) = memory.unput_mut(elements.buffer) else { continue };
            *unput = unput.with(missing).without(&elements.first_rows(rows));
        }
    }

    /// Runs the whole call. Returns the first index that is out of range.
    ///
    /// Works on copies: its memory may be gone, may be the host's, or may by mistake be both read
    /// and written.
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
        // SAFETY: each layout is a dense one with as many bytes as were copied for it, and nothing
        // else uses these bytes
        let error = unsafe { order_on_host(&self.call, sides, &Alone) };
        drop(results);
        let rows = usize::try_from(i64::from_le_bytes(count)).unwrap_or(0);
        for (number, (side, result)) in self.results.iter().zip(&written).enumerate() {
            let (Some(side), Some((bytes, _))) = (side, result) else { continue };
            let room = side.layout.shape().first().copied().unwrap_or(0);
            side.write(memory, bytes, self.is_counted(number).then_some(rows.min(room)));
        }
        self.note_given(memory, rows);
        if let Some(side) = &self.count {
            side.write(memory, &count, None);
        }
        error
    }
}
