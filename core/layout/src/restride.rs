//! Puts other strides over the same elements: windows, diagonals, and any other pattern of strides.

use super::{
    Axes, Layout, LayoutError,
    axis::{AxisSet, axis_index},
    integer::Integer,
};

impl Layout {
    /// Makes a layout of `shape` with `strides` at `offset` that reaches elements of this one, and
    /// no others: NumPy's `as_strided`, checked.
    ///
    /// Strides and offset count as in [`Layout::new`]: in elements of the memory, from its start.
    /// Several indices of the result may reach one element. Elements in the gaps of this layout do
    /// not belong to it and are refused. A result without elements keeps the offset of this layout.
    ///
    /// ```
    /// use devarray::{Layout, NdLayout, Order};
    ///
    /// let grid = Layout::contiguous(&[4, 4], Order::C)?;
    /// let antidiagonal = grid.restride(&[4], &[3], 3)?;
    /// assert_eq!(antidiagonal.span(), 3..13);
    /// let left = grid.slice_axis(1, ..2)?;
    /// assert!(left.restride(&[7], &[1], 0).is_err()); // the right half is another's
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - The errors of [`Layout::new`].
    /// - [`LayoutError::OutsideView`]: an index reaches an element that this layout does not, or
    ///   may do so. The answer is exact if no axes of this layout interleave, and each step of the
    ///   result is everywhere the same step along the axes of this layout, where contiguous axes
    ///   count as one. Any other layout is refused.
    pub fn restride(&self, shape: &[usize], strides: &[isize], offset: usize) -> Result<Self, LayoutError> {
        let layout = Self::new(shape, strides, offset)?;
        if layout.is_empty() {
            return Self::new(shape, strides, self.offset);
        }
        if self.contains_elements(1, &layout, 1) { Ok(layout) } else { Err(LayoutError::OutsideView) }
    }

    /// Every run of `len` neighbours along an axis: the axis counts where they start, and a new
    /// last axis walks them. Always a view, which reaches elements several times. NumPy's
    /// `sliding_window_view`.
    ///
    /// ```
    /// use devarray::{Layout, NdLayout, Order};
    ///
    /// let windows = Layout::contiguous(&[5], Order::C)?.sliding_windows(0, 3)?;
    /// assert_eq!((windows.shape(), windows.strides()), (&[3, 3][..], &[1, 1][..]));
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::WindowTooLong`]: the axis is shorter than `len`.
    /// - [`LayoutError::Overflow`]: there are too many elements to count.
    pub fn sliding_windows(&self, axis: impl Integer, len: usize) -> Result<Self, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        let extent = self.shape[axis];
        let last = extent.checked_sub(len).ok_or(LayoutError::WindowTooLong { axis, len, extent })?;
        let (mut shape, mut strides) = (self.shape.clone(), self.strides.clone());
        shape[axis] = last + 1;
        shape.push(len);
        strides.push(strides[axis]);
        Self::new(&shape, &strides, self.offset)
    }

    /// Takes the elements where the index of axis `b` exceeds the index of axis `a` by `offset`. A
    /// last axis, which walks the diagonal, replaces the two. Always a view. It is empty if the
    /// diagonal lies outside.
    ///
    /// ```
    /// use devarray::{Layout, NdLayout, Order};
    ///
    /// let grid = Layout::contiguous(&[3, 4], Order::C)?;
    /// let above = grid.diagonal(1, 0, 1)?;
    /// assert_eq!((above.shape(), above.strides(), above.offset()), (&[3][..], &[5][..], 1));
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::RepeatedAxis`].
    pub fn diagonal(&self, offset: isize, a: impl Integer, b: impl Integer) -> Result<Self, LayoutError> {
        let mut named = AxisSet::new(self.rank());
        let (a, b) = (named.insert(a)?, named.insert(b)?);
        // Only one of the two axes loses positions.
        let (skipped_a, skipped_b) =
            if offset < 0 { (offset.unsigned_abs(), 0) } else { (0, offset.cast_unsigned()) };
        let left = |axis: usize, skipped| self.shape[axis].saturating_sub(skipped);
        let len = left(a, skipped_a).min(left(b, skipped_b));
        let kept = |&axis: &usize| axis != a && axis != b;
        let mut shape: Axes<usize> = (0..self.rank()).filter(kept).map(|axis| self.shape[axis]).collect();
        let mut strides: Axes<isize> = (0..self.rank()).filter(kept).map(|axis| self.strides[axis]).collect();
        shape.push(len);
        // This wraps only for a diagonal of at most one element, whose stride is not used.
        strides.push(self.strides[a].wrapping_add(self.strides[b]));
        let mut start = self.offset;
        if len > 0 && !self.is_empty() {
            let step = skipped_a.cast_signed().wrapping_mul(self.strides[a]);
            let step = step.wrapping_add(skipped_b.cast_signed().wrapping_mul(self.strides[b]));
            start = start.wrapping_add_signed(step);
        }
        Self::new(&shape, &strides, start)
    }
}
