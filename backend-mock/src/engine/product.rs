//! Matrix products, in a queue.
#![allow(unsafe_code)] // makes products in memory of its own

use devarray::{
    backend::{Operand, ProductOp},
    function::interpreter::{InputElements, ResultElements},
    order::Alone,
    product::product_on_host,
};
use smallvec::SmallVec;

use super::{Memory, reach::Reach, side::Side};
use crate::{allocation::Allocated, finding::Access, judge::Touch};

/// A product, and its memory.
#[derive(Debug)]
pub(crate) struct Multiplied {
    inputs: [Side; 2],
    result: Side,
}

impl Multiplied {
    pub(crate) fn of(op: &ProductOp<'_, impl Allocated>) -> Self {
        let [a, b, result] = [op.a(), op.b(), op.result()]
            .map(|of: &Operand<'_, _>| Side::new(op.element_type(), Some(of.buffer()), of.layout()));
        Self { inputs: [a, b], result }
    }

    /// Bytes that it writes.
    pub(super) fn len_bytes(&self) -> usize {
        self.result.layout.len() * self.result.element_type.len_bytes()
    }

    /// Its sides, the operands before the result.
    fn sides(&self) -> impl Iterator<Item = (&Side, Access)> {
        self.inputs.iter().map(|side| (side, Access::Read)).chain([(&self.result, Access::Write)])
    }

    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        self.sides().filter_map(|(side, access)| side.reach(access)).collect()
    }

    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        self.sides().filter_map(|(side, access)| side.touch(access)).collect()
    }

    /// Runs it whole.
    ///
    /// On copies: its memory may be gone, be the host's, or be both read and written by mistake.
    pub(super) fn run(&self, memory: &mut Memory) {
        let [a, b] = self.inputs.each_ref().map(|side| (side.read(memory), side.dense()));
        let operands = [&a, &b].map(|(bytes, layout)| InputElements { start: bytes.as_ptr(), layout });
        let (mut bytes, layout) = (vec![0; self.len_bytes()], self.result.dense());
        let result = ResultElements { start: bytes.as_mut_ptr(), layout: &layout };
        // SAFETY: each layout is a dense one of as many bytes as there are for it, which nothing else
        // uses
        unsafe { product_on_host(self.result.element_type, operands, result, &Alone) };
        self.result.write(memory, &bytes, None);
    }
}
