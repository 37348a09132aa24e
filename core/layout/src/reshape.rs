//! Other shapes for the same elements in the same order, where a view exists.

use super::{
    Axes, Extents, Layout, LayoutError, Order,
    axis::{axes_blank, axes_from},
    extents::infer,
};

impl Layout {
    /// Gives the elements another shape. Walked in `order`, they are the same sequence. The result
    /// is a view whenever one exists.
    ///
    /// One extent may be −1 and is inferred. [`Order::A`] means what [`resolve`](Self::resolve)
    /// returns. To reshape where no view exists, copy to [`dense_like`](Self::dense_like) of the
    /// resolved order, and reshape the copy.
    ///
    /// ```
    /// use devarray::{Layout, LayoutError, Order};
    ///
    /// let a = Layout::contiguous(&[4, 6], Order::C)?;
    /// assert_eq!(a.reshape(&[2, 2, -1], Order::C)?.strides(), [12, 6, 1]);
    /// assert_eq!(a.transpose().reshape(&[24], Order::C), Err(LayoutError::NeedsCopy));
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NeedsCopy`]: the shape fits, but no strides express it.
    /// - [`LayoutError::SizeMismatch`], [`LayoutError::CannotInfer`],
    ///   [`LayoutError::NegativeExtent`], [`LayoutError::Overflow`]: the shape does not fit.
    /// - [`LayoutError::UnsupportedOrder`]: [`Order::K`] is an order of elements in memory, not an
    ///   order to read them in.
    // This is inlined because a view wraps the result: across a call it would be copied twice.
    #[inline]
    pub fn reshape<S: Extents + ?Sized>(&self, shape: &S, order: Order) -> Result<Self, LayoutError> {
        if order == Order::K {
            return Err(LayoutError::UnsupportedOrder { order });
        }
        let shape = infer(shape.extents(), &self.shape, self.len)?;
        let order = self.resolve(order);
        if self.is_empty() {
            // No element is reached, so any strides do. Only here can extents other than 0
            // overflow.
            let dense = Self::contiguous(&shape, order)?;
            return Ok(Self { offset: self.offset, start: self.start, end: self.end, ..dense }.agreed());
        }
        let mut strides: Axes<isize> = axes_blank(shape.len());
        let old = self.shape.iter().copied().zip(self.strides.iter().copied());
        let new = shape.iter().copied().zip(&mut strides);
        let found = if order == Order::F { regroup(old, new) } else { regroup(old.rev(), new.rev()) };
        if !found {
            return Err(LayoutError::NeedsCopy);
        }
        // The elements are the same, so their number and span stay.
        Ok(Self { shape, strides, ..*self }.agreed())
    }

    /// Puts the elements in one axis, walked in `order`: a view if they lie densely in that order
    /// with positive strides ([`is_contiguous`](Self::is_contiguous)).
    ///
    /// It is stricter than [`reshape`](Self::reshape) to one axis, as in NumPy: the result is
    /// always contiguous, so a strided or reversed 1-D layout needs a copy. That copy is
    /// [`dense_to_ravel`](Self::dense_to_ravel) of the same order, seen as one axis.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NeedsCopy`]: they do not lie so.
    pub fn ravel(&self, order: Order) -> Result<Self, LayoutError> {
        if !self.is_contiguous(order) {
            return Err(LayoutError::NeedsCopy);
        }
        // The layout is dense with positive strides: the first element is the lowest, and the span
        // is the input's.
        Ok(Self { shape: axes_from(&[self.len]), strides: axes_from(&[1]), ..*self }.agreed())
    }
}

/// Finds strides for the axes of a new shape of equal product; `false` if there are none. Both
/// iterators go fastest axis first: the old one over (extent, stride), with no extent 0; the new
/// one over (extent, stride to write).
///
/// Old axes that step like one axis are merged; new axes must divide each merged axis without
/// remainder. This finds a view whenever one exists (the search of NumPy's
/// `_attempt_nocopy_reshape`).
#[inline]
fn regroup<'a>(
    old: impl Iterator<Item = (usize, isize)>,
    mut new: impl Iterator<Item = (usize, &'a mut isize)>,
) -> bool {
    let mut old = old.filter(|&(extent, _)| extent != 1);
    let mut next = old.next();
    while let Some((mut count, stride)) = next {
        next = old.next();
        while let Some((extent, outer)) = next
            && count.cast_signed().checked_mul(stride) == Some(outer)
        {
            count *= extent;
            next = old.next();
        }
        // Overfilling one merged axis leaves too little for a later one, because the products are
        // equal.
        let mut filled = 1;
        while filled < count {
            let Some((extent, slot)) = new.next() else { return false };
            // The step of an axis longer than 1 is inside the old span, so only an unused stride
            // can wrap.
            *slot = filled.cast_signed().wrapping_mul(stride);
            filled *= extent;
        }
    }
    true
}
