//! Checks of slices, elements and results, which turn a mistake into an error.

use crate::{
    Result,
    function::{Computable, ElementType, FunctionError, FunctionErrorKind},
    layout::{Element, LayoutError},
};

/// Returns an error unless the slice holds exactly the elements.
pub(super) fn check_len(len: usize, item_bytes: usize, len_bytes: usize) -> Result<(), LayoutError> {
    if len.checked_mul(item_bytes) == Some(len_bytes) {
        return Ok(());
    }
    Err(LayoutError::LengthMismatch { expected: len, found: len_bytes / item_bytes.max(1) })
}

/// Returns an error unless elements have the expected size.
pub(super) fn check_item(item_bytes: usize, expected: usize) -> Result<(), LayoutError> {
    if item_bytes == expected {
        return Ok(());
    }
    Err(LayoutError::ElementSize { item_bytes, reason: "the element type is of another size" })
}

/// Returns an error unless the slice holds as many elements as expected.
pub(crate) fn check_count<T: Element>(len: usize, data: &[T]) -> Result<(), LayoutError> {
    check_len(len, T::BYTES, size_of_val(data))
}

/// Returns an error unless the result has the type that was asked for.
pub(super) fn check_result<R: Computable>(found: ElementType) -> Result<()> {
    if found == R::TYPE {
        return Ok(());
    }
    let message = format!("the result is {found}, not {}", R::TYPE);
    Err(FunctionError::new(FunctionErrorKind::Type, message).into())
}
