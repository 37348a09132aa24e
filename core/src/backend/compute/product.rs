//! The operation that multiplies matrices.
#![allow(unsafe_code)] // declares unsafe constructors; performs no unsafe operation

use std::fmt;

use super::{Operand, product_function::ProductFunction};
use crate::{function::ElementType, product::Precision};

/// Matrix products, one for each index of the batch axes: `[…, m, k]` times `[…, k, n]` to `[…, m, n]`;
/// [`function`](Self::function) may follow.
#[repr(C)]
pub struct ProductOp<'a, B> {
    pub(crate) element_type: ElementType,
    pub(crate) a: Operand<'a, B>,
    pub(crate) b: Operand<'a, B>,
    pub(crate) result: Operand<'a, B>,
    pub(crate) function: Option<ProductFunction<'a, B>>,
    pub(crate) is_onto: bool,
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
        let precision = Precision::Exact;
        Self { element_type, a, b, result, function: None, is_onto: false, precision, checked: false }
    }

    /// This operation, as exact as its caller asks for.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The operation with a function behind it.
    ///
    /// # Safety
    ///
    /// The conditions of [`new_unchecked`](Self::new_unchecked), with the function's result for the
    /// type of the result's elements. The chains start at 0. The function is as [`ProductFunction::new`]
    /// says; its layout has the elements of the result in the same order. The layouts of its inputs lie
    /// inside their buffers. An input that shares a byte with the result has its element size, and each
    /// index leads to the same bytes in both.
    #[must_use]
    pub unsafe fn with_function_unchecked(self, function: ProductFunction<'a, B>) -> Self {
        Self { function: Some(function), ..self }
    }

    /// The operation whose chains start from the elements of the result.
    ///
    /// # Safety
    ///
    /// No function follows. The elements of the result are initialized.
    #[must_use]
    pub unsafe fn onto_unchecked(self) -> Self {
        Self { is_onto: true, ..self }
    }

    /// The type of the elements that are multiplied and of the product's, a number. Without a
    /// [`function`](Self::function), the result's too.
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

    /// The elements that are written. Never empty; no two indices share an element, and none is
    /// shared with `a` or `b`.
    #[must_use]
    pub fn result(&self) -> &Operand<'a, B> {
        &self.result
    }

    /// The function of each element of the product, whose value is written in place of the element.
    #[must_use]
    pub fn function(&self) -> Option<&ProductFunction<'a, B>> {
        self.function.as_ref()
    }

    /// Whether the (first) chain of an element starts from the element in the result, not from +0.
    /// No function follows then.
    #[must_use]
    pub fn is_onto(&self) -> bool {
        self.is_onto
    }

    /// The type of the result's elements.
    #[must_use]
    pub fn result_type(&self) -> ElementType {
        self.function.as_ref().map_or(self.element_type, |function| function.program().result_type())
    }

    /// The precision of the elements. A device that has no faster form computes the exact ones,
    /// whichever it is.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The number of products that an element sums: `k`, never 0.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.a.layout.shape().last().copied().unwrap_or(0)
    }

    /// Bytes that are written.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.result.layout.len() * self.result_type().len_bytes()
    }
}

/// The shapes.
impl<B> fmt::Debug for ProductOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = |of: &Operand<'_, B>| of.layout.shape().to_vec();
        write!(f, "ProductOp({} {:?} @ {:?})", self.element_type, shape(&self.a), shape(&self.b))
    }
}
