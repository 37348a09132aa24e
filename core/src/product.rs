//! Matrix products with one value: the rules for callers of `matmul` and `einsum`, and the call that
//! backends implement.
//!
//! # Value
//!
//! An element of a product of floats is one chain of fused multiply-adds in rising k, from +0:
//! `y = fma(a[k], b[k], y)`. A product longer than [`CHAIN`] has a chain for each piece of that
//! length, and the results of the chains are added like the elements of a
//! [sum](crate::manual::_8_reductions). `f16` and `bf16` do this in `f32` and round once, at the end.
//! Integers wrap. So a row has the same bits alone and in a batch, in any layout, and on every
//! device.
//!
//! This is [`Precision::Exact`]; a caller may choose [`Precision::Fast`] for a call.
//!
//! NaN is the canonical NaN; subnormals are kept; if there are no products (`k` is 0), an element
//! is +0.
//!
//! # Shapes
//!
//! Shapes are NumPy's: the last two axes are matrices, and the axes before them are a batch, which
//! broadcasts. A 1-D operand is a row on the left and a column on the right, and that axis is not
//! in the result.
//!
//! [`ArrayView::matmul`](crate::ArrayView::matmul) and its kin make products of arrays; the page
//! [Matrix products](crate::manual::_e_products) shows them.

mod host;
mod precision;

#[doc(inline)]
pub use devarray_product::{CHAIN, ProductError, ProductErrorKind, product_shape};
pub(crate) use host::interpret_on_host;
pub use host::{accumulate_on_host, product_on_host};
pub use precision::Precision;

/// Makes the error of operands whose shapes do not fit.
pub(crate) fn wrong_shape(message: String) -> ProductError {
    ProductError::new(ProductErrorKind::Shape, message)
}
