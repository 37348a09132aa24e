//! The function behind a product.

use std::fmt;

use super::Operand;
use crate::{function::primitive::Program, layout::Layout};

/// A function of each element of a product, and of others: its value is written in the element's place.
#[repr(C)]
pub struct ProductFunction<'a, B> {
    pub(super) program: &'a Program,
    pub(super) inputs: &'a [Operand<'a, B>],
    pub(super) scalars: &'a [u64],
    pub(super) layout: &'a Layout,
}

impl<'a, B> ProductFunction<'a, B> {
    /// A function. The first input of the program is the product's element, rounded to its type;
    /// `inputs` are the others, in order. They have the shape of `layout`, which is where the values
    /// go: the result of the product, perhaps without axes that an operand of one axis does not have.
    #[must_use]
    pub fn new(
        program: &'a Program,
        inputs: &'a [Operand<'a, B>],
        scalars: &'a [u64],
        layout: &'a Layout,
    ) -> Self {
        Self { program, inputs, scalars, layout }
    }

    /// The computation. Input 0 is the product's element.
    #[must_use]
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The inputs from the second on, at most 15. One of them may be the result's own elements: each
    /// is read before the function's value takes its place.
    #[must_use]
    pub fn inputs(&self) -> &'a [Operand<'a, B>] {
        self.inputs
    }

    /// The scalar arguments, in order: the bits of each, in its type's width, zeros above.
    #[must_use]
    pub fn scalars(&self) -> &'a [u64] {
        self.scalars
    }

    /// The layout of the values, in the shape of the inputs: the elements of the operation's
    /// result, in the same order.
    #[must_use]
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }
}

/// The program, and the shape of its values.
impl<B> fmt::Debug for ProductFunction<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProductFunction({} inputs to {:?})", self.inputs.len() + 1, self.layout)
    }
}
