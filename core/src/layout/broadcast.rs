//! One element read at many indices.

use super::{
    Axes, Layout, LayoutError,
    axis::{axes_blank, axes_from},
    value::count,
};

impl Layout {
    /// The elements repeated along axes of extent 1, and along new axes in front, to fill `shape`.
    /// Always a view: the repeated axes have stride 0. A result that repeats an element is not
    /// injective (see [`injectivity`](Self::injectivity)) and cannot be written through.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NotBroadcastable`]: `shape` has fewer axes than this layout, or an extent
    ///   differs and is not 1 here.
    /// - [`LayoutError::Overflow`]: too many elements; extents of 0 are left out of the count.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, LayoutError> {
        let refuse = || LayoutError::NotBroadcastable { from: self.shape[..].into(), to: shape.into() };
        let added = shape.len().checked_sub(self.rank()).ok_or_else(refuse)?;
        let mut strides: Axes<isize> = axes_blank(shape.len());
        let ours = self.shape.iter().zip(&self.strides);
        for ((slot, &to), (&extent, &stride)) in strides[added..].iter_mut().zip(&shape[added..]).zip(ours) {
            if extent == to {
                *slot = stride;
            } else if extent != 1 {
                return Err(refuse());
            }
        }
        let (len, empty) = count(shape).ok_or(LayoutError::Overflow)?;
        // The result reaches no element or the same elements.
        let (len, start, end) =
            if empty { (0, self.offset, self.offset) } else { (len, self.start, self.end) };
        let shape = axes_from(shape);
        Ok(Self { shape, strides, offset: self.offset, len, start, end }.agreed())
    }
}
