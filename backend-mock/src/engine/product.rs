//! Matrix products as queued operations.
#![allow(unsafe_code)] // computes products in its own memory

use devarray::{
    Layout,
    backend::{Operand, ProductOp},
    function::{
        interpreter::{InputElements, ResultElements, interpret},
        primitive::Program,
    },
    order::Alone,
    product::{accumulate_on_host, product_on_host},
};
use smallvec::SmallVec;

use super::{
    Memory,
    reach::Reach,
    side::{Side, dense},
};
use crate::{allocation::Allocated, finding::Access, judge::Touch};

/// A product and its operands.
#[derive(Debug)]
pub(crate) struct Multiplied {
    operands: [Side; 2],
    /// Whether sums start from the elements of the result.
    is_onto: bool,
    result: Side,
    function: Option<Follows>,
}

/// The function that follows a product.
#[derive(Debug)]
struct Follows {
    program: Program,
    inputs: Vec<Side>,
    scalars: Vec<u64>,
    /// The result in the function's shape.
    layout: Layout,
}

impl Multiplied {
    pub(crate) fn of(op: &ProductOp<'_, impl Allocated>) -> Self {
        let side = |of: &Operand<'_, _>, of_type| Side::new(of_type, Some(of.buffer()), of.layout());
        let function = op.function().map(|function| {
            let inputs = function.inputs().iter().zip(&function.program().inputs()[1..]);
            Follows {
                program: function.program().clone(),
                inputs: inputs.map(|(input, &of_type)| side(input, of_type)).collect(),
                scalars: function.scalars().to_vec(),
                layout: function.layout().clone(),
            }
        });
        Self {
            operands: [op.a(), op.b()].map(|of| side(of, op.element_type())),
            is_onto: op.is_onto(),
            result: side(op.result(), op.result_type()),
            function,
        }
    }

    /// The number of bytes that it writes.
    pub(super) fn len_bytes(&self) -> usize {
        self.result.layout.len() * self.result.element_type.len_bytes()
    }

    /// The operands that it reads: the two factors, then those that may have the result's own elements.
    fn read(&self) -> impl Iterator<Item = &Side> {
        let others = self.function.iter().flat_map(|function| &function.inputs);
        self.operands.iter().chain(self.is_onto.then_some(&self.result)).chain(others)
    }

    /// All its operands, the ones that are read before the result.
    fn sides(&self) -> impl Iterator<Item = (&Side, Access)> {
        self.read().map(|side| (side, Access::Read)).chain([(&self.result, Access::Write)])
    }

    pub(super) fn reaches(&self) -> SmallVec<[Reach; 2]> {
        self.sides().filter_map(|(side, access)| side.reach(access)).collect()
    }

    pub(super) fn touches(&self) -> SmallVec<[Touch; 2]> {
        self.sides().filter_map(|(side, access)| side.touch(access)).collect()
    }

    /// Whether a touch is of the result's own elements, which are read before they are written.
    pub(super) fn is_in_place(&self, touch: usize) -> bool {
        let Some(read) = self.read().nth(touch).filter(|_| touch >= self.operands.len()) else {
            return false;
        };
        let (layout, place) = match &self.function {
            Some(function) => (&function.layout, self.result.first_byte(&function.layout)),
            None => (&self.result.layout, self.result.first_byte(&self.result.layout)),
        };
        read.first_byte(&read.layout) == place
            && read.element_type.len_bytes() == self.result.element_type.len_bytes()
            && read.layout.steps_like(layout)
    }

    /// Runs the whole product.
    ///
    /// Works on copies: its memory may be gone, may be the host's, or may by mistake be both read and
    /// written.
    pub(super) fn run(&self, memory: &mut Memory) {
        let element_type = self.operands[0].element_type;
        let [a, b] = self.operands.each_ref().map(|side| (side.read(memory), side.dense()));
        let operands = [&a, &b].map(|(bytes, layout)| InputElements { start: bytes.as_ptr(), layout });
        let layout = self.result.dense();
        let mut product = if self.is_onto {
            self.result.read(memory)
        } else {
            vec![0; layout.len() * element_type.len_bytes()]
        };
        let result = ResultElements { start: product.as_mut_ptr(), layout: &layout };
        let multiply = if self.is_onto { accumulate_on_host } else { product_on_host };
        // SAFETY: each layout is a dense one with as many bytes as there are for it, and nothing else uses
        // these bytes
        unsafe { multiply(element_type, operands, result, &Alone) };
        let bytes = match &self.function {
            Some(function) => function.run(memory, &product, self.len_bytes()),
            None => product,
        };
        self.result.write(memory, &bytes, None);
    }
}

impl Follows {
    /// The values of the function for the elements of the product, in C order.
    fn run(&self, memory: &Memory, product: &[u8], len_bytes: usize) -> Vec<u8> {
        let others: Vec<(Vec<u8>, Layout)> =
            self.inputs.iter().map(|side| (side.read(memory), side.dense())).collect();
        let layout = dense(&self.layout);
        let mut inputs = vec![InputElements { start: product.as_ptr(), layout: &layout }];
        inputs.extend(others.iter().map(|(bytes, layout)| InputElements { start: bytes.as_ptr(), layout }));
        let mut bytes = vec![0; len_bytes];
        let result = ResultElements { start: bytes.as_mut_ptr(), layout: &layout };
        // SAFETY: as for the product
        unsafe { interpret(&self.program, &inputs, &self.scalars, result) };
        bytes
    }
}
