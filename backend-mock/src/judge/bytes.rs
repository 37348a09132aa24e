//! The exact set of bytes that an operation touches.

use std::ops::Range;

use devarray::copy::Plan;
use smallvec::SmallVec;

use super::{
    cells::Cells,
    strided::{Parts, Strided, compress, first_range, joined},
};

/// A set of bytes. Gaps between rows are not in it.
///
/// Nearly every footprint is one strided set. Its cost depends on its rank, not on its number of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bytes(Cells<()>);

impl Bytes {
    /// The bytes of one range.
    pub(crate) fn range(range: Range<usize>) -> Self {
        if range.is_empty() { Self::default() } else { Self(Cells::of(Strided::of(range), ())) }
    }

    /// The bytes that a plan writes.
    pub(crate) fn destination(plan: &Plan) -> Self {
        let axes = plan.axes().iter().map(|axis| (axis.dst_stride_bytes, axis.extent));
        Self::strided(plan.dst_offset_bytes(), plan.run_bytes(), axes)
    }

    /// The bytes that a plan reads.
    pub(crate) fn source(plan: &Plan) -> Self {
        let axes = plan.axes().iter().map(|axis| (axis.src_stride_bytes, axis.extent));
        Self::strided(plan.src_offset_bytes(), plan.run_bytes(), axes)
    }

    /// Runs of `run` bytes from `offset` on, repeated along axes of (stride, extent).
    ///
    /// The order in which a walk visits the bytes does not matter for the set, so axes are sorted, and axes
    /// that continue each other are merged: a transposed read of a dense block is one piece.
    pub(crate) fn strided(offset: usize, run: usize, axes: impl Iterator<Item = (isize, usize)>) -> Self {
        let mut start = offset;
        let mut steps: SmallVec<[(usize, usize); 6]> = SmallVec::new();
        for (stride, extent) in axes {
            if stride == 0 || extent <= 1 {
                continue;
            }
            if stride < 0 {
                start -= stride.unsigned_abs() * (extent - 1);
            }
            steps.push((stride.unsigned_abs(), extent));
        }
        if run == 0 {
            return Self::default();
        }
        steps.sort_unstable();
        match Strided::along(start, run, &steps) {
            Some(set) => Self(Cells::of(set, ())),
            None => Self::overlapping(start, run, &steps),
        }
    }

    /// That set if runs overlap irregularly. The cost depends on the number of bytes, however often the
    /// axes reach one: each step doubles the part of an axis that is covered.
    fn overlapping(start: usize, run: usize, steps: &[(usize, usize)]) -> Self {
        let mut ranges: Vec<_> = std::iter::once(start..start + run).collect();
        for &(stride, extent) in steps {
            let mut count = 1;
            while count < extent {
                let more = count.min(extent - count);
                ranges = with_moved(&ranges, more * stride);
                count += more;
            }
        }
        ranges.into_iter().collect()
    }

    /// Its bytes as ranges, by first byte.
    pub(crate) fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<_> = self.sets().flat_map(Strided::runs).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    /// Sets that share no byte.
    pub(super) fn of_parts(mut parts: Parts) -> Self {
        parts.sort_unstable_by_key(Strided::start);
        joined(&mut parts);
        compress(&mut parts, 0);
        Self(Cells::of_parts(parts))
    }

    /// The sets that it consists of, by first byte.
    pub(super) fn sets(&self) -> impl Iterator<Item = &Strided> {
        self.0.all().iter().map(|cell| &cell.bytes)
    }

    /// Its set, if it consists of one.
    pub(super) fn only_set(&self) -> Option<&Strided> {
        match self.0.all() {
            [only] => Some(&only.bytes),
            _ => None,
        }
    }

    pub(super) fn cells(&self) -> &Cells<()> {
        &self.0
    }

    /// From the first byte to the end of the last.
    pub(crate) fn span(&self) -> Range<usize> {
        if let Some(set) = self.only_set() {
            return set.span();
        }
        let start = self.sets().next().map_or(0, Strided::start);
        start..self.sets().map(Strided::end).max().unwrap_or(start)
    }

    /// Whether it has no byte.
    pub(crate) fn is_empty(&self) -> bool {
        self.sets().next().is_none()
    }

