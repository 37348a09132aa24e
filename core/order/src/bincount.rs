//! Counts how many integers have each value, or sums their weights.

use crate::{
    WrongIndex,
    counts::counted,
    kind::{FloatKind, WholeKind},
    places::{outside, place},
    put::sums,
    word::Word,
    workers::Workers,
};

/// Counts, for each place of the result, the elements of `x` with its value.
pub(crate) fn bincount<K: WholeKind>(
    x: &[K::Bits],
    result: &mut [i64],
    workers: &dyn Workers,
) -> Option<WrongIndex> {
    let extent = result.len();
    let mut wrong = None;
    let missed = |at: usize| wrong = Some(wrong.map_or(at, |first: usize| first.min(at)));
    let counts = counted(x.len(), extent, workers, |at| place(K::value(x[at]), extent, false), missed);
    result.iter_mut().zip(counts).for_each(|(to, count)| *to = count.cast_signed() as i64);
    wrong.map(|at| outside::<K>(x, at, extent))
}

/// Sums integer weights, in 64 bits, at places below the length of the result.
pub(crate) fn whole_weights<V: WholeKind, P: Word>(places: &[P], weights: &[V::Bits], result: &mut [u64]) {
    result.fill(0);
    for (place, &weight) in places.iter().zip(weights) {
        if let Some(to) = result.get_mut(place.digit(0, usize::MAX)) {
            *to = to.wrapping_add(V::summand(weight));
        }
    }
}

/// Sums float weights at places below the length of the result.
pub(crate) fn float_weights<V: FloatKind, P: Word>(
    places: &[P],
    weights: &[V::Bits],
    result: &mut [V::Bits],
    workers: &dyn Workers,
) {
    result.fill(V::Bits::ZERO);
    let weight = |at: usize| V::load(weights[at]);
    sums(places, result.len(), weight, workers, result, |to, sum| *to = V::store(sum));
}
