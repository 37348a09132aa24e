//! Which bytes of an allocation an access touches, in four numbers.

use crate::layout::{Axes, Layout};

/// A superset of the bytes of a layout: all bytes lie inside `start..end`, and inside rows of `row`
/// bytes that repeat every `pitch`.
///
/// It is never too small. It is exact enough to tell that the parts of a split along any axis are
/// disjoint, and so are even and odd elements. `pitch` 0 means that every byte of `start..end` may
/// be touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) start: usize,
    pub(crate) end: usize,
    row: usize,
    pitch: usize,
}

impl Footprint {
    /// Every byte of `start..end`.
    pub(crate) const fn solid(start: usize, end: usize) -> Self {
        Self { start, end, row: 0, pitch: 0 }
    }

    /// The footprint of a layout that lies inside an allocation, so no product below overflows.
    pub(crate) fn of(layout: &Layout, item_bytes: usize) -> Self {
        if layout.is_empty() {
            return Self::solid(0, 0); // its offset may be anything
        }
        let span = layout.span();
        let (start, end) = (span.start * item_bytes, span.end * item_bytes);
        if layout.len() == span.len() {
            return Self::solid(start, end); // dense, or too entangled for more than a span
        }
        let mut steps: Axes<(usize, usize)> = layout
            .strides()
            .iter()
            .zip(layout.shape())
            .filter(|&(&stride, &extent)| extent > 1 && stride != 0)
            .map(|(&stride, &extent)| (stride.unsigned_abs() * item_bytes, extent))
            .collect();
        steps.sort_unstable();
        // The axes that touch without a gap form a row; the others move it by multiples of their
        // common divisor.
        let mut row = item_bytes;
        let dense = steps.iter().take_while(|&&(stride, extent)| {
            let touches = stride <= row;
            if touches {
                row += (extent - 1) * stride;
            }
            touches
        });
        let outer = dense.count();
        let pitch = steps[outer..].iter().fold(0, |divisor, &(stride, _)| gcd(divisor, stride));
        if pitch <= row { Self::solid(start, end) } else { Self { start, end, row, pitch } }
    }

