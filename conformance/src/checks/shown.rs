//! Elements with layouts, to read and to write, for laws about calls that take any strides.

use devarray::{Array, ArrayView, Device, Element, StreamHandle, function::Computable};

use crate::{Outcome, Pattern, Rng, Violation, patterns::elements, violation::same};

/// Elements with a layout, and the elements that its view shows.
pub(in crate::checks) struct Shown<T: Element, D: Device> {
    pub(in crate::checks) pattern: Pattern,
    array: Array<T, D>,
    /// The shown elements, in C order.
    pub(in crate::checks) shown: Vec<T>,
}

impl<T: Element, D: Device> Shown<T, D> {
    /// Elements that are made one by one, with a layout that may repeat some.
    pub(in crate::checks) fn made(
        stream: &StreamHandle<D>,
        rng: &mut Rng,
        shape: &[usize],
        mut one: impl FnMut(&mut Rng) -> T,
    ) -> Result<Self, Violation> {
        let pattern = Pattern::random(rng, shape, true);
        let data: Vec<T> = (0..pattern.base_len()).map(|_| one(rng)).collect();
        Self::of(stream, pattern, &data)
    }

    /// Elements in a line, with a layout without repeats.
    pub(in crate::checks) fn line(
        stream: &StreamHandle<D>,
        rng: &mut Rng,
        line: &[T],
    ) -> Result<Self, Violation> {
        let pattern = Pattern::random(rng, &[line.len()], false);
        let mut data = vec![T::zeroed(); pattern.base_len()];
        pattern.picture().write(&mut data, line);
        Self::of(stream, pattern, &data)
    }

    fn of(stream: &StreamHandle<D>, pattern: Pattern, data: &[T]) -> Result<Self, Violation> {
        let shown = pattern.picture().read(data);
        Ok(Self { array: Array::from_slice(stream, &pattern.base, data)?, pattern, shown })
    }

    pub(in crate::checks) fn view(&self) -> Result<ArrayView<'_, T, D>, Violation> {
        Ok(self.pattern.view(&self.array)?)
    }
}

/// A destination with a layout without repeats; bytes beside its elements must not change.
pub(in crate::checks) struct Target<T: Element, D: Device> {
    pub(in crate::checks) pattern: Pattern,
    pub(in crate::checks) array: Array<T, D>,
    all: Vec<T>,
}

impl<T: Computable, D: Device> Target<T, D> {
    pub(in crate::checks) fn new(
        stream: &StreamHandle<D>,
        rng: &mut Rng,
        shape: &[usize],
    ) -> Result<Self, Violation> {
        let pattern = Pattern::random(rng, shape, false);
        let all: Vec<T> = elements(5, pattern.base_len());
        Ok(Self { array: Array::from_slice(stream, &pattern.base, &all)?, pattern, all })
    }

    /// Checks that it holds these elements, and that all other bytes are unchanged.
    pub(in crate::checks) fn holds(mut self, stream: &StreamHandle<D>, due: &[T], what: &str) -> Outcome {
        self.pattern.picture().write(&mut self.all, due);
        bits_are(&self.array.to_vec(stream)?, &self.all, what)
    }
}

/// Checks that elements are equal to the bit.
pub(in crate::checks) fn bits_are<T: Computable>(found: &[T], due: &[T], what: &str) -> Outcome {
    let bits = |of: &[T]| of.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    same(&bits(found), &bits(due), what)
}
