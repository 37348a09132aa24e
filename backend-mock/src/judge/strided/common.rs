//! The bytes that two sets share.

use std::ops::Range;

use super::{
    Parts, Strided,
    align::{Aligned, align, neighbours},
    join,
};

impl Strided {
    /// Adds the bytes that both have to `parts`.
    pub(in crate::judge) fn common(&self, other: &Self, parts: &mut Parts) {
        let span = self.start.max(other.start)..self.end().min(other.end());
        if span.is_empty() {
            return;
        }
        match (self.is_range(), other.is_range()) {
            (true, true) => return parts.push(Self::of(span)),
            (true, false) => return other.within(&span, parts),
            (false, true) => return self.within(&span, parts),
            (false, false) if self == other => return parts.push(self.clone()),
            (false, false) => {}
        }
        let (Some(one), Some(two)) = (self.narrowed(&span), other.narrowed(&span)) else { return };
        let (Some(a), Some(b)) = (one.levels.last(), two.levels.last()) else {
            return one.common(&two, parts);
        };
        if a.stride == b.stride {
            let mut inner = Parts::new();
            for (shift, indices) in neighbours(&one, &two) {
                let beside = two.element(indices.start.wrapping_add_signed(shift));
                one.element(indices.start).common(&beside, &mut inner);
                for mut part in inner.drain(..) {
                    part.repeat(a.stride, indices.len());
                    parts.push(part);
                }
            }
            return;
        }
        match align(&one, &two) {
            Aligned::Regrouped(ones, twos) => {
                for one in &ones {
                    twos.iter().for_each(|two| one.common(two, parts));
                }
            }
            Aligned::Fewer { first } => {
                let (few, many, count) = if first { (&one, &two, a.count) } else { (&two, &one, b.count) };
                let before = parts.len();
                (0..count).for_each(|index| few.element(index).common(many, parts));
                join::compress(parts, before);
            }
        }
    }

    /// Adds the bytes that lie in a range to `parts`.
    pub(in crate::judge) fn within(&self, range: &Range<usize>, parts: &mut Parts) {
        let Some(reaching) = self.narrowed(range) else { return };
        let Some(level) = reaching.levels.last() else {
            let run = reaching.first_run();
            return parts.push(Self::of(run.start.max(range.start)..run.end.min(range.end)));
        };
        // Only the first and the last element can reach outside.
        let (head, tail) = (reaching.start < range.start, reaching.end() > range.end);
        let inside = usize::from(head)..level.count - usize::from(tail);
        if head {
            reaching.element(0).within(range, parts);
        }
        if !inside.is_empty() {
            parts.push(reaching.part(inside));
        }
        if tail {
            reaching.element(level.count - 1).within(range, parts);
        }
    }
}