    /// Whether the two footprints may share a byte.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        if self.start >= other.end || other.start >= self.end {
            return false;
        }
        if self.pitch == 0 || self.pitch != other.pitch {
            return true;
        }
        // Rows of one pitch are disjoint if neither row reaches the start of the next row of the
        // other.
        let ahead = |from: usize, to: usize| {
            if to >= from {
                (to - from) % self.pitch
            } else {
                (self.pitch - (from - to) % self.pitch) % self.pitch
            }
        };
        let (forth, back) = (ahead(self.start, other.start), ahead(other.start, self.start));
        forth < self.row || back < other.row
    }

    /// Whether every byte that `other` may touch is one that `self` may touch. `false` if in doubt.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.start <= other.start
            && other.end <= self.end
            && (self.pitch == 0
                || (self.pitch == other.pitch
                    && self.row >= other.row
                    && self.start % self.pitch == other.start % self.pitch))
    }

    /// The smallest solid footprint around both.
    pub(crate) fn join(&self, other: &Self) -> Self {
        Self::solid(self.start.min(other.start), self.end.max(other.end))
    }
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// An axis of one position does not count, whatever its stride.
    #[test]
    fn an_axis_of_one_step_has_no_part_in_the_pitch() {
        let columns = |offset| Footprint::of(&Layout::new(&[4, 1, 2], &[8, 3, 1], offset).unwrap(), 1);
        assert!(!columns(0).meets(&columns(4)));
        assert!(columns(0).meets(&columns(1)));
    }

    /// Lists the bytes one by one, and shares no arithmetic with the footprint.
    fn bytes(layout: &Layout, item_bytes: usize) -> HashSet<usize> {
        let mut found = HashSet::new();
        let mut index = vec![0_usize; layout.rank()];
        'all: loop {
            if layout.is_empty() {
                return found;
            }
            let mut at = layout.offset().cast_signed();
            for (i, s) in index.iter().zip(layout.strides()) {
                at += i.cast_signed() * s;
            }
            found.extend((0..item_bytes).map(|b| at.cast_unsigned() * item_bytes + b));
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < layout.shape()[axis] {
                    continue 'all;
                }
                index[axis] = 0;
            }
            return found;
        }
    }

    fn layouts() -> Vec<Layout> {
        let mut all = Vec::new();
        for shape in [[2, 3], [3, 2], [4, 1], [2, 2]] {
            for outer in [-6, -4, 0, 4, 6, 8] {
                for inner in [-2, -1, 0, 1, 2, 3] {
                    for offset in [24, 25, 26, 27] {
                        all.push(Layout::new(&shape, &[outer, inner], offset).unwrap());
                    }
                }
            }
        }
        all
    }

    #[test]
    fn never_misses_a_shared_byte_and_never_covers_too_much() {
        let all: Vec<_> = layouts().into_iter().map(|l| (bytes(&l, 2), Footprint::of(&l, 2))).collect();
        let mut told_apart = 0;
        for (a_bytes, a) in &all {
            for (b_bytes, b) in &all {
                let share = !a_bytes.is_disjoint(b_bytes);
                assert!(a.meets(b) || !share, "{a:?} {b:?}");
                assert_eq!(a.meets(b), b.meets(a), "{a:?} {b:?}");
                told_apart += usize::from(!a.meets(b) && a.start < b.end && b.start < a.end);
            }
        }
        assert!(told_apart > 1000, "interleaved rows must be told apart: {told_apart}");
    }

    /// An access is forgotten when a later one covers it, so every access that shares a byte with
    /// the former must meet the latter.
    #[test]
    fn what_covers_another_may_touch_all_its_bytes_and_is_met_wherever_it_may_touch() {
        let may_touch = |a: &Footprint| -> HashSet<usize> {
            (a.start..a.end).filter(|at| a.pitch == 0 || (at - a.start) % a.pitch < a.row).collect()
        };
        let all = layouts().into_iter().map(|l| (bytes(&l, 2), Footprint::of(&l, 2)));
        let all: Vec<_> = all.map(|(touched, a)| (touched, may_touch(&a), a)).collect();
        let mut covering = 0;
        for (_, a_may, a) in &all {
            for (b_bytes, b_may, b) in &all {
                assert!(a.meets(b) || a_may.is_disjoint(b_may), "{a:?} {b:?}");
                assert!(!a.covers(b) || (b_may.is_subset(a_may) && b_bytes.is_subset(b_may)), "{a:?} {b:?}");
                covering += usize::from(a.covers(b) && a.pitch != 0 && a != b);
            }
        }
        assert!(covering > 100, "rows that cover rows must be seen to: {covering}");
    }

    /// For a layout of rows, the four numbers give exactly its bytes. Two footprints meet exactly
    /// where their spans overlap and two of their rows do.
    #[test]
    fn rows_are_exact_and_meet_as_circles_do() {
        let rows = |[count, width, pitch]: [usize; 3], offset: usize, item_bytes: usize| {
            let layout = Layout::new(&[count, width], &[pitch.cast_signed(), 1], offset).unwrap();
            (bytes(&layout, item_bytes), Footprint::of(&layout, item_bytes))
        };
        let mut all = Vec::new();
        for (count, width, gap) in
            (1..4).flat_map(|c| (1..4).flat_map(move |w| (0..4).map(move |g| (c, w, g))))
        {
            for (offset, item_bytes) in (0..9).flat_map(|offset| [(offset, 1), (offset, 3)]) {
                let (touched, a) = rows([count, width, width + gap], offset, item_bytes);
                let may: HashSet<_> =
                    (a.start..a.end).filter(|at| a.pitch == 0 || (at - a.start) % a.pitch < a.row).collect();
                assert_eq!(may, touched, "{a:?}");
                all.push(a);
            }
        }
        let mut apart = 0;
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            if a.pitch != b.pitch || a.pitch == 0 {
                continue;
            }
            let places = |rows: &Footprint| -> HashSet<_> {
                (rows.start..rows.start + rows.row).map(|at| at % rows.pitch).collect()
            };
            let overlap = a.start < b.end && b.start < a.end;
            assert_eq!(a.meets(b), overlap && !places(a).is_disjoint(&places(b)), "{a:?} {b:?}");
            let inside = a.start <= b.start && b.end <= a.end && a.row >= b.row;
            assert_eq!(a.covers(b), inside && (b.start - a.start).is_multiple_of(a.pitch), "{a:?} {b:?}");
            apart += usize::from(overlap && !a.meets(b));
        }
        assert!(apart > 1000, "rows between rows: {apart}");
    }

    /// Axes whose steps have no common divisor beyond a row leave no gap that a footprint can show.
    #[test]
    fn rows_that_fill_their_pitch_are_solid() {
        for strides in [[6, 4, 1], [10, 4, 1], [9, 6, 1], [5, 3, 1]] {
            let layout = Layout::new(&[2, 2, 2], &strides, 0).unwrap();
            let gcd = (1..10).rev().find(|d| strides[0] % d == 0 && strides[1] % d == 0).unwrap();
            let footprint = Footprint::of(&layout, 1);
            assert_eq!(footprint == Footprint::solid(0, layout.span().end), gcd <= 2, "{strides:?}");
        }
    }

    #[test]
    fn halves_along_every_axis_are_disjoint() {
        let half = |axis: usize, at: usize| {
            let mut shape = [4, 6, 8];
            let mut offset = 0;
            shape[axis] /= 2;
            if at == 1 {
                offset = shape[axis] * [48, 8, 1][axis];
            }
            Footprint::of(&Layout::new(&shape, &[48, 8, 1], offset).unwrap(), 4)
        };
        for axis in 0..3 {
            assert!(!half(axis, 0).meets(&half(axis, 1)), "axis {axis}");
            assert!(half(axis, 0).meets(&half(axis, 0)), "axis {axis}");
        }
        let step = |offset| Footprint::of(&Layout::new(&[4], &[2], offset).unwrap(), 4);
        assert!(!step(0).meets(&step(1)) && step(0).meets(&step(2)));
    }
}
