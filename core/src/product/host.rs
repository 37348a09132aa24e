//! Products of matrices that the host reaches.
#![allow(unsafe_code)] // multiplies matrices in memory that its caller vouches for

use crate::{
    function::{
        ElementType,
        interpreter::{InputElements, ResultElements},
    },
    order::Workers,
};

/// Multiplies matrices as [`product`](crate::product) says: writes `a @ b`, whose shape is
/// [`product_shape`](super::product_shape), over the result.
///
/// Blocks until done; `workers` share the work, and bits do not depend on them.
///
/// # Panics
///
/// Shapes that do not fit, and `Bool`, which has no products.
///
/// # Safety
///
/// The elements of `a` and `b` may be read, the elements of the result written, and no other thread
/// writes the former or touches the latter meanwhile. The former are initialized. No two elements of
/// the result share a byte, and none shares one with `a` or `b`.
pub unsafe fn product_on_host(
    element_type: ElementType,
    [a, b]: [InputElements<'_>; 2],
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { devarray_product::execute(element_type, a, b, result, workers) };
}
