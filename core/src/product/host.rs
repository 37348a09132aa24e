//! Multiplies matrices that the host reaches.
#![allow(unsafe_code)] // multiplies matrices in memory that its caller vouches for

use devarray_function::each_piece;

use crate::{
    function::{
        ElementType,
        interpreter::{InputElements, ResultElements, interpret_range},
        primitive::Program,
    },
    order::Workers,
};

/// About how many elements a piece of a function has: it takes at least some ten microseconds.
const PIECE_LEN: usize = 64 << 10;

/// Multiplies matrices by the rules of [`product`](crate::product): writes `a @ b`, whose shape is
/// [`product_shape`](super::product_shape), over the result.
///
/// Blocks until it is done. `workers` share the work, and the bits do not depend on them.
///
/// # Panics
///
/// The shapes do not fit, or the type is `Bool`, which has no products.
///
/// # Safety
///
/// The elements of `a` and `b` may be read, the elements of the result may be written, and meanwhile
/// no other thread writes `a` or `b` or touches the result. `a` and `b` are initialized. No two
/// elements of the result share a byte, and none shares one with `a` or `b`.
pub unsafe fn product_on_host(
    element_type: ElementType,
    [a, b]: [InputElements<'_>; 2],
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { devarray_product::execute(element_type, a, b, result, workers) };
}

/// Like [`product_on_host`], with chains that start from the elements of the result.
///
/// # Panics
///
/// The panics of [`product_on_host`].
///
/// # Safety
///
/// The conditions of [`product_on_host`]; the elements of the result are initialized.
pub unsafe fn accumulate_on_host(
    element_type: ElementType,
    [a, b]: [InputElements<'_>; 2],
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { devarray_product::accumulate(element_type, a, b, result, workers) };
}

/// Elements that threads share.
struct Shared<'a>(&'a [InputElements<'a>], ResultElements<'a>);

// SAFETY: addresses with layouts; whoever accesses the elements does so with `unsafe`.
unsafe impl Sync for Shared<'_> {}

/// Computes a function of elements, in pieces that threads share.
///
/// # Safety
///
/// The elements of the inputs may be read, the elements of the result may be written, and meanwhile no
/// other thread writes inputs or touches the result. An input shares no byte with the result, or
/// consists of the result's own elements in the same places.
pub(crate) unsafe fn interpret_on_host(
    program: &Program,
    inputs: &[InputElements<'_>],
    scalars: &[u64],
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    let (len, shared) = (result.layout.len(), Shared(inputs, result));
    each_piece(workers, len.div_ceil(PIECE_LEN), |piece| {
        let Shared(inputs, result) = &shared;
        let range = piece * PIECE_LEN..len.min((piece + 1) * PIECE_LEN);
        // SAFETY: as the caller promises; pieces share no element of the result
        unsafe { interpret_range(program, inputs, scalars, *result, range) };
    });
}