    /// Whether both have a byte in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let mut common = Parts::new();
        self.sets().any(|set| {
            other.0.meeting(&set.span()).any(|cell| {
                set.common(&cell.bytes, &mut common);
                !common.is_empty()
            })
        })
    }

    /// The bytes that both have.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let mut parts = Parts::new();
        self.sets().for_each(|set| parts.extend(other.among(set)));
        Self::of_parts(parts)
    }

    /// The bytes that the other does not have.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut parts = Parts::new();
        self.sets().for_each(|set| parts.extend(other.0.missing(set)));
        Self::of_parts(parts)
    }

    /// The bytes that at least one of the two has.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut parts: Parts = self.without(other).sets().cloned().collect();
        parts.extend(other.sets().cloned());
        Self::of_parts(parts)
    }

    /// The bytes of `set` that are among these.
    pub(super) fn among(&self, set: &Strided) -> Parts {
        let mut parts = Parts::new();
        self.0.meeting(&set.span()).for_each(|cell| cell.bytes.common(set, &mut parts));
        parts
    }

    /// The first bytes that both have.
    pub(crate) fn first_common(&self, other: &Self) -> Option<Range<usize>> {
        let mut common = Parts::new();
        for set in self.sets() {
            other.0.meeting(&set.span()).for_each(|cell| set.common(&cell.bytes, &mut common));
        }
        first_range(&common)
    }
}

/// The ranges and the same ranges moved up, in order; ranges that overlap or touch are merged.
fn with_moved(ranges: &[Range<usize>], by: usize) -> Vec<Range<usize>> {
    let mut moved = ranges.iter().map(|range| range.start + by..range.end + by).peekable();
    let mut all: Vec<Range<usize>> = Vec::new();
    let mut add = |next: Range<usize>| match all.last_mut() {
        Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
        _ => all.push(next),
    };
    for range in ranges {
        while let Some(before) = moved.next_if(|moved| moved.start < range.start) {
            add(before);
        }
        add(range.clone());
    }
    moved.for_each(&mut add);
    all
}

/// Joins pieces that overlap or touch. The pieces must be in the order of their starts.
impl FromIterator<Range<usize>> for Bytes {
    fn from_iter<I: IntoIterator<Item = Range<usize>>>(pieces: I) -> Self {
        let mut parts = Parts::new();
        let mut last: Option<Range<usize>> = None;
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            match &mut last {
                Some(last) if piece.start <= last.end => last.end = last.end.max(piece.end),
                _ => parts.extend(last.replace(piece).map(Strided::of)),
            }
        }
        parts.extend(last.map(Strided::of));
        compress(&mut parts, 0);
        Self(Cells::of_parts(parts))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use devarray::{Layout, backend::Capabilities};

    use super::*;
    use crate::judge::strided::every_byte;

    fn bytes_of(bytes: &Bytes) -> BTreeSet<usize> {
        bytes.sets().flat_map(every_byte).collect()
    }

    /// Compares both sides with a walk over the runs of the plan.
    #[test]
    fn the_sets_of_a_plan_are_the_bytes_of_its_runs() {
        let (mut plans, mut sets) = (0, 0);
        for shape in [[2, 3, 2], [3, 1, 4], [2, 2, 2]] {
            for outer in [-30, -14, 0, 10, 15, 24] {
                for middle in [-5, -2, 0, 3, 4, 8] {
                    for inner in [-3, -1, 0, 1, 2] {
                        let dst = Layout::contiguous(&shape, devarray::Order::F).unwrap();
                        let src = Layout::new(&shape, &[outer, middle, inner], 100).unwrap();
                        let plan = Plan::new(&dst, &src, 2, &Capabilities::default()).unwrap();
                        let runs: Vec<_> = plan.runs().collect();
                        let side = |pick: fn(&(usize, usize, usize)) -> usize| -> BTreeSet<usize> {
                            runs.iter().flat_map(|run| pick(run)..pick(run) + run.2).collect()
                        };
                        let source = Bytes::source(&plan);
                        assert_eq!(bytes_of(&source), side(|run| run.0), "{plan:?}");
                        assert_eq!(bytes_of(&Bytes::destination(&plan)), side(|run| run.1), "{plan:?}");
                        let count: usize = source.sets().map(|set| every_byte(set).len()).sum();
                        assert_eq!(count, bytes_of(&source).len(), "no byte is in two sets: {source:?}");
                        plans += 1;
                        sets += source.sets().count();
                    }
                }
            }
        }
        assert_eq!(plans, 540);
        assert!(sets < 650, "{sets} sets: nearly every footprint is one");
    }

