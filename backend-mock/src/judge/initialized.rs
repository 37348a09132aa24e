//! The bytes of a memory that ever got a value.

use std::ops::Range;

use super::{
    bytes::Bytes,
    cells::{Cell, Cells, NewCells},
    strided::{Parts, Strided, first_range, joined},
};

/// The remedy for bytes without a value.
pub(crate) const INITIALIZE: &str = "help: fill the array, or make it with `zeros`, before it is read";

/// The initialized bytes.
#[derive(Debug, Default)]
pub(crate) struct Initialized(Cells<()>);

impl Initialized {
    /// Sets whether these bytes have a value from now on.
    pub(crate) fn set(&mut self, bytes: &Bytes, to: bool) {
        let span = bytes.span();
        if to && self.0.meeting(&span).any(|cell| cell.bytes.is_range() && holds(&cell.bytes.span(), &span)) {
            // Most bytes are written more than once.
            return;
        }
        // Adjacent ranges are merged.
        let near = self.0.over(&(span.start.saturating_sub(1)..span.end.saturating_add(1)));
        if to && bytes.only_set().is_some_and(Strided::is_range) && self.0.are_ranges(&near) {
            let whole = self.0.all()[near.clone()].iter().fold(span, |whole, cell| {
                whole.start.min(cell.bytes.start())..whole.end.max(cell.bytes.end())
            });
            return self.0.replace_with_ranges(near, &[(whole, ())]);
        }
        let mut new = NewCells::new();
        self.0.left_by(near.clone(), bytes.cells(), &mut new);
        if to {
            let mut parts: Parts = new.drain(..).map(|cell| cell.bytes).collect();
            parts.extend(bytes.sets().cloned());
            parts.sort_unstable_by_key(Strided::start);
            joined(&mut parts);
            new.extend(parts.into_iter().map(|bytes| Cell::new(bytes, ())));
        }
        self.0.replace(near, new);
    }

    /// The bytes among these that have a value.
    pub(super) fn among(&self, set: &Strided) -> Parts {
        let mut parts = Parts::new();
        self.0.meeting(&set.span()).for_each(|cell| cell.bytes.common(set, &mut parts));
        parts
    }

    /// The first bytes among these that have no value.
    pub(crate) fn first_missing(&self, bytes: &Bytes) -> Option<Range<usize>> {
        let mut missing = Parts::new();
        for set in bytes.sets() {
            if missing.iter().any(|part| part.first_run().end < set.start()) {
                break;
            }
            missing.extend(self.0.missing(set));
        }
        first_range(&missing)
    }

    /// The bytes among these that have no value.
    pub(crate) fn missing(&self, bytes: &Bytes) -> Bytes {
        let mut missing = Parts::new();
        bytes.sets().for_each(|set| missing.extend(self.0.missing(set)));
        Bytes::of_parts(missing)
    }

    /// Whether none of these bytes has a value.
    pub(crate) fn has_none(&self, bytes: &Bytes) -> bool {
        bytes.sets().all(|set| self.among(set).is_empty())
    }
}

/// Whether a span lies in another.
fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::strided::every_byte;

    /// Compares random sets and clears with one flag for each byte.
    #[test]
    fn agrees_with_a_flag_for_each_byte() {
        let mut rng = crate::rng::SplitMix64::new(1);
        for _ in 0..200 {
            let (mut flags, mut set) = ([false; 64], Initialized::default());
            for _ in 0..30 {
                let (stride, len) = (4 + rng.below(8), 1 + rng.below(4));
                let (start, to) = (rng.below(20), rng.below(2) == 0);
                let bytes: Bytes = (0..4).map(|i| start + i * stride..start + i * stride + len).collect();
                bytes.sets().flat_map(every_byte).for_each(|at| flags[at] = to);
                set.set(&bytes, to);

                let probe: Bytes = (0..3).map(|i| rng.below(12) + i * 20..i * 20 + 12).collect();
                let mut all: Vec<usize> = probe.sets().flat_map(every_byte).collect();
                all.sort_unstable();
                let missing = all.iter().copied().find(|&at| !flags[at]);
                assert_eq!(set.first_missing(&probe).map(|range| range.start), missing);
                assert_eq!(set.has_none(&probe), all.iter().all(|&at| !flags[at]));
                let held: Vec<usize> = set.0.all().iter().flat_map(|cell| every_byte(&cell.bytes)).collect();
                assert_eq!(held.len(), flags.iter().filter(|flag| **flag).count(), "{set:?}");
                assert!(held.iter().all(|&at| flags[at]), "{set:?}");
            }
        }
    }

    /// Every second element, then the elements in between: one set after each write, and everything
    /// at the end.
    #[test]
    fn halves_become_a_whole() {
        let half = |offset: usize| Bytes::strided(offset, 4, [(8, 1 << 20)].into_iter());
        let mut set = Initialized::default();
        set.set(&half(0), true);
        assert_eq!(set.first_missing(&Bytes::range(0..64)), Some(4..8));
        set.set(&half(4), true);
        assert_eq!(set.first_missing(&Bytes::range(0..8 << 20)), None);
        assert_eq!(set.0.all().len(), 1);
        set.set(&half(4), false);
        assert_eq!(set.first_missing(&half(0)), None);
        assert!(set.has_none(&half(4)));
    }
}
