//! The operation that multiplies matrices.
#![allow(unsafe_code)] // declares an unsafe constructor, and multiplies in memory that its callers vouch for

use std::fmt;

use super::Operand;
use crate::{
    function::{
        ElementType,
        interpreter::{InputElements, ResultElements},
    },
    order::Workers,
    product::{Precision, product_on_host},
};

/// Matrix products, one for each index of the batch axes: `[…, m, k]` times `[…, k, n]` to `[…, m, n]`.
#[repr(C)]
pub struct ProductOp<'a, B> {
    pub(crate) element_type: ElementType,
    pub(crate) a: Operand<'a, B>,
    pub(crate) b: Operand<'a, B>,
    pub(crate) result: Operand<'a, B>,
    pub(crate) precision: Precision,
    pub(crate) checked: bool,
}

impl<'a, B> ProductOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// All have one rank, two or more, and one element type, a number. The last axes are `[m, k]`,
    /// `[k, n]` and `[m, n]`, all others the same, and no extent is 0. The layouts lie inside their
    /// buffers in elements of the type; the result's is injective, and shares no byte with the
    /// others. Nothing that conflicts with it is in flight, or an event or the stream orders it
    /// after that.
    #[must_use]
    pub unsafe fn new_unchecked(
        element_type: ElementType,
        a: Operand<'a, B>,
        b: Operand<'a, B>,
        result: Operand<'a, B>,
    ) -> Self {
        Self { element_type, a, b, result, precision: Precision::Exact, checked: false }
    }

    /// This operation, as exact as its caller asks for.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The type of all elements, a number.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The left matrices. A batch axis that they are broadcast along has a stride of 0.
    #[must_use]
    pub fn a(&self) -> &Operand<'a, B> {
        &self.a
    }

    /// The right matrices, likewise.
    #[must_use]
    pub fn b(&self) -> &Operand<'a, B> {
        &self.b
    }

    /// What is written. Never empty; no two indices share an element, and none is shared with `a`
    /// or `b`.
    #[must_use]
    pub fn result(&self) -> &Operand<'a, B> {
        &self.result
    }

    /// How exact the elements must be. A device that has no faster form computes the exact ones,
    /// whichever it is.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// How many products an element is the sum of: `k`, never 0.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.a.layout.shape().last().copied().unwrap_or(0)
    }

    /// Bytes that are written.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.result.layout.len() * self.element_type.len_bytes()
    }
}

impl<'a, B> ProductOp<'a, B> {
    /// Multiplies where the host reaches the buffers: [`product_on_host`]. `start` gives the address
    /// of a buffer.
    ///
    /// # Safety
    ///
    /// The elements of the operands may be read, the elements of the result written from there on, and
    /// nobody else writes the former or touches the latter meanwhile. The former are initialized.
    pub unsafe fn run_on_host(&self, start: impl Fn(&'a B) -> *mut u8, workers: &dyn Workers) {
        let operands = [&self.a, &self.b]
            .map(|of| InputElements { start: start(of.buffer()).cast_const(), layout: of.layout });
        let result = ResultElements { start: start(self.result.buffer()), layout: self.result.layout };
        // SAFETY: as the caller promises; the operation proves the rest
        unsafe { product_on_host(self.element_type, operands, result, workers) };
    }
}

/// The shapes.
impl<B> fmt::Debug for ProductOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = |of: &Operand<'_, B>| of.layout.shape().to_vec();
        write!(f, "ProductOp({} {:?} @ {:?})", self.element_type, shape(&self.a), shape(&self.b))
    }
}
