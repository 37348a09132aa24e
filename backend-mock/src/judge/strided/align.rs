//! Compares the positions of two sets.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Parts, Strided};

/// The result of giving two sets with different outermost strides the same stride.
pub(super) enum Aligned {
    /// Both sets, in parts.
    Regrouped(Parts, Parts),
    /// It is impossible. Either the first set has fewer elements, or the second.
    Fewer { first: bool },
}

/// Gives two sets with levels a common outermost stride.
pub(super) fn align(one: &Strided, two: &Strided) -> Aligned {
    let (Some(a), Some(b)) = (one.levels.last(), two.levels.last()) else {
        return Aligned::Fewer { first: one.levels.is_empty() };
    };
    // The least common multiple is `a_steps` strides of the first, and `b_steps` of the second.
    let divisor = greatest_common_divisor(a.stride, b.stride);
    let (a_steps, b_steps) = (b.stride / divisor, a.stride / divisor);
    // With fewer than two whole periods, there is nothing to repeat.
    let is_periodic = a_steps <= a.count / 2 && b_steps <= b.count / 2;
    if is_periodic {
        Aligned::Regrouped(one.regrouped(a_steps), two.regrouped(b_steps))
    } else {
        Aligned::Fewer { first: a.count <= b.count }
    }
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The elements of two sets with equal outermost strides that reach into each other: element
/// `index` of the first, and `index + shift` of the second.
pub(super) fn neighbours(one: &Strided, two: &Strided) -> SmallVec<[(isize, Range<usize>); 2]> {
    let mut found = SmallVec::new();
    let (Some(a), Some(b)) = (one.levels.last(), two.levels.last()) else { return found };
    let stride = a.stride.cast_signed();
    let ahead = two.start.cast_signed() - one.start.cast_signed();
    // -extent of the second < ahead + shift * stride < extent of the first.
    let first = (-two.inner_extent().cast_signed() - ahead).div_euclid(stride) + 1;
    let last = (one.inner_extent().cast_signed() - ahead - 1).div_euclid(stride);
    for shift in first..=last {
        let from = (-shift).max(0).cast_unsigned();
        let until = a.count.min(b.count.saturating_add_signed(-shift));
        if from < until {
            found.push((shift, from..until));
        }
    }
    found
}
