//! Which bytes of a memory were ever given a value.

use std::{collections::BTreeMap, mem, ops::Range};

use super::bytes::Bytes;

/// The initialized bytes: the end of each piece, by its start. Pieces neither overlap nor touch.
#[derive(Debug, Default)]
pub(crate) struct Initialized(BTreeMap<usize, usize>);

impl Initialized {
    /// These bytes have a value from now on, or have none any more.
    pub(crate) fn set(&mut self, bytes: &Bytes, to: bool) {
        for piece in bytes.pieces() {
            if to {
                self.insert(piece.clone());
            } else {
                self.remove(piece);
            }
        }
    }

    fn insert(&mut self, mut piece: Range<usize>) {
        if let Some((&start, end)) = self.0.range_mut(..=piece.start).next_back()
            && *end >= piece.start
        {
            if *end >= piece.end {
                return;
            }
            piece.start = start;
        }
        while let Some((&start, &end)) = self.0.range(piece.start..=piece.end).next() {
            piece.end = piece.end.max(end);
            self.0.remove(&start);
        }
        self.0.insert(piece.start, piece.end);
    }

    fn remove(&mut self, piece: &Range<usize>) {
        if let Some((_, end)) = self.0.range_mut(..piece.start).next_back()
            && *end > piece.start
        {
            let behind = mem::replace(end, piece.start);
            if behind > piece.end {
                self.0.insert(piece.end, behind);
            }
        }
        while let Some((&start, &end)) = self.0.range(piece.clone()).next() {
            self.0.remove(&start);
            if end > piece.end {
                self.0.insert(piece.end, end);
            }
        }
    }

    /// The bytes among these that have a value.
    pub(crate) fn among(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let before = self.0.range(..range.start).next_back().filter(|&(_, &end)| end > range.start);
        let all = before.into_iter().chain(self.0.range(range.clone()));
        all.map(move |(&start, &end)| start.max(range.start)..end.min(range.end))
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
                let pieces: Vec<_> = set.0.iter().collect();
                assert!(pieces.windows(2).all(|pair| pair[0].1 < pair[1].0), "{set:?}");
            }
        }
    }
}
