//! Multiplies on host memory, from any layouts to any layout.
#![allow(unsafe_code)] // hands on what a caller promises of memory

use devarray_function::{
    ElementType, Workers,
    interpreter::{InputElements, ResultElements},
};

use crate::{Machine, call::Call, kind::by_kind, operands::Products};

/// Multiplies arrays of one type: writes a @ b, whose shape is
/// [`product_shape`](crate::product_shape()), over the result.
///
/// Blocks until it is done. Without k the elements are 0; an empty result is not touched. Bits do not
/// depend on the workers, the layouts or the processor.
///
/// # Panics
///
/// The shapes do not fit, or the type is bool, which has no products.
///
/// # Safety
///
/// The elements of the operands may be read, the elements of the result may be written, and meanwhile no
/// other thread writes operands or touches the result. Operands are initialized. No two elements of the
/// result share a byte, and none shares one with an operand.
pub unsafe fn execute(
    element_type: ElementType,
    a: InputElements<'_>,
    b: InputElements<'_>,
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { execute_with(Machine::detected(), element_type, [a, b], result, false, workers) }
}

/// Like [`execute()`], but the first chain of each element starts from the element in the result.
///
/// # Panics
///
/// The panics of [`execute()`].
///
/// # Safety
///
/// The conditions of [`execute()`]; the elements of the result are initialized and may be read.
pub unsafe fn accumulate(
    element_type: ElementType,
    a: InputElements<'_>,
    b: InputElements<'_>,
    result: ResultElements<'_>,
    workers: &dyn Workers,
) {
    // SAFETY: as the caller promises
    unsafe { execute_with(Machine::detected(), element_type, [a, b], result, true, workers) }
}

/// Multiplies with chosen instructions, for tests.
///
/// # Panics
///
/// The panics of [`execute()`].
///
/// # Safety
///
/// The conditions of [`execute()`], and of [`accumulate()`] if `onto`. The processor has the
/// instructions.
pub unsafe fn execute_with(
    machine: Machine,
    element_type: ElementType,
    [a, b]: [InputElements<'_>; 2],
    result: ResultElements<'_>,
    onto: bool,
    workers: &dyn Workers,
) {
    let products = Products::new(a, b, result, element_type.len_bytes());
    // SAFETY: as the caller promises
    let call = unsafe { Call::new(machine, products, onto) };
    if !result.layout.is_empty() {
        by_kind!(element_type, K => call.run::<K>(workers));
    } else {
        assert!(element_type != ElementType::Bool, "bool has no products");
    }
}
