//! Which bytes of a memory were ever given a value.

use std::ops::Range;

use super::bytes::Bytes;

/// The initialized bytes, in ascending pieces that neither overlap nor touch.
#[derive(Debug, Default)]
pub(crate) struct Initialized(Vec<Range<usize>>);

impl Initialized {
    /// These bytes have a value from now on, or have none any more.
    pub(crate) fn set(&mut self, bytes: &Bytes, to: bool) {
        let span = bytes.span();
        let first = self.0.partition_point(|piece| piece.end < span.start);
        let beyond = first + self.0[first..].partition_point(|piece| piece.start <= span.end);
        let old = &self.0[first..beyond];
        let new = match old {
            // Most bytes are written more than once.
            [all] if to && all.start <= span.start && span.end <= all.end => return,
            _ if to => bytes.joined(old),
            _ => bytes.left_of(old),
        };
        self.0.splice(first..beyond, new);
    }

    /// The bytes among these that have a value.
    pub(crate) fn among(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let first = self.0.partition_point(|piece| piece.end <= range.start);
        let pieces = self.0[first..].iter().take_while(move |piece| piece.start < range.end);
        pieces.map(move |piece| piece.start.max(range.start)..piece.end.min(range.end))
    }

    /// The first bytes among these that have no value.
    pub(crate) fn first_missing(&self, bytes: &Bytes) -> Option<Range<usize>> {
        bytes.pieces().iter().find_map(|piece| {
            let mut at = piece.start;
            for has in self.among(piece.clone()) {
                if has.start > at {
                    return Some(at..has.start);
                }
                at = has.end;
            }
            (at < piece.end).then_some(at..piece.end)
        })
    }

    /// Whether none of these bytes has a value.
    pub(crate) fn has_none(&self, bytes: &Bytes) -> bool {
        bytes.pieces().iter().all(|piece| self.among(piece.clone()).next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random sets and clears against one flag a byte.
    #[test]
    fn agrees_with_a_flag_for_each_byte() {
        let mut rng = crate::rng::SplitMix64::new(1);
        for _ in 0..200 {
            let (mut flags, mut set) = ([false; 64], Initialized::default());
            for _ in 0..30 {
                let (stride, len) = (4 + rng.below(8), 1 + rng.below(4));
                let (start, to) = (rng.below(20), rng.below(2) == 0);
                let bytes: Bytes = (0..4).map(|i| start + i * stride..start + i * stride + len).collect();
                bytes.pieces().iter().for_each(|piece| flags[piece.clone()].fill(to));
                set.set(&bytes, to);

                let probe: Bytes = (0..3).map(|i| rng.below(12) + i * 20..i * 20 + 12).collect();
                let mut all = probe.pieces().iter().flat_map(Clone::clone);
                let missing = all.clone().find(|&at| !flags[at]);
                assert_eq!(set.first_missing(&probe).map(|range| range.start), missing);
                assert_eq!(set.has_none(&probe), all.all(|at| !flags[at]));
                assert!(set.0.windows(2).all(|pair| pair[0].end < pair[1].start), "{set:?}");
            }
        }
    }
}
