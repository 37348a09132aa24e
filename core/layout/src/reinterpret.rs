//! Counts bytes as elements of another size.

use super::{Layout, LayoutError};

impl Layout {
    /// Counts the same bytes as elements of `new_bytes` instead of `item_bytes`, neither of them 0:
    /// NumPy's `view(dtype)`.
    ///
    /// If the sizes are equal, any layout is kept. Otherwise the last axis must be dense, and its
    /// bytes become elements of the new size. The other strides and the offset, in bytes, must be
    /// multiples of the new size. Strides that no step takes do not count, and neither does the
    /// offset of an empty layout.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`]: there is no axis, the last one has gaps, or a stride or
    ///   the offset is not a multiple.
    /// - [`LayoutError::Overflow`].
    #[doc(hidden)]
    pub fn reinterpreted(&self, item_bytes: usize, new_bytes: usize) -> Result<Self, LayoutError> {
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
        if extent > 1 && stride != 1 && !self.is_empty() {
            return Err(refused("the last axis has gaps between its elements"));
        }
        let last = whole(extent, "the bytes of the last axis are no multiple of it")?;
        let (mut shape, mut new_strides) = (outer.to_vec(), Vec::with_capacity(strides.len() + 1));
        for (&stride, &extent) in strides.iter().zip(outer) {
            let step = whole(stride.unsigned_abs(), "the bytes of a stride are no multiple of it");
            // The stride of an axis with at most one position is never used, and may be anything.
            let step = if extent > 1 && !self.is_empty() { step? } else { step.unwrap_or(0) };
            let step = isize::try_from(step).map_err(|_| LayoutError::Overflow)?;
            new_strides.push(if stride < 0 { -step } else { step });
        }
        let offset = whole(self.offset, "the bytes before the first element are no multiple of it");
        // An empty layout may begin anywhere.
        let offset = if self.is_empty() { offset.unwrap_or(0) } else { offset? };
        shape.push(last);
        new_strides.push(1);
        Self::new(&shape, &new_strides, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reinterpreted(
        (shape, strides, offset): (&[usize], &[isize], usize),
        item_bytes: usize,
        new_bytes: usize,
    ) -> Result<(Vec<usize>, Vec<isize>, usize), LayoutError> {
        let layout = Layout::new(shape, strides, offset)?.reinterpreted(item_bytes, new_bytes)?;
        Ok((layout.shape.to_vec(), layout.strides.to_vec(), layout.offset))
    }

    fn refused(found: Result<(Vec<usize>, Vec<isize>, usize), LayoutError>, why: &str) {
        match found {
            Err(LayoutError::ElementSize { reason, .. }) => assert!(reason.contains(why), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_part_is_counted_in_the_new_size() {
        let of_bytes = (&[2, 8][..], &[-12, 1][..], 16);
        assert_eq!(reinterpreted(of_bytes, 1, 4), Ok((vec![2, 2], vec![-3, 1], 4)));
        let of_words = (&[3, 2][..], &[5, 1][..], 1);
        assert_eq!(reinterpreted(of_words, 4, 2), Ok((vec![3, 4], vec![10, 1], 2)));
        // Any layout keeps elements of the same size.
        assert_eq!(reinterpreted((&[3], &[2], 1), 4, 4), Ok((vec![3], vec![2], 1)));
    }

    #[test]
    fn what_is_no_multiple_is_refused() {
        refused(reinterpreted((&[], &[], 0), 4, 1), "no axis");
        refused(reinterpreted((&[4], &[2], 0), 1, 2), "gaps");
        refused(reinterpreted((&[6], &[1], 0), 1, 4), "last axis");
        refused(reinterpreted((&[2, 4], &[6, 1], 0), 1, 4), "stride");
        refused(reinterpreted((&[2, 4], &[-6, 1], 6), 1, 4), "stride");
        refused(reinterpreted((&[4], &[1], 2), 1, 4), "before the first");
    }

    #[test]
    fn strides_that_are_never_used_may_be_anything() {
        assert_eq!(reinterpreted((&[1, 4], &[6, 1], 0), 1, 4), Ok((vec![1, 1], vec![0, 1], 0)));
        assert_eq!(reinterpreted((&[2, 0], &[6, 1], 0), 1, 4), Ok((vec![2, 0], vec![0, 1], 0)));
        // An empty layout may begin anywhere, and its gaps do not count.
        assert_eq!(reinterpreted((&[0, 4], &[8, 2], 3), 1, 4), Ok((vec![0, 1], vec![2, 1], 0)));
        // A single element may have any stride.
        assert_eq!(reinterpreted((&[1], &[7], 0), 4, 1), Ok((vec![4], vec![1], 0)));
    }
}
