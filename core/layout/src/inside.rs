//! Checks whether memory has everything that a layout reaches.

use super::{Layout, LayoutError};

/// Returns an error if a layout reaches outside memory of `len_bytes`.
#[doc(hidden)]
#[inline]
pub fn check_inside(layout: &Layout, item_bytes: usize, len_bytes: usize) -> Result<(), LayoutError> {
    let (span, len) = (layout.span(), len_bytes / item_bytes);
    if span.end <= len || span.is_empty() {
        return Ok(());
    }
    Err(LayoutError::OutOfBounds { start: span.start, end: span.end, len })
}
