//! The same bytes as elements of another size.

use super::{Layout, LayoutError};

impl Layout {
    /// The same bytes, counted as elements of `new_bytes` instead of `item_bytes`, neither of them
    /// 0: NumPy's `view(dtype)`.
    ///
    /// Elements of one size keep their layout. Otherwise the last axis must be dense, and its bytes
    /// become elements of the new size; the other strides and the offset, in bytes, must be
    /// multiples of it.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`]: there is no axis, the last one has gaps, or something is no
    ///   multiple.
    /// - [`LayoutError::Overflow`].
    pub(crate) fn reinterpreted(&self, item_bytes: usize, new_bytes: usize) -> Result<Self, LayoutError> {
        if item_bytes == new_bytes {
            return Ok(self.clone());
        }
        let refused = |reason| LayoutError::ElementSize { item_bytes: new_bytes, reason };
        let whole = |elements: usize, reason| {
            let bytes = elements.checked_mul(item_bytes).ok_or(LayoutError::Overflow)?;
            if bytes.is_multiple_of(new_bytes) { Ok(bytes / new_bytes) } else { Err(refused(reason)) }
        };
        let (Some((&extent, outer)), Some((&stride, strides))) =
            (self.shape.split_last(), self.strides.split_last())
        else {
            return Err(refused("there is no axis whose bytes could be elements of another size"));
        };
        if extent > 1 && stride != 1 {
            return Err(refused("the last axis has gaps between its elements"));
        }
        let last = whole(extent, "the bytes of the last axis are no multiple of it")?;
        let (mut shape, mut new_strides) = (outer.to_vec(), Vec::with_capacity(strides.len() + 1));
        for (&stride, &extent) in strides.iter().zip(outer) {
            let step = whole(stride.unsigned_abs(), "the bytes of a stride are no multiple of it");
            // The stride of an axis of at most one position is never used, and may be anything.
            let step = if extent > 1 && !self.is_empty() { step? } else { step.unwrap_or(0) };
            let step = isize::try_from(step).map_err(|_| LayoutError::Overflow)?;
            new_strides.push(if stride < 0 { -step } else { step });
        }
        let offset = whole(self.offset, "the bytes before the first element are no multiple of it")?;
        shape.push(last);
        new_strides.push(1);
        Self::new(&shape, &new_strides, offset)
    }
}
