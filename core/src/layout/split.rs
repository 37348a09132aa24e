//! One axis cut into consecutive parts.

use std::iter::FusedIterator;

use super::{Layout, LayoutError, axis::axis_index, integer::Integer};

impl Layout {
    /// A 1-D layout in parts of `section` elements, the last of which may be shorter. An empty
    /// layout gives no part.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`]: not 1-D.
    /// - [`LayoutError::BadSection`]: `section` is 0.
    pub fn split(&self, section: usize) -> Result<Split<'static>, LayoutError> {
        if self.rank() != 1 {
            return Err(LayoutError::RankMismatch { expected: 1, found: self.rank() });
        }
        Split::every(self, 0, section)
    }

    /// An axis in `sections` parts as equal as can be, the longer ones first. More sections than
    /// positions give empty parts.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::BadSection`]: `sections` is 0.
    pub fn array_split(&self, axis: impl Integer, sections: usize) -> Result<Split<'static>, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        let extent = self.shape[axis];
        match (extent.checked_div(sections), extent.checked_rem(sections)) {
            (Some(short), Some(longer)) => Ok(Split::new(self, axis, Cuts::Even { sections, short, longer })),
            _ => Err(LayoutError::BadSection { section: sections }),
        }
    }

    /// An axis cut before each position of `at`; `n` positions give `n + 1` parts. Positions past
    /// the end count as the end; equal positions give an empty part.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::AxisOutOfRange`].
    /// - [`LayoutError::UnsortedPositions`]: parts would overlap.
    pub fn split_at<'a>(&self, axis: impl Integer, at: &'a [usize]) -> Result<Split<'a>, LayoutError> {
        let axis = axis_index(axis, self.rank())?;
        for pair in at.windows(2) {
            if let [previous, next] = *pair
                && previous > next
            {
                return Err(LayoutError::UnsortedPositions { previous, next });
            }
        }
        Ok(Split::new(self, axis, Cuts::At { positions: at, last: true }))
    }
}

/// The parts of a layout along one axis, front to back. Made by [`Layout::split`],
/// [`Layout::array_split`], [`Layout::split_at`] and [`Layout::axis_chunks`].
///
/// The parts are consecutive and cover the whole axis, so each index of the layout belongs to
/// exactly one part. If the layout is injective, no two parts share an element, and mutable views
/// of all parts may exist at once.
#[derive(Debug, Clone)]
pub struct Split<'a> {
    whole: Layout,
    axis: usize,
    /// Elements at each position of the axis.
    per_position: usize,
    /// First position that is not yet in a part.
    next: usize,
    cuts: Cuts<'a>,
}

/// Where the remaining parts end.
#[derive(Debug, Clone)]
enum Cuts<'a> {
    Every { section: usize },
    Even { sections: usize, short: usize, longer: usize },
    At { positions: &'a [usize], last: bool },
}

impl Split<'static> {
    /// Parts of `section` positions of an axis that exists.
    pub(super) fn every(whole: &Layout, axis: usize, section: usize) -> Result<Self, LayoutError> {
        if section == 0 {
            return Err(LayoutError::BadSection { section });
        }
        Ok(Self::new(whole, axis, Cuts::Every { section }))
    }
}

impl<'a> Split<'a> {
    fn new(whole: &Layout, axis: usize, cuts: Cuts<'a>) -> Self {
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

impl Iterator for Split<'_> {
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
            Cuts::At { last: false, .. } => return None,
            Cuts::At { positions, last } => match positions.split_first() {
                Some((&position, rest)) => {
                    *positions = rest;
                    position.min(extent)
                }
                None => {
                    *last = false;
                    extent
                }
            },
        };
        self.next = to;
        Some(self.whole.select(self.axis, from, to - from, 1, self.per_position))
    }

    /// The part after `count` others. Costs no more than the next one.
    #[inline]
    fn nth(&mut self, count: usize) -> Option<Layout> {
        let extent = self.whole.shape[self.axis];
        match &mut self.cuts {
            Cuts::Every { section } => {
                self.next = self.next.saturating_add(count.saturating_mul(*section)).min(extent);
            }
            Cuts::Even { sections, short, longer } => {
                // The skipped parts lie on this axis, so their end does too.
                let skipped = count.min(*sections);
                let longer_ones = skipped.min(*longer);
                self.next += skipped * *short + longer_ones;
                (*sections, *longer) = (*sections - skipped, *longer - longer_ones);
            }
            Cuts::At { positions, last } => {
                if let Some(before) = count.checked_sub(1) {
                    match positions.get(before) {
                        Some(&position) => self.next = position.min(extent),
                        None => (self.next, *last) = (extent, false),
                    }
                    *positions = positions.get(count..).unwrap_or_default();
                }
            }
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.whole.shape[self.axis] - self.next;
        let parts = match self.cuts {
            Cuts::Every { section } => left.div_ceil(section),
            Cuts::Even { sections, .. } => sections,
            // A slice of `usize` is never `usize::MAX` long, so one more fits.
            Cuts::At { positions, last } => positions.len() + usize::from(last),
        };
        (parts, Some(parts))
    }
}

impl ExactSizeIterator for Split<'_> {}

impl FusedIterator for Split<'_> {}
