//! The rest of a set when another set is taken away.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    Level, Parts, Strided,
    align::{Aligned, align, neighbours},
    join,
};

impl Strided {
    /// Adds the bytes that the other does not have to `parts`; if they share no byte, adds the set
    /// unchanged.
    pub(in crate::judge) fn without(&self, other: &Self, parts: &mut Parts) {
        if !self.is_range() {
            let mut common = Parts::new();
            self.common(other, &mut common);
            if common.is_empty() {
                return parts.push(self.clone());
            }
        }
        self.rest(other, parts);
    }

    /// Like [`without`](Self::without), but possibly in more parts than needed.
    fn rest(&self, other: &Self, parts: &mut Parts) {
        let Some(other) = other.narrowed(&self.span()) else { return parts.push(self.clone()) };
        let Some(&Level { stride, count }) = self.levels.last() else {
            return cut(&self.first_run(), &other, parts);
        };
        let reached = self.reaching(&other.span());
        if reached.is_empty() {
            return parts.push(self.clone());
        }
        if reached.start > 0 {
            parts.push(self.part(0..reached.start));
        }
        let middle = self.part(reached.clone());
        if reached.len() == 1 {
            middle.rest(&other, parts);
        } else {
            match other.levels.last() {
                // Among the elements that a range reaches, only the first and the last can keep bytes.
                None => {
                    middle.element(0).rest(&other, parts);
                    middle.element(reached.len() - 1).rest(&other, parts);
                }
                Some(level) if level.stride == stride => middle.without_neighbours(&other, parts),
                Some(level) => middle.without_stranger(&other, reached.len(), level.count, parts),
            }
        }
        if reached.end < count {
            parts.push(self.part(reached.end..count));
        }
    }

    /// Does [`rest`](Self::rest) for two sets with equal outermost strides.
    fn without_neighbours(&self, other: &Self, parts: &mut Parts) {
        let Some(&Level { stride, count }) = self.levels.last() else { return };
        let neighbours = neighbours(self, other);
        let ends = neighbours.iter().flat_map(|(_, indices)| [indices.start, indices.end]);
        let mut ends: SmallVec<[usize; 6]> = ends.chain([0, count]).collect();
        ends.sort_unstable();
        for pair in ends.windows(2) {
            let (from, until) = (pair[0], pair[1]);
            if from == until {
                continue;
            }
            // All elements between two ends have the same neighbours.
            let mut left = Parts::new();
            left.push(self.element(from));
            for (shift, indices) in &neighbours {
                if indices.contains(&from) {
                    left = take(left, &other.element(from.wrapping_add_signed(*shift)));
                }
            }
            for mut part in left {
                part.repeat(stride, until - from);
                parts.push(part);
            }
        }
    }

    /// Does [`rest`](Self::rest) for two sets with different outermost strides, with `count` and
    /// `other_count` elements.
    fn without_stranger(&self, other: &Self, count: usize, other_count: usize, parts: &mut Parts) {
        match align(self, other) {
            Aligned::Regrouped(ones, twos) => {
                for one in ones {
                    let mut left = Parts::new();
                    left.push(one);
                    parts.extend(twos.iter().fold(left, take));
                }
            }
            Aligned::Fewer { first } => {
                let before = parts.len();
                if first {
                    (0..count).for_each(|index| self.element(index).rest(other, parts));
                } else {
                    let mut left = Left::of(self.clone());
                    (0..other_count).for_each(|index| left.take(&other.element(index)));
                    parts.extend(left.parts());
                }
                join::compress(parts, before);
            }
        }
    }

    /// The bytes between its runs.
    fn gaps(&self) -> Parts {
        let Some(&Level { stride, count }) = self.levels.last() else { return Parts::new() };
        let inner = self.element(0);
        let mut gaps = inner.gaps();
        gaps.iter_mut().for_each(|gap| gap.repeat(stride, count));
        let between = inner.end()..self.start + stride;
        if !between.is_empty() {
            let mut gap = Self::of(between);
            gap.repeat(stride, count - 1);
            gaps.push(gap);
        }
        gaps
    }
}

/// The rest of a set, as others are taken away in the order of their first bytes.
pub(in crate::judge) struct Left {
    /// The parts before everything that is still to be taken away.
    done: Parts,
    open: Parts,
}

impl Left {
    pub(in crate::judge) fn of(set: Strided) -> Self {
        let mut open = Parts::new();
        open.push(set);
        Self { done: Parts::new(), open }
    }

    /// Takes away a set that begins no earlier than the previous one.
    pub(in crate::judge) fn take(&mut self, other: &Strided) {
        let mut left = Parts::new();
        for part in self.open.drain(..) {
            if part.end() <= other.start {
                self.done.push(part);
            } else {
                part.without(other, &mut left);
            }
        }
        self.open = left;
    }

    pub(in crate::judge) fn parts(self) -> impl Iterator<Item = Strided> {
        self.done.into_iter().chain(self.open)
    }
}

/// The rest of parts when a set is taken away.
fn take(parts: Parts, other: &Strided) -> Parts {
    let mut left = Parts::new();
    parts.iter().for_each(|part| part.rest(other, &mut left));
    left
}

/// Adds the rest of a range.
fn cut(range: &Range<usize>, other: &Strided, parts: &mut Parts) {
    if range.start < other.start {
        parts.push(Strided::of(range.start..other.start));
    }
    for gap in other.gaps() {
        gap.within(range, parts);
    }
    if other.end() < range.end {
        parts.push(Strided::of(other.end()..range.end));
    }
}
