//! Products on host memory, from any layouts to any layout.
#![allow(unsafe_code)] // reads and writes the elements that the caller vouches for

use devarray_function::{
    ElementType, FloatEnvironment, Workers,
    interpreter::{InputElements, ResultElements},
};

use crate::{
    chains::{CHAIN, Sums},
    kind::{Kind, Number, by_kind},
    operands::Products,
};

/// Writes the product a @ b of arrays of one type, whose shape is
/// [`product_shape`](crate::product_shape()), over the result.
///
/// Blocks until done. Without k the elements are 0; an empty result is left alone. Bits do not depend on
/// the workers, the layouts or the processor.
///
/// # Panics
///
/// Shapes that do not fit, and bool, which has no products.
///
/// # Safety
///
/// The elements of the operands may be read and those of the result be written, and no other thread
/// writes the former or touches the latter meanwhile. The former are initialized. No two elements of the
/// result share a byte, and none shares one with an operand.
pub unsafe fn execute(
    element_type: ElementType,
    a: InputElements<'_>,
    b: InputElements<'_>,
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { run(element_type, [a, b], result, false, workers) }
}

/// As [`execute()`], but the (first) chain of an element starts from what is in the result.
///
/// # Panics
///
/// As [`execute()`].
///
/// # Safety
///
/// As [`execute()`], and the elements of the result are initialized and may be read.
pub unsafe fn accumulate(
    element_type: ElementType,
    a: InputElements<'_>,
    b: InputElements<'_>,
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { run(element_type, [a, b], result, true, workers) }
}

/// # Safety
///
/// As [`execute()`], and as [`accumulate()`] if `onto`.
unsafe fn run(
    element_type: ElementType,
    [a, b]: [InputElements<'_>; 2],
    result: ResultElements<'_>,
    onto: bool,
    _workers: &dyn Workers,
) {
    let _standard = FloatEnvironment::standard();
    let products = Products::new(a, b, result, element_type.len_bytes());
    if result.layout.is_empty() {
        return;
    }
    by_kind!(element_type, K => {
        for number in 0..products.count() {
            // SAFETY: as the caller promises
            unsafe { one::<K>(&products, number, onto) };
        }
    });
}

/// # Safety
///
/// As [`run`].
unsafe fn one<K: Kind>(products: &Products, number: usize, onto: bool) {
    let [m, k, n] = products.extents;
    let places = products.places(number);
    let start = |operand: usize| products.starts[operand].cast::<K::Bits>().wrapping_offset(places[operand]);
    let at = |operand: usize, row: usize, column: usize| {
        let [rows, columns] = products.strides[operand];
        start(operand).wrapping_offset(row.cast_signed() * rows + column.cast_signed() * columns)
    };
    let mut sums = Sums::new();
    for row in 0..m {
        for column in 0..n {
            let mut y = [K::Number::ZERO];
            let chain = |number: usize, y: &mut [K::Number]| {
                y[0] = K::Number::ZERO;
                if onto && number == 0 {
                    // SAFETY: as the caller promises
                    y[0] = K::load(unsafe { at(2, row, column).read_unaligned() });
                }
                for k in number * CHAIN..k.min((number + 1) * CHAIN) {
                    // SAFETY: as the caller promises
                    let a = K::load(unsafe { at(0, row, k).read_unaligned() });
                    // SAFETY: as the caller promises
                    let b = K::load(unsafe { at(1, k, column).read_unaligned() });
                    y[0] = K::Number::fma(a, b, y[0]);
                }
            };
            if k <= CHAIN {
                chain(0, &mut y);
            } else {
                sums.sum(k.div_ceil(CHAIN), &mut y, chain);
            }
            // SAFETY: as the caller promises
            unsafe { at(2, row, column).write_unaligned(K::store(y[0])) };
        }
    }
}
