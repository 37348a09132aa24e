//! Broadcasting: many indices read one element.

use super::{
    Axes, Layout, LayoutError,
    axis::{axes_blank, axes_from},
    value::count,
};

impl Layout {
    /// Repeats the elements along axes of extent 1, and along new axes in front, to fill `shape`.
    /// Always a view: the repeated axes have stride 0. A result that repeats an element is not
    /// injective (see [`injectivity`](Self::injectivity)) and cannot be written through.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NotBroadcastable`]: `shape` has fewer axes than this layout, or an extent
    ///   differs and is not 1 here.
    /// - [`LayoutError::Overflow`]: too many elements; extents of 0 are left out of the count.
    #[inline]
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
        // The result reaches no element or the same elements as this layout.
        let (len, start, end) =
            if empty { (0, self.offset, self.offset) } else { (len, self.start, self.end) };
        let shape = axes_from(shape);
        Ok(Self { shape, strides, offset: self.offset, len, start, end }.agreed())
    }
}

/// The shape that all shapes broadcast to; no axes if no shape is given.
///
/// ```
/// let shapes: [&[usize]; 2] = [&[4, 1, 3], &[5, 1]];
/// assert_eq!(devarray_layout::broadcast_shapes(shapes.into_iter())?[..], [4, 5, 3]);
/// # Ok::<(), devarray_layout::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError::NotBroadcastable`] names the first two shapes that do not fit.
pub fn broadcast_shapes<'a>(
    shapes: impl Iterator<Item = &'a [usize]> + Clone,
) -> Result<Axes<usize>, LayoutError> {
    let rank = shapes.clone().map(<[usize]>::len).max().unwrap_or(0);
    let mut result: Axes<usize> = std::iter::repeat_n(1, rank).collect();
    for shape in shapes.clone() {
        let added = rank - shape.len();
        for (axis, &extent) in (added..).zip(shape) {
            let to = &mut result[axis];
            if *to == 1 {
                *to = extent;
            } else if extent != 1 && extent != *to {
                let has = |other: &&[usize]| {
                    (axis + other.len()).checked_sub(rank).is_some_and(|at| other[at] == *to)
                };
                let to = shapes.clone().find(has).unwrap_or_default();
                return Err(LayoutError::NotBroadcastable { from: shape.into(), to: to.into() });
            }
        }
    }
    Ok(result)
}
