//! Multiplies slices, in the calling thread.
#![allow(unsafe_code)] // lends slices to a product, after checking their lengths

use devarray_function::{
    Alone, Number,
    interpreter::{InputElements, ResultElements},
};
use devarray_layout::{Layout, Order};

use crate::execute;

/// Multiplies `a`, [m, k], and `b`, [k, n], and writes the product over the result, [m, n]. All are in
/// row-major order.
///
/// # Panics
///
/// If a slice does not have the length of its matrix.
pub fn matmul<T: Number>(a: &[T], b: &[T], [m, k, n]: [usize; 3], result: &mut [T]) {
    let matrix = |rows: usize, columns: usize, len: usize| {
        assert_eq!(
            rows.checked_mul(columns),
            Some(len),
            "as many elements as a matrix of {rows} x {columns} has"
        );
        Layout::contiguous(&[rows, columns], Order::C).expect("a slice has at most `isize::MAX` bytes")
    };
    let [a_layout, b_layout] = [matrix(m, k, a.len()), matrix(k, n, b.len())];
    let result_layout = matrix(m, n, result.len());
    let [a, b] = [(a, &a_layout), (b, &b_layout)]
        .map(|(slice, layout)| InputElements { start: slice.as_ptr().cast(), layout });
    let result = ResultElements { start: result.as_mut_ptr().cast(), layout: &result_layout };
    // SAFETY: layouts are as long as the slices, which are borrowed, the result's exclusively
    unsafe { execute(T::TYPE, a, b, result, &Alone) }
}
