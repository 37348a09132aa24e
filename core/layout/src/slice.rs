//! Ranges of one axis, with NumPy's rules.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{
    Layout, LayoutError,
    axis::axis_index,
    integer::{Integer, position},
};

/// The positions `start`, `start + step`, … before `stop` of one axis, with the rules of a NumPy
/// slice.
///
/// Negative positions count from the end; those outside the axis are clamped. If `start` or `stop`
/// is missing, the walk begins or ends at an end of the axis. With a negative step the walk goes
/// down, and `stop` is still the first position that is left out.
///
/// It is made from ranges of `isize`, `i32` or `usize`: `Slice::from(1..-1)`,
/// `Slice::from(..).step_by(-1)`. An inclusive range becomes the half-open range that counts up,
/// whatever step is set later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The first position; `None` begins at the first of the walk.
    pub start: Option<isize>,
    /// The position before which the walk stops; `None` goes to the last of the walk.
    pub stop: Option<isize>,
    /// The distance from one position to the next. 0 is refused when the slice is used.
    pub step: isize,
}

impl Slice {
    /// The whole axis.
    pub const FULL: Self = Self { start: None, stop: None, step: 1 };

    /// Returns the same bounds with another step.
    #[must_use]
    pub const fn step_by(self, step: isize) -> Self {
        Self { step, ..self }
    }

    /// The first position and the number of positions on an axis of `extent`; the first is in range
    /// if there is one.
    #[inline]
    pub(super) fn clamp(self, axis: usize, extent: usize) -> Result<(usize, usize), LayoutError> {
        // Extents of a layout fit `isize`. Every sum here does too, because its terms have
        // different signs.
        let extent = extent.cast_signed();
        // A walk ends one before the front or one past the back, by its direction.
        let (lowest, highest) = if self.step > 0 { (0, extent) } else { (-1, extent - 1) };
        let clamp = |position: isize| {
            let position = if position < 0 { position + extent } else { position };
            position.clamp(lowest, highest)
        };
        let (first, last) = if self.step > 0 { (lowest, highest) } else { (highest, lowest) };
        let start = self.start.map_or(first, clamp);
        let stop = self.stop.map_or(last, clamp);
        let distance = match self.step {
            0 => return Err(LayoutError::ZeroStep { axis }),
            1.. => stop - start,
            _ => start - stop,
        };
        if distance <= 0 {
            return Ok((0, 0));
        }
        let distance = distance.cast_unsigned();
        // Step 1 is common, and is handled without a division.
        let count = if self.step == 1 { distance } else { (distance - 1) / self.step.unsigned_abs() + 1 };
        // It is not negative, because a walk of at least one position starts in range.
        Ok((start.cast_unsigned(), count))
    }
}

impl Layout {
    /// Selects the positions of one axis that `slice` names. It is [`index`](Self::index) with all
    /// other axes whole. Always a view.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::ZeroStep`].
    pub fn slice_axis(&self, axis: impl Integer, slice: impl Into<Slice>) -> Result<Self, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        let slice = slice.into();
        let (first, count) = slice.clamp(axis, self.shape[axis])?;
        Ok(self.select(axis, first, count, slice.step, self.per_position(axis)))
    }

    /// The number of elements at each position of an axis.
    #[inline]
    pub(super) fn per_position(&self, axis: usize) -> usize {
        self.len.checked_div(self.shape[axis]).unwrap_or(0)
    }

    /// Takes the `count` positions `first`, `first + step`, … of an axis. All of them must exist.
    ///
    /// The arithmetic is unchecked: a part that has elements reaches only elements of the whole.
    #[inline]
    pub(super) fn select(
        &self,
        axis: usize,
        first: usize,
        count: usize,
        step: isize,
        per_position: usize,
    ) -> Self {
        let (extent, stride) = (self.shape[axis], self.strides[axis]);
        let mut part = self.clone();
        part.shape[axis] = count;
        // This wraps only if there is at most one position, and the stride is then unused.
        part.strides[axis] = stride.wrapping_mul(step);
        part.len = per_position * count;
        if part.len == 0 {
            (part.start, part.end) = (part.offset, part.offset);
            return part.agreed();
        }
        // Counted from position 0: the last position of the whole, and the first and last that
        // remain.
        let whole = (extent - 1).cast_signed() * stride;
        let first = first.cast_signed() * stride;
        let last = first + (count - 1).cast_signed() * part.strides[axis];
        part.offset = part.offset.wrapping_add_signed(first);
        part.start = part.start.wrapping_add_signed(first.min(last) - whole.min(0));
        part.end = part.end.wrapping_add_signed(first.max(last) - whole.max(0));
        part.agreed()
    }
}

impl Default for Slice {
    fn default() -> Self {
        Self::FULL
    }
}

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Self {
        Self::FULL
    }
}

impl<T: Integer> From<Range<T>> for Slice {
    fn from(range: Range<T>) -> Self {
        Self { start: Some(position(range.start)), stop: Some(position(range.end)), step: 1 }
    }
}

impl<T: Integer> From<RangeFrom<T>> for Slice {
    fn from(range: RangeFrom<T>) -> Self {
        Self { start: Some(position(range.start)), stop: None, step: 1 }
    }
}

impl<T: Integer> From<RangeTo<T>> for Slice {
    fn from(range: RangeTo<T>) -> Self {
        Self { start: None, stop: Some(position(range.end)), step: 1 }
    }
}

impl<T: Integer> From<RangeInclusive<T>> for Slice {
    fn from(range: RangeInclusive<T>) -> Self {
        let (start, last) = range.into_inner();
        Self { start: Some(position(start)), stop: past(last), step: 1 }
    }
}

impl<T: Integer> From<RangeToInclusive<T>> for Slice {
    fn from(range: RangeToInclusive<T>) -> Self {
        Self { start: None, stop: past(range.end), step: 1 }
    }
}

/// The position after `last`. `None`, the end, after −1 and after the greatest number.
fn past<T: Integer>(last: T) -> Option<isize> {
    position(last).checked_add(1).filter(|&stop| stop != 0)
}
