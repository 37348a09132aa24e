//! Treats elements of any size as elements of a size that devices move.

use super::{Layout, LayoutError, value::count};

/// The element sizes that devices move, widest first.
const WIDTHS: [usize; 5] = [16, 8, 4, 2, 1];

impl Layout {
    /// The size of all elements, of `item_bytes` bytes each.
    ///
    /// The limit holds for the product of the extents that are not 0, so a shape can be too large
    /// even without elements. Arrays here need not obey it if they have no elements. NumPy's arrays
    /// do, and so must files and arrays for other code.
    ///
    /// ```
    /// use devarray::{Layout, LayoutError, Order};
    ///
    /// assert_eq!(Layout::contiguous(&[3, 0], Order::C)?.len_bytes(4), Ok(0));
    /// let vast = Layout::contiguous(&[1 << 62, 0], Order::C)?;
    /// assert_eq!(vast.len_bytes(4), Err(LayoutError::Overflow));
    /// # Ok::<(), LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`]: the size exceeds `isize::MAX`. Extents of 0 do not count.
    #[inline]
    pub fn len_bytes(&self, item_bytes: usize) -> Result<usize, LayoutError> {
        let counted = if self.is_empty() { count(&self.shape).map_or(0, |(len, _)| len) } else { self.len };
        let len_bytes = counted.checked_mul(item_bytes).filter(|&bytes| isize::try_from(bytes).is_ok());
        let len_bytes = len_bytes.ok_or(LayoutError::Overflow)?;
        Ok(if self.is_empty() { 0 } else { len_bytes })
    }

    /// Counts the same bytes as elements of 1, 2, 4, 8 or 16 bytes, and returns the size.
    ///
    /// A layout of such elements is returned as it is. Any other element becomes a last axis of
    /// elements of the widest size that divides it: 12 bytes become three elements of 4 bytes.
    /// Strides and offset count the new elements.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`]: `item_bytes` is 0.
    /// - [`LayoutError::Overflow`].
    #[inline]
    pub fn with_item_bytes(&self, item_bytes: usize) -> Result<(Self, usize), LayoutError> {
        if item_bytes == 0 {
            return Err(LayoutError::ElementSize { item_bytes, reason: "at least 1 byte is needed" });
        }
        // 1 divides everything.
        let width = WIDTHS.into_iter().find(|width| item_bytes.is_multiple_of(*width)).unwrap_or(1);
        if width == item_bytes {
            return Ok((self.clone(), width));
        }
        let count = item_bytes / width;
        let factor = isize::try_from(count).map_err(|_| LayoutError::Overflow)?;
        let mut shape = self.shape.clone();
        shape.push(count);
        let mut strides = self.strides.clone();
        for (stride, &extent) in strides.iter_mut().zip(&self.shape) {
            // The stride of an axis with at most one position is never used, and may be anything.
            *stride = match stride.checked_mul(factor) {
                None if extent > 1 && !self.is_empty() => return Err(LayoutError::Overflow),
                product => product.unwrap_or(0),
            };
        }
        strides.push(1);
        let offset = self.offset.checked_mul(count).ok_or(LayoutError::Overflow)?;
        Ok((Self::new(&shape, &strides, offset)?, width))
    }
}
