//! Expected results, element by element, and generated cases.

use devarray::{
    Array, ArrayView, Device, Element,
    gather::{Index, OutOfRange},
};

use crate::{Pattern, Rng, Violation, patterns::elements};

/// The modes, to be used in turn.
pub(super) const MODES: [OutOfRange; 3] = [OutOfRange::Error, OutOfRange::Wrap, OutOfRange::Clamp];

/// Shapes of indices.
pub(super) const INDEX_SHAPES: [&[usize]; 7] = [&[5], &[], &[1], &[3, 4], &[0], &[2, 3, 2], &[40]];

/// The position that an index names among `bound` positions; `None` if it is out of range and the
/// mode makes that an error.
pub(super) fn meant(index: i64, bound: usize, mode: OutOfRange) -> Option<usize> {
    let bound = i128::try_from(bound).ok()?;
    let mut index = i128::from(index);
    match mode {
        OutOfRange::Error if index < 0 => index += bound,
        OutOfRange::Error => {}
        OutOfRange::Wrap => index -= index.div_euclid(bound) * bound,
        OutOfRange::Clamp if index < 0 => index = 0,
        OutOfRange::Clamp => index = index.min(bound - 1),
    }
    usize::try_from(index).ok().filter(|_| index < bound)
}

/// A shape as three extents: before, along and after an axis.
pub(super) fn around(shape: &[usize], axis: usize) -> [usize; 3] {
    [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()]
}

/// An axis with at least one position, in one of the forms that calls take.
pub(super) fn any_axis(rng: &mut Rng, shape: &[usize]) -> Option<(usize, isize)> {
    let axis = rng.below(shape.len());
    let from_end = rng.below(2) == 0;
    let named = if from_end { axis.cast_signed() - shape.len().cast_signed() } else { axis.cast_signed() };
    (shape.get(axis)? > &0).then_some((axis, named))
}

/// An index for a mode: in range if it must be, otherwise sometimes out of range, and sometimes far
/// out if the type allows it.
pub(super) fn index<I: Index + TryFrom<i64>>(rng: &mut Rng, bound: usize, mode: OutOfRange) -> I {
    let low = |value: usize| i64::try_from(value).unwrap_or(0);
    let near = match mode {
        OutOfRange::Error => low(rng.below(2 * bound)) - low(bound),
        _ => low(rng.below(6 * bound + 6)) - low(3 * bound + 3),
    };
    let far = [i64::MIN, i64::MAX, i64::from(u32::MAX), i64::from(i32::MIN), 3_000_000_000][rng.below(5)];
    let wanted = if mode != OutOfRange::Error && rng.below(5) == 0 { far } else { near };
    let instead = || I::try_from(low(rng.clone().below(bound))).ok();
    I::try_from(wanted).ok().or_else(instead).unwrap_or_else(I::zeroed)
}

/// Generated elements with a generated layout.
pub(super) struct Made<T: Element, D: Device> {
    pub(super) pattern: Pattern,
    pub(super) array: Array<T, D>,
    /// The elements of its view, in C order.
    pub(super) shown: Vec<T>,
}

impl<T: Element, D: Device> Made<T, D> {
    pub(super) fn new(
        stream: &devarray::StreamHandle<D>,
        rng: &mut Rng,
        shape: &[usize],
        salt: u64,
    ) -> Result<Self, Violation> {
        let pattern = Pattern::random(rng, shape, true);
        let data: Vec<T> = elements(salt, pattern.base_len());
        let shown = pattern.picture().read(&data);
        Ok(Self { array: Array::from_slice(stream, &pattern.base, &data)?, pattern, shown })
    }

    pub(super) fn view(&self) -> Result<ArrayView<'_, T, D>, Violation> {
        Ok(self.pattern.view(&self.array)?)
    }
}

/// Indices for an axis of `bound` positions, with a generated layout.
pub(super) fn made_indices<I: Index + TryFrom<i64>, D: Device>(
    stream: &devarray::StreamHandle<D>,
    rng: &mut Rng,
    shape: &[usize],
    bound: usize,
    mode: OutOfRange,
) -> Result<Made<I, D>, Violation> {
    let pattern = Pattern::random(rng, shape, true);
    let data: Vec<I> = (0..pattern.base_len()).map(|_| index(rng, bound, mode)).collect();
    let shown = pattern.picture().read(&data);
    Ok(Made { array: Array::from_slice(stream, &pattern.base, &data)?, pattern, shown })
}