    #[test]
    fn a_transposed_block_is_one_piece_and_rows_leave_their_gaps() {
        let dst = Layout::contiguous(&[4, 8], devarray::Order::C).unwrap();
        let turned = Layout::contiguous(&[4, 8], devarray::Order::F).unwrap();
        let plan = Plan::new(&dst, &turned, 4, &Capabilities::default()).unwrap();
        assert_eq!(Bytes::source(&plan), Bytes::range(0..128));
        let rows = Layout::new(&[3, 2], &[4, 1], 0).unwrap();
        let plan = Plan::new(&rows, &rows, 1, &Capabilities::default()).unwrap();
        assert_eq!(Bytes::destination(&plan), [0..2, 4..6, 8..10].into_iter().collect());
    }

    /// A thousand million runs are one set.
    #[test]
    fn a_footprint_costs_by_its_rank() {
        let half = |offset: usize| Bytes::strided(offset, 4, [(8, 1 << 30)].into_iter());
        let (even, odd) = (half(0), half(4));
        assert_eq!((even.sets().count(), even.meets(&odd)), (1, false));
        assert_eq!(even.first_common(&Bytes::range(5..1 << 33)), Some(8..12));
        let thirds = Bytes::strided(0, 4, [(12, 1 << 29)].into_iter());
        assert_eq!(odd.first_common(&thirds), Some(12..16));
    }

    /// The cost of a set does not depend on how often a byte is reached: 2^40 runs, most of them on top of
    /// others.
    #[test]
    fn a_footprint_of_runs_that_overlap_costs_by_its_bytes() {
        for (one, two, run) in [(3, 2, 1), (5, 3, 2), (7, 11, 3)] {
            let small = |axes: [(isize, usize); 2]| Bytes::strided(100, run, axes.into_iter());
            let each = |extent: usize| {
                let starts = (0..extent).flat_map(|a| (0..extent).map(move |b| 100 + a * one + b * two));
                starts.flat_map(|start| start..start + run).collect::<BTreeSet<usize>>()
            };
            let axes = |extent| [(one.cast_signed(), extent), (two.cast_signed(), extent)];
            assert_eq!(bytes_of(&small(axes(9))), each(9));
            let large = small(axes(1 << 20));
            assert_eq!(large.span(), 100..100 + ((1 << 20) - 1) * (one + two) + run);
            let ranges = large.ranges();
            assert!(ranges.len() < 20, "{} ranges", ranges.len());
            assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
        }
    }

    /// Compares unions, intersections and differences of random sets with one flag for each byte.
    #[test]
    fn sets_are_joined_and_cut() {
        let mut rng = crate::rng::SplitMix64::new(5);
        for _ in 0..2000 {
            let [one, two] = [0; 2].map(|_: usize| {
                let axes = [(1 + rng.below(9), 1 + rng.below(5)), (1 + rng.below(30), 1 + rng.below(3))];
                let axes = axes.map(|(stride, extent)| (stride.cast_signed(), extent));
                Bytes::strided(rng.below(40), 1 + rng.below(4), axes.into_iter())
            });
            let (a, b) = (bytes_of(&one), bytes_of(&two));
            let found = [one.common(&two), one.without(&two), one.with(&two)];
            let due = [&a & &b, &a - &b, &a | &b];
            for (found, due) in found.iter().zip(due) {
                assert_eq!(bytes_of(found), due, "{one:?} {two:?}");
                let count: usize = found.sets().map(|set| every_byte(set).len()).sum();
                assert_eq!(count, due.len(), "no byte is in two sets");
            }
        }
    }

    #[test]
    fn common_bytes() {
        let one: Bytes = [0..4, 8..12, 20..30].into_iter().collect();
        let two: Bytes = [4..6, 11..21, 29..40].into_iter().collect();
        assert_eq!(one.first_common(&two), Some(11..12));
        assert_eq!(one.first_common(&Bytes::range(4..8)), None);
        assert!(one.meets(&two) && !one.meets(&Bytes::range(4..8)));
    }
}
