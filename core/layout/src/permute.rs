//! Transforms that reorder, reverse, add and drop axes, and reach the same elements.

use super::{
    Axes, Layout, LayoutError,
    axis::{AxisSet, axes_blank, axis_index},
    axis_list::AxisList,
    integer::Integer,
};

/// Every transform here reaches the same elements as its input, or none if the input is empty. So
/// the result takes the number of elements and the span from the input, without checks.
impl Layout {
    /// Puts the axes in another order: axis `i` of the result is axis `axes[i]` of this layout.
    /// Always a view.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`]: some axis is not named.
    /// - [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    // This is inlined because a view wraps the result: across a call it would be copied twice.
    #[inline]
    pub fn permute(&self, axes: impl AxisList) -> Result<Self, LayoutError> {
        let (axes, rank) = (axes.axes(), self.rank());
        if axes.len() != rank {
            return Err(LayoutError::RankMismatch { expected: rank, found: axes.len() });
        }
        let mut seen = AxisSet::new(rank);
        let mut out = self.clone();
        let (shape, strides) = (self.shape(), self.strides());
        let to = out.shape.iter_mut().zip(&mut out.strides);
        for (&axis, (extent, stride)) in axes.iter().zip(to) {
            let axis = seen.insert(axis)?;
            *extent = shape[axis];
            *stride = strides[axis];
        }
        Ok(out.agreed())
    }

    /// Reverses the order of the axes. Always a view.
    #[must_use]
    #[inline]
    pub fn transpose(&self) -> Self {
        let mut out = self.clone();
        out.shape.reverse();
        out.strides.reverse();
        out.agreed()
    }

    /// Exchanges two axes. Naming one axis twice changes nothing. Always a view.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`].
    #[inline]
    pub fn swap_axes(&self, a: impl Integer, b: impl Integer) -> Result<Self, LayoutError> {
        let (a, b) = (axis_index(a, self.rank())?, axis_index(b, self.rank())?);
        let mut out = self.clone();
        out.shape.swap(a, b);
        out.strides.swap(a, b);
        Ok(out.agreed())
    }

    /// Moves the axes `from` to the places `to`, in pairs; the others keep their order. Always a view.
    ///
    /// ```
    /// use devarray::{Layout, Order};
    ///
    /// let images = Layout::contiguous(&[2, 30, 40, 3], Order::C)?;
    /// assert_eq!(images.move_axes(&[-1], &[1])?.shape(), [2, 3, 30, 40]);
    /// assert_eq!(images.move_axes(&[0, 1], &[-1, -2])?.shape(), [40, 3, 30, 2]);
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`]: the lists have different lengths.
    /// - [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`]: an axis in one of the
    ///   lists.
    pub fn move_axes(&self, from: impl AxisList, to: impl AxisList) -> Result<Self, LayoutError> {
        let (from, to, rank) = (from.axes(), to.axes(), self.rank());
        if from.len() != to.len() {
            return Err(LayoutError::RankMismatch { expected: from.len(), found: to.len() });
        }
        let (mut moved, mut taken) = (AxisSet::new(rank), AxisSet::new(rank));
        let mut order: Axes<usize> = axes_blank(rank);
        for (&from, &to) in from.iter().zip(to) {
            let from = moved.insert(from)?;
            order[taken.insert(to)?] = from;
        }
        let kept = (0..rank).filter(|&axis| !moved.contains(axis));
        let places = (0..rank).filter(|&place| !taken.contains(place));
        places.zip(kept).for_each(|(place, axis)| order[place] = axis);
        self.permute(&order)
    }

    /// Reverses the order of the elements along each of `axes`. No axes change nothing. Always a
    /// view.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    #[inline]
    pub fn flip(&self, axes: impl AxisList) -> Result<Self, LayoutError> {
        let mut seen = AxisSet::new(self.rank());
        let mut out = self.clone();
        let strides: &mut [isize] = &mut out.strides;
        let mut moved = 0_isize;
        for &axis in axes.axes() {
            let axis = seen.insert(axis)?;
            let (extent, stride) = (self.shape[axis], &mut strides[axis]);
            // Moves to the far end. It wraps only where nothing is reached: in an empty layout, or
            // for the unused stride of an axis of extent 1.
            moved = moved.wrapping_add(extent.wrapping_sub(1).cast_signed().wrapping_mul(*stride));
            *stride = stride.wrapping_neg();
        }
        if !out.is_empty() {
            out.offset = out.offset.wrapping_add_signed(moved);
        }
        Ok(out.agreed())
    }

    /// Puts a new axis of extent 1 before `axis`, or last for `axis == rank`; negative counts from
    /// the end of the result. Always a view.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`]: outside `-(rank + 1)..=rank`; the reported rank is the
    /// result's.
    #[inline]
    pub fn expand_dims(&self, axis: impl Integer) -> Result<Self, LayoutError> {
        let axis = axis_index(axis, self.rank() + 1)?;
        let mut out = self.clone();
        out.shape.insert(axis, 1);
        out.strides.insert(axis, 0);
        Ok(out.agreed())
    }

    /// Drops all axes of extent 1. Always a view.
    #[must_use]
    #[inline]
    pub fn squeeze(&self) -> Self {
        self.keep_axes(|axis| self.shape[axis] != 1)
    }

    /// Drops the named axes. Each must have extent 1. Always a view.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NotSqueezable`]: a named axis has another extent.
    /// - [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    #[inline]
    pub fn squeeze_axes(&self, axes: impl AxisList) -> Result<Self, LayoutError> {
        let mut drop = AxisSet::new(self.rank());
        for &axis in axes.axes() {
            let axis = drop.insert(axis)?;
            let extent = self.shape[axis];
            if extent != 1 {
                return Err(LayoutError::NotSqueezable { axis, extent });
            }
        }
        Ok(self.keep_axes(|axis| !drop.contains(axis)))
    }

    /// Drops the axes that are not kept, which must have extent 1.
    fn keep_axes(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut out = self.clone();
        let mut kept = 0;
        for (axis, (&extent, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            if keep(axis) {
                (out.shape[kept], out.strides[kept]) = (extent, stride);
                kept += 1;
            }
        }
        out.shape.truncate(kept);
        out.strides.truncate(kept);
        out.agreed()
    }
}
