//! Other strides over the same elements: windows, diagonals, and any other pattern of strides.

use smallvec::SmallVec;

use super::{
    Axes, INLINE_RANK, Layout, LayoutError,
    axis::{AxisSet, axis_index},
    integer::Integer,
};

impl Layout {
    /// A layout of `shape` with `strides` at `offset` that reaches elements of this one, and no
    /// others: NumPy's `as_strided`, checked.
    ///
    /// Strides and offset count as in [`Layout::new`]: in elements of the memory, from its start.
    /// The result may reach an element by several indices. Elements in the gaps of this layout do
    /// not belong to it and are refused. A result of no elements keeps the offset of this layout.
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
    /// - Those of [`Layout::new`].
    /// - [`LayoutError::OutsideView`]: an index reaches an element that this layout does not, or
    ///   may do so. The answer is exact if no axes of this layout interleave, and each step of the
    ///   result is everywhere the same step along the axes of this layout, contiguous axes counting
    ///   as one. Any other layout is refused.
    pub fn restride(&self, shape: &[usize], strides: &[isize], offset: usize) -> Result<Self, LayoutError> {
        let layout = Self::new(shape, strides, offset)?;
        if layout.is_empty() {
            return Self::new(shape, strides, self.offset);
        }
        if Grid::of(self).is_some_and(|grid| grid.holds(&layout) == Some(true)) {
            Ok(layout)
        } else {
            Err(LayoutError::OutsideView)
        }
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
    /// - [`LayoutError::Overflow`]: too many elements to count.
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

    /// The elements at which the index of axis `b` exceeds that of axis `a` by `offset`: a last
    /// axis, which walks the diagonal, replaces the two. Always a view. Empty if the diagonal lies
    /// outside.
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
        // Wraps only for a diagonal of at most one element, whose stride is not used.
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

/// The elements of a layout as a box with the fewest axes, whatever the order of the walk. Steps
/// are positive, and each exceeds the span of the smaller ones, so a position has at most one
/// index.
struct Grid {
    start: usize,
    /// Step and extent, the smallest step first.
    axes: SmallVec<[(usize, usize); INLINE_RANK]>,
}

/// One number an axis of a grid.
type Index = SmallVec<[isize; INLINE_RANK]>;

impl Grid {
    /// `None` if axes are interleaved, or there is no element.
    fn of(layout: &Layout) -> Option<Self> {
        if layout.is_empty() {
            return None;
        }
        let mut loops: SmallVec<[(usize, usize); INLINE_RANK]> =
            layout.loops().filter(|&(step, _)| step != 0).collect();
        loops.sort_unstable();
        let mut axes: SmallVec<[(usize, usize); INLINE_RANK]> = SmallVec::new();
        for (step, last) in loops {
            match axes.last_mut() {
                // It continues the axis before, or overlaps with it, as windows do: the two make
                // one longer axis.
                Some((below, extent)) if step % *below == 0 && step / *below <= *extent => {
                    *extent += step / *below * last;
                }
                _ => axes.push((step, last + 1)),
            }
        }
        let mut reach = 0;
        let clears = axes.iter().all(|&(step, extent)| {
            let clear = step > reach;
            reach += step * (extent - 1);
            clear
        });
        clears.then(|| Self { start: layout.span().start, axes })
    }

    /// The index of a position, if there is an element.
    fn index(&self, position: usize) -> Option<Index> {
        let mut rest = position.checked_sub(self.start)?;
        let mut index: Index = SmallVec::from_elem(0, self.axes.len());
        for (at, &(step, extent)) in index.iter_mut().zip(&self.axes).rev() {
            let steps = rest / step;
            if steps >= extent {
                return None;
            }
            *at = steps.cast_signed();
            rest -= steps * step;
        }
        (rest == 0).then_some(index)
    }

    /// Whether all elements of a layout that is not empty are elements here. Recognizes only
    /// layouts in which each step is the same change of index everywhere.
    fn holds(&self, layout: &Layout) -> Option<bool> {
        let first = self.index(layout.offset)?;
        let (mut low, mut high) = (first.clone(), first.clone());
        for (&extent, &stride) in layout.shape.iter().zip(&layout.strides) {
            if extent < 2 {
                continue;
            }
            let next = self.index(layout.offset.checked_add_signed(stride)?)?;
            for (axis, (next, first)) in next.iter().zip(&first).enumerate() {
                let reach = (next - first).checked_mul((extent - 1).cast_signed())?;
                let end = if reach < 0 { &mut low[axis] } else { &mut high[axis] };
                *end = end.checked_add(reach)?;
            }
        }
        let ends = low.iter().zip(&high).zip(&self.axes);
        Some(ends.into_iter().all(|((&low, &high), &(_, extent))| low >= 0 && high < extent.cast_signed()))
    }
}
