//! Checks of slices, elements and results, by which calls refuse.

use crate::{
    Result,
    function::{Computable, ElementType, FunctionError, FunctionErrorKind},
    layout::{Element, LayoutError},
};

/// Refuses a slice that does not hold the elements exactly.
pub(super) fn check_len(len: usize, item_bytes: usize, len_bytes: usize) -> Result<(), LayoutError> {
    if len.checked_mul(item_bytes) == Some(len_bytes) {
        return Ok(());
    }
    Err(LayoutError::LengthMismatch { expected: len, found: len_bytes / item_bytes.max(1) })
}

/// Refuses another element size.
pub(super) fn check_item(item_bytes: usize, expected: usize) -> Result<(), LayoutError> {
    if item_bytes == expected {
        return Ok(());
    }
    Err(LayoutError::ElementSize { item_bytes, reason: "the element type is of another size" })
}

/// Refuses a slice that does not hold as many elements.
pub(crate) fn check_count<T: Element>(len: usize, data: &[T]) -> Result<(), LayoutError> {
    check_len(len, T::BYTES, size_of_val(data))
}

/// Refuses a result of another type than was asked for.
pub(super) fn check_result<R: Computable>(found: ElementType) -> Result<()> {
    if found == R::TYPE {
        return Ok(());
    }
    let message = format!("the result is {found}, not {}", R::TYPE);
    Err(FunctionError::new(FunctionErrorKind::Type, message).into())
}
