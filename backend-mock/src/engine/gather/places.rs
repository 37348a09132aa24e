//! The elements that a scatter put, and those that it put twice.

use std::ops::Range;

use devarray::Layout;

/// With more elements than this for each noted one, a list takes less time and memory than bits.
const SPARSE: usize = 256;

/// The elements of a layout that were noted. Takes memory for each element once, however often it
/// is noted.
pub(super) struct Places {
    /// The lowest position of the layout.
    lowest: usize,
    noted: Noted,
    /// The lowest position that was noted twice.
    twice: Option<usize>,
}

enum Noted {
    /// A bit for each position, from the lowest position on.
    Bits(Vec<u64>),
    /// The positions, in the order in which they were noted.
    List(Vec<usize>),
}

impl Places {
    /// Starts with nothing noted; about `count` elements are going to be noted.
    pub(super) fn new(layout: &Layout, count: usize) -> Self {
        let span = layout.span();
        let is_sparse = span.len() / SPARSE > count;
        let noted = if is_sparse {
            Noted::List(Vec::with_capacity(count))
        } else {
            Noted::Bits(vec![0; span.len().div_ceil(64)])
        };
        Self { lowest: span.start, noted, twice: None }
    }

    /// Notes an element of the layout.
    pub(super) fn note(&mut self, position: usize) {
        let at = position.wrapping_sub(self.lowest);
        match &mut self.noted {
            Noted::Bits(words) => {
                let bit = 1 << (at % 64);
                let Some(word) = words.get_mut(at / 64) else { return };
                if *word & bit != 0 {
                    self.twice = Some(self.twice.map_or(position, |first| first.min(position)));
                }
                *word |= bit;
            }
            Noted::List(list) => list.push(position),
        }
    }

    /// The lowest position that was noted more than once.
    pub(super) fn first_twice(mut self) -> Option<usize> {
        if let Noted::List(list) = &mut self.noted {
            list.sort_unstable();
            return list.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        }
        self.twice
    }

    /// The noted positions, in order, as ranges.
    pub(super) fn ranges(self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut add = |at: Range<usize>| match ranges.last_mut() {
            Some(last) if at.start <= last.end => last.end = last.end.max(at.end),
            _ => ranges.push(at),
        };
        match self.noted {
            Noted::Bits(words) => {
                for (word, start) in words.into_iter().zip((self.lowest..).step_by(64)) {
                    let (mut left, mut at) = (word, start);
                    while left != 0 {
                        at += left.trailing_zeros() as usize;
                        left >>= left.trailing_zeros();
                        let ones = left.trailing_ones();
                        add(at..at + ones as usize);
                        at += ones as usize;
                        left = left.checked_shr(ones).unwrap_or(0);
                    }
                }
            }
            Noted::List(mut list) => {
                list.sort_unstable();
                list.into_iter().for_each(|at| add(at..at + 1));
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rng::SplitMix64;

    /// Notes elements both as bits and as a list, and compares with a count for each element.
    #[test]
    fn elements_are_noted_once_or_more() {
        let mut rng = SplitMix64::new(3);
        let (mut repeated, mut full) = (0, 0);
        for case in 0..2000 {
            let (len, lowest) = (1 + rng.below(300), rng.below(100));
            let layout = Layout::new(&[len], &[1], lowest).unwrap();
            let count = [0, len / SPARSE, 1000][case % 3];
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            let [mut places, mut again] = [Places::new(&layout, count), Places::new(&layout, count)];
            let noted = if case % 5 == 0 { len } else { rng.below(40) };
            for k in 0..noted {
                let at = lowest + if case % 5 == 0 { k } else { rng.below(len) };
                *counts.entry(at).or_default() += 1;
                places.note(at);
                again.note(at);
            }
            let twice = counts.iter().find(|(_, count)| **count > 1).map(|(at, _)| *at);
            assert_eq!(places.first_twice(), twice);
            let ranges = again.ranges();
            assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
            full += usize::from(ranges.len() == 1 && ranges[0] == (lowest..lowest + len));
            repeated += usize::from(twice.is_some());
            let found: Vec<usize> = ranges.into_iter().flatten().collect();
            assert_eq!(found, counts.into_keys().collect::<Vec<_>>());
        }
        assert!(repeated > 500 && full > 300, "{repeated} {full}");
    }

    #[test]
    fn few_of_many_take_no_bit_each() {
        let layout = Layout::new(&[1 << 40], &[1], 7).unwrap();
        let mut places = Places::new(&layout, 3);
        [1 << 39, 7, 1 << 39].into_iter().for_each(|at| places.note(at));
        assert_eq!(places.first_twice(), Some(1 << 39));
    }
}
