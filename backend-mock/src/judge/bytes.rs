//! Exactly which bytes an operation touches.

use std::ops::Range;

use devarray::copy::Plan;
use smallvec::{SmallVec, smallvec};

/// A set of bytes as ascending pieces that neither overlap nor touch. Never pitch times height: the gaps between rows are
/// not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bytes(SmallVec<[Range<usize>; 2]>);

impl Bytes {
    /// The bytes of one range.
    pub(crate) fn range(range: Range<usize>) -> Self {
        if range.is_empty() { Self::default() } else { Self(smallvec![range]) }
    }

    /// What a plan writes.
    pub(crate) fn destination(plan: &Plan) -> Self {
        let axes = plan.axes().iter().map(|axis| (axis.dst_stride_bytes, axis.extent));
        Self::strided(plan.dst_offset_bytes(), plan.run_bytes(), axes)
    }

    /// What a plan reads.
    pub(crate) fn source(plan: &Plan) -> Self {
        let axes = plan.axes().iter().map(|axis| (axis.src_stride_bytes, axis.extent));
        Self::strided(plan.src_offset_bytes(), plan.run_bytes(), axes)
    }

    /// Runs of `run` bytes from `offset` on, repeated along axes of (stride, extent).
    ///
    /// The order of a walk does not matter for the set, so axes are sorted and those that continue each other are
    /// one: a transposed read of a dense block is one piece.
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
        steps.sort_unstable();
        let mut row = run;
        let touches = |&&(stride, extent): &&(usize, usize)| {
            let joins = stride <= row;
            row += if joins { stride * (extent - 1) } else { 0 };
            joins
        };
        let dense = steps.iter().take_while(touches).count();
        let outer = &steps[dense..];
        let mut starts: SmallVec<[usize; 2]> = smallvec![start];
        let (mut nested, mut reach) = (true, row);
        for &(stride, extent) in outer {
            nested &= stride >= reach;
            reach += stride * (extent - 1);
            let inner = starts.len();
            starts.reserve(inner * (extent - 1));
            for step in 1..extent {
                for at in 0..inner {
                    starts.push(starts[at] + step * stride);
                }
            }
        }
        if !nested {
            starts.sort_unstable();
        }
        starts.into_iter().map(|start| start..start + row).collect()
    }

    /// The pieces, ascending.
    pub(crate) fn pieces(&self) -> &[Range<usize>] {
        &self.0
    }

    /// From the first byte to one past the last.
    pub(crate) fn span(&self) -> Range<usize> {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }

    /// The bytes that both have.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = SmallVec::new();
        while let (Some(a), Some(b)) = (one.peek(), two.peek()) {
            let shared = a.start.max(b.start)..a.end.min(b.end);
            if !shared.is_empty() {
                common.push(shared);
            }
            if a.end <= b.end {
                one.next();
            } else {
                two.next();
            }
        }
        Self(common)
    }
}

impl Bytes {
    /// These bytes and those of other ascending pieces.
    pub(super) fn joined(&self, other: &[Range<usize>]) -> Self {
        let (mut one, mut two) = (self.0.iter().peekable(), other.iter().peekable());
        let next = || match (one.peek(), two.peek()) {
            (Some(a), Some(b)) if b.start < a.start => two.next(),
            (Some(_), _) => one.next(),
            (None, _) => two.next(),
        };
        std::iter::from_fn(next).cloned().collect()
    }

    /// What ascending pieces are left with when these bytes are taken from them.
    pub(super) fn left_of(&self, other: &[Range<usize>]) -> Self {
        let mut left = SmallVec::new();
        let mut taken = self.0.iter().peekable();
        for piece in other {
            let mut at = piece.start;
            while let Some(take) = taken.peek().filter(|take| take.start < piece.end) {
                if at < take.start {
                    left.push(at..take.start);
                }
                at = at.max(take.end);
                // It may reach into the next piece as well.
                if take.end > piece.end {
                    break;
                }
                taken.next();
            }
            if at < piece.end {
                left.push(at..piece.end);
            }
        }
        Self(left)
    }
}

impl IntoIterator for Bytes {
    type Item = Range<usize>;
    type IntoIter = smallvec::IntoIter<[Range<usize>; 2]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Joins pieces, in order of their starts, that overlap or touch.
impl FromIterator<Range<usize>> for Bytes {
    fn from_iter<I: IntoIterator<Item = Range<usize>>>(pieces: I) -> Self {
        let mut all: SmallVec<[Range<usize>; 2]> = SmallVec::new();
        for piece in pieces {
            match all.last_mut() {
                Some(last) if piece.start <= last.end => last.end = last.end.max(piece.end),
                _ if piece.is_empty() => {}
                _ => all.push(piece),
            }
        }
        Self(all)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use devarray::{Layout, backend::Capabilities};

    use super::*;

    fn every_byte(bytes: &Bytes) -> BTreeSet<usize> {
        bytes.0.iter().flat_map(Clone::clone).collect()
    }

    /// Both sides against a walk over the runs of the plan.
    #[test]
    fn the_sets_of_a_plan_are_the_bytes_of_its_runs() {
        let mut plans = 0;
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
                        assert_eq!(every_byte(&source), side(|run| run.0), "{plan:?}");
                        assert_eq!(every_byte(&Bytes::destination(&plan)), side(|run| run.1), "{plan:?}");
                        assert!(source.0.windows(2).all(|pair| pair[0].end < pair[1].start), "{source:?}");
                        plans += 1;
                    }
                }
            }
        }
        assert_eq!(plans, 540);
    }

    #[test]
    fn a_transposed_block_is_one_piece_and_rows_leave_their_gaps() {
        let dst = Layout::contiguous(&[4, 8], devarray::Order::C).unwrap();
        let turned = Layout::contiguous(&[4, 8], devarray::Order::F).unwrap();
        let plan = Plan::new(&dst, &turned, 4, &Capabilities::default()).unwrap();
        assert_eq!(Bytes::source(&plan).pieces(), std::slice::from_ref(&(0..128)));
        let rows = Layout::new(&[3, 2], &[4, 1], 0).unwrap();
        let plan = Plan::new(&rows, &rows, 1, &Capabilities::default()).unwrap();
        assert_eq!(Bytes::destination(&plan).pieces(), [0..2, 4..6, 8..10]);
    }

    #[test]
    fn common_bytes() {
        let one: Bytes = [0..4, 8..12, 20..30].into_iter().collect();
        let two: Bytes = [2..9, 11..21, 29..40].into_iter().collect();
        assert_eq!(one.common(&two).pieces(), [2..4, 8..9, 11..12, 20..21, 29..30]);
        assert_eq!(one.common(&Bytes::range(4..8)), Bytes::default());
    }
}
