//! Cuts one axis into consecutive parts.

use std::iter::FusedIterator;

use super::{
    Axes, Layout, LayoutError,
    axis::axis_index,
    integer::{self, Integer},
};

impl Layout {
    /// Cuts a 1-D layout into parts of `section` elements; the last may be shorter. An empty layout
    /// gives no part.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`]: the layout is not 1-D.
    /// - [`LayoutError::BadSection`]: `section` is 0.
    pub fn split(&self, section: usize) -> Result<Split, LayoutError> {
        if self.rank() != 1 {
            return Err(LayoutError::RankMismatch { expected: 1, found: self.rank() });
        }
        Split::every(self, 0, section)
    }

    /// Cuts an axis into `sections` parts as equal as can be, the longer ones first. If there are
    /// more sections than positions, some parts are empty.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::BadSection`]: `sections` is 0.
    pub fn array_split(&self, axis: impl Integer, sections: usize) -> Result<Split, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        let extent = self.shape[axis];
        match (extent.checked_div(sections), extent.checked_rem(sections)) {
            (Some(short), Some(longer)) => Ok(Split::new(self, axis, Cuts::Even { sections, short, longer })),
            _ => Err(LayoutError::BadSection { section: 0 }),
        }
    }

    /// Cuts an axis before each position of `at`; `n` positions give `n + 1` parts. Negative
    /// positions count from the end. Positions past the end count as the end, and positions before
    /// the front as the front. Equal positions give an empty part.
    ///
    /// ```
    /// use devarray::{Layout, NdLayout, Order};
    ///
    /// let line = Layout::contiguous(&[10], Order::C)?;
    /// let lengths: Vec<usize> = line.split_at(0, &[2, -3])?.map(|part| part.len()).collect();
    /// assert_eq!(lengths, [2, 5, 3]);
    /// # Ok::<(), devarray::LayoutError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::UnsortedPositions`]: a position, counted from the front, is below the one
    ///   before it. The parts would overlap.
    pub fn split_at<T: Integer>(&self, axis: impl Integer, at: &[T]) -> Result<Split, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        let extent = self.shape[axis];
        let mut positions: Axes<usize> = Axes::with_capacity(at.len());
        let mut previous = 0;
        for &at in at {
            let at = integer::position(at);
            let next = match usize::try_from(at) {
                Ok(position) => position,
                Err(_) => extent.saturating_sub(at.unsigned_abs()),
            };
            if previous > next {
                return Err(LayoutError::UnsortedPositions { previous, next });
            }
            positions.push(next.min(extent));
            previous = next;
        }
        Ok(Split::new(self, axis, Cuts::At { positions, done: 0 }))
    }
}

/// The parts of a layout along one axis, front to back. [`Layout::split`], [`Layout::array_split`],
/// [`Layout::split_at`] and [`Layout::axis_chunks`] make it.
///
/// The parts are consecutive and cover the whole axis, so each index of the layout belongs to
/// exactly one part. If the layout is injective, no two parts share an element, and mutable views
/// of all parts may exist at once.
#[derive(Debug, Clone)]
pub struct Split {
    whole: Layout,
    axis: usize,
    /// The number of elements at each position of the axis.
    per_position: usize,
    /// First position that is not yet in a part.
    next: usize,
    cuts: Cuts,
}

/// The ends of the remaining parts.
#[derive(Debug, Clone)]
enum Cuts {
    Every {
        section: usize,
    },
    Even {
        sections: usize,
        short: usize,
        longer: usize,
    },
    /// Part number `done` comes next. The part after the last position ends at the end of the axis.
    At {
        positions: Axes<usize>,
        done: usize,
    },
}

impl Split {
    /// Cuts an existing axis into parts of `section` positions.
    pub(super) fn every(whole: &Layout, axis: usize, section: usize) -> Result<Self, LayoutError> {
        if section == 0 {
            return Err(LayoutError::BadSection { section: 0 });
        }
        Ok(Self::new(whole, axis, Cuts::Every { section }))
    }
}

impl Split {
    fn new(whole: &Layout, axis: usize, cuts: Cuts) -> Self {
        Self { whole: whole.clone(), axis, per_position: whole.per_position(axis), next: 0, cuts }
    }

    /// The layout that is split.
    #[must_use]
    pub fn whole(&self) -> &Layout {
        &self.whole
    }

    /// The axis along which it is split, counted from the front.
    #[must_use]
    pub fn axis(&self) -> usize {
        self.axis
    }
}

impl Iterator for Split {
    type Item = Layout;

    #[inline]
    fn next(&mut self) -> Option<Layout> {
        let extent = self.whole.shape[self.axis];
        let from = self.next;
        let to = match &mut self.cuts {
            Cuts::Every { .. } if from == extent => return None,
            Cuts::Every { section } => from.saturating_add(*section).min(extent),
            Cuts::Even { sections: 0, .. } => return None,
            Cuts::Even { sections, short, longer } => {
                *sections -= 1;
                let longer = std::mem::replace(longer, longer.saturating_sub(1));
                from + *short + usize::from(longer > 0)
            }
            Cuts::At { positions, done } if *done > positions.len() => return None,
            Cuts::At { positions, done } => {
                *done += 1;
                positions.get(*done - 1).copied().unwrap_or(extent)
            }
        };
        self.next = to;
        Some(self.whole.select(self.axis, from, to - from, 1, self.per_position))
    }

    /// Returns the part after `count` others. It costs no more than the next part.
    #[inline]
    fn nth(&mut self, count: usize) -> Option<Layout> {
        let extent = self.whole.shape[self.axis];
        match &mut self.cuts {
            Cuts::Every { section } => {
                self.next = self.next.saturating_add(count.saturating_mul(*section)).min(extent);
            }
            Cuts::Even { sections, short, longer } => {
                // The skipped parts are on this axis, so their end is too.
                let skipped = count.min(*sections);
                let longer_ones = skipped.min(*longer);
                self.next += skipped * *short + longer_ones;
                (*sections, *longer) = (*sections - skipped, *longer - longer_ones);
            }
            Cuts::At { positions, done } => {
                *done = done.saturating_add(count).min(positions.len() + 1);
                if let Some(before) = done.checked_sub(1) {
                    self.next = positions.get(before).copied().unwrap_or(extent);
                }
            }
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.whole.shape[self.axis] - self.next;
        let parts = match &self.cuts {
            Cuts::Every { section } => left.div_ceil(*section),
            Cuts::Even { sections, .. } => *sections,
            Cuts::At { positions, done } => positions.len() + 1 - done,
        };
        (parts, Some(parts))
    }
}

impl ExactSizeIterator for Split {}

impl FusedIterator for Split {}
