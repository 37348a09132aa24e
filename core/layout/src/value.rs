//! The checked layout that all algorithms use.

use std::{fmt, ops::Range};

use super::{
    Axes, LayoutError, List, Order,
    axis::{axes_blank, axes_from},
};

/// A layout with arithmetic that is known not to overflow.
///
/// Fields are private and checked at construction: the number of elements fits `isize`, and so does
/// every position that it can reach. It is cheap to clone; up to six axes need no heap. It holds no
/// pointer.
#[derive(PartialEq, Eq, Hash)]
pub struct Layout {
    pub(super) shape: Axes<usize>,
    pub(super) strides: Axes<isize>,
    pub(super) offset: usize,
    pub(super) len: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Layout {
    /// Makes a layout of `shape` with `strides` at `offset`, all in elements.
    ///
    /// An extent of 0 makes the layout empty. It then reaches nothing, whatever the strides.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`]: there are not as many strides as extents.
    /// - [`LayoutError::Overflow`]: the number of elements exceeds `isize::MAX` (extents of 0 do
    ///   not count, as in NumPy), or a reachable position is negative or exceeds it.
    #[inline]
    pub fn new(shape: &[usize], strides: &[isize], offset: usize) -> Result<Self, LayoutError> {
        if shape.len() != strides.len() {
            return Err(LayoutError::RankMismatch { expected: shape.len(), found: strides.len() });
        }
        let low = isize::try_from(offset).map_err(|_| LayoutError::Overflow)?;
        let (product, empty) = count(shape).ok_or(LayoutError::Overflow)?;
        let (len, start, end) = if empty {
            (0, offset, offset)
        } else {
            let (start, end) = reach(shape, strides, low).ok_or(LayoutError::Overflow)?;
            (product, start, end)
        };
        Ok(Self { shape: axes_from(shape), strides: axes_from(strides), offset, len, start, end })
    }

    /// A layout with axes that are still to be written; it is empty until then.
    #[inline]
    pub(super) fn blank(rank: usize, offset: usize) -> Self {
        Self {
            shape: axes_blank(rank),
            strides: axes_blank(rank),
            offset,
            len: 0,
            start: offset,
            end: offset,
        }
    }

    /// Moves the elements up by `by` positions.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`]: a position exceeds `isize::MAX`. Nothing is changed.
    #[doc(hidden)]
    #[inline]
    pub fn move_up(&mut self, by: usize) -> Result<(), LayoutError> {
        let up = |position: usize| position.checked_add(by).filter(|&up| isize::try_from(up).is_ok());
        let [offset, start, end] = [self.offset, self.start, self.end].map(up);
        let (Some(offset), Some(start), Some(end)) = (offset, start, end) else {
            return Err(LayoutError::Overflow);
        };
        (self.offset, self.start, self.end) = (offset, start, end);
        debug_assert_eq!(Self::new(&self.shape, &self.strides, self.offset).as_ref(), Ok(&*self));
        Ok(())
    }

    /// Returns itself. A debug build first compares it with the result of the checked constructor.
    ///
    /// Used by transforms that cannot widen the span and therefore skip the checks of
    /// [`new`](Self::new).
    #[inline]
    pub(super) fn agreed(self) -> Self {
        debug_assert_eq!(Self::new(&self.shape, &self.strides, self.offset).as_ref(), Ok(&self));
        self
    }

    /// A dense layout of `shape` at offset 0: row-major for [`Order::C`], column-major for
    /// [`Order::F`].
    ///
    /// `A` and `K` have no input to follow here, so they mean `C`, as in NumPy.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`]: the number of elements exceeds `isize::MAX`.
    #[inline]
    pub fn contiguous(shape: &[usize], order: Order) -> Result<Self, LayoutError> {
        let mut strides: Axes<isize> = axes_blank(shape.len());
        let mut step = 1_isize;
        let mut grow = |stride: &mut isize, extent: usize| {
            *stride = step;
            let extent = isize::try_from(extent.max(1)).map_err(|_| LayoutError::Overflow)?;
            step = step.checked_mul(extent).ok_or(LayoutError::Overflow)?;
            Ok(())
        };
        if order == Order::F {
            strides.iter_mut().zip(shape).try_for_each(|(s, &n)| grow(s, n))?;
        } else {
            strides.iter_mut().zip(shape).rev().try_for_each(|(s, &n)| grow(s, n))?;
        }
        Self::new(shape, &strides, 0)
    }

    /// Number of elements: the product of the extents, 1 for a 0-d layout.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether any extent is 0.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Extents, in elements, outermost axis first. A 0-d layout has no extents and one element.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Distance between neighbours along each axis, in elements, signed. There is one stride for
    /// each extent.
    #[must_use]
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Position of the element at index `(0, 0, …)`, in elements from the start of the memory.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of axes.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The positions that can be reached, in elements: from the lowest to one past the highest.
    /// Empty if the layout is empty.
    #[must_use]
    #[inline]
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The product of the extents that are not 0, and whether one is 0; `None` if the product does not
/// fit `isize`.
#[inline]
pub(super) fn count(shape: &[usize]) -> Option<(usize, bool)> {
    let (mut product, mut empty) = (1_isize, false);
    for &extent in shape {
        if extent == 0 {
            empty = true;
        } else {
            product = product.checked_mul(isize::try_from(extent).ok()?)?;
        }
    }
    Some((product.cast_unsigned(), empty))
}

/// The lowest position and one past the highest, from `offset`, for extents that are not 0 and fit
/// `isize`; `None` if one is negative or does not fit.
#[inline]
fn reach(shape: &[usize], strides: &[isize], offset: isize) -> Option<(usize, usize)> {
    let (mut low, mut high) = (offset, offset);
    for (&extent, &stride) in shape.iter().zip(strides) {
        let reach = (extent - 1).cast_signed().checked_mul(stride)?;
        let end = if reach < 0 { &mut low } else { &mut high };
        *end = end.checked_add(reach)?;
    }
    Some((usize::try_from(low).ok()?, high.checked_add(1)?.cast_unsigned()))
}

/// Twice as fast as the derived `Clone`, which clones element by element.
impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Self {
        let shape = axes_from(&self.shape);
        let strides = axes_from(&self.strides);
        Self { shape, strides, ..*self }
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("shape", &List(&self.shape))
            .field("strides", &List(&self.strides))
            .field("offset", &self.offset)
            .finish()
    }
}
