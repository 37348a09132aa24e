//! Axis numbers as users write them, and axis lists that stay off the heap.

use super::{
    Axes, INLINE_RANK, LayoutError,
    integer::{Integer, position},
};

/// Counts an index of `len` things from the front, if it counts from the end; `None` outside
/// `-len..len`.
#[inline]
pub(super) fn from_front(index: isize, len: usize) -> Option<usize> {
    if index < 0 {
        len.checked_sub(index.unsigned_abs())
    } else {
        Some(index.cast_unsigned()).filter(|&index| index < len)
    }
}

/// Counts an axis number of a layout of `rank` axes from the front.
#[inline]
#[doc(hidden)]
pub fn axis_index(axis: impl Integer, rank: usize) -> Result<usize, LayoutError> {
    let axis = position(axis);
    from_front(axis, rank).ok_or(LayoutError::AxisOutOfRange { axis, rank })
}

/// Computes one value per axis, in axis order. Writing into a fixed buffer is faster than pushing,
/// which asks for room each time.
#[inline]
pub(super) fn axes_from_fn<T: Copy + Default>(rank: usize, mut value: impl FnMut(usize) -> T) -> Axes<T> {
    let mut buffer = [T::default(); INLINE_RANK];
    let Some(slots) = buffer.get_mut(..rank) else { return (0..rank).map(value).collect() };
    for (axis, slot) in slots.iter_mut().enumerate() {
        *slot = value(axis);
    }
    Axes::from_buf_and_len(buffer, rank)
}

/// Makes a list of one default value per axis, to be overwritten. Up to [`INLINE_RANK`] axes need
/// no loop.
#[inline]
pub(super) fn axes_blank<T: Copy + Default>(rank: usize) -> Axes<T> {
    if rank > INLINE_RANK {
        return std::iter::repeat_n(T::default(), rank).collect();
    }
    Axes::from_buf_and_len([T::default(); INLINE_RANK], rank)
}

/// Copies a list.
#[inline]
pub(super) fn axes_from<T: Copy + Default>(values: &[T]) -> Axes<T> {
    axes_from_fn(values.len(), |axis| values[axis])
}

/// The axes named so far. It finds an axis that is named twice, and needs no heap up to 64 axes.
pub(super) struct AxisSet {
    rank: usize,
    low: u64,
    high: Vec<bool>,
}

impl AxisSet {
    #[inline]
    pub(super) fn new(rank: usize) -> Self {
        Self { rank, low: 0, high: Vec::new() }
    }

    /// Adds an axis, which may be negative, and returns it counted from the front.
    #[inline]
    pub(super) fn insert(&mut self, axis: impl Integer) -> Result<usize, LayoutError> {
        let axis = axis_index(axis, self.rank)?;
        let repeated = match axis.checked_sub(64) {
            None => {
                let bit = 1 << axis;
                let seen = self.low & bit != 0;
                self.low |= bit;
                seen
            }
            Some(high) => {
                if self.high.len() <= high {
                    self.high.resize(self.rank - 64, false);
                }
                std::mem::replace(&mut self.high[high], true)
            }
        };
        if repeated { Err(LayoutError::RepeatedAxis { axis }) } else { Ok(axis) }
    }

    /// Whether an axis, counted from the front, was added.
    pub(super) fn contains(&self, axis: usize) -> bool {
        match axis.checked_sub(64) {
            None => self.low & (1 << axis) != 0,
            Some(high) => self.high.get(high).copied().unwrap_or(false),
        }
    }
}
