//! The order, and elements with many equals, without a thought for speed.

use std::cmp::Ordering;

use devarray::{Array, ArrayView, Bool, Device, Element, StreamHandle, function::Computable};

use crate::{Outcome, Pattern, Rng, Violation, patterns::elements, violation::same};

/// An element type, as the order sees it.
pub(super) trait Ordered: Computable {
    /// Which comes first; equals are equal.
    fn order(self, other: Self) -> Ordering;

    /// Whether it is no number.
    fn is_nan(self) -> bool {
        false
    }

    /// An element of which there are few, or a rare one.
    fn made(rng: &mut Rng) -> Self;
}

macro_rules! whole {
    ($($of:ty: $made:expr;)*) => {$(
        impl Ordered for $of {
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }

            fn made(rng: &mut Rng) -> Self {
                let made: fn(&mut Rng) -> Self = $made;
                made(rng)
            }
        }
    )*};
}

whole! {
    i16: |rng| [-3, -1, 0, 2, 7, i16::MIN, i16::MAX][rng.below(7)];
    u8: |rng| [0, 1, 2, 128, 255][rng.below(5)];
    u64: |rng| [0, 5, 6, 1 << 63, u64::MAX, rng.bits()][rng.below(6)];
}

impl Ordered for Bool {
    fn order(self, other: Self) -> Ordering {
        bool::from(self).cmp(&bool::from(other))
    }

    fn made(rng: &mut Rng) -> Self {
        (rng.below(2) == 0).into()
    }
}

macro_rules! floats {
    ($($of:ident: $nan:literal, $other_nan:literal;)*) => {$(
        impl Ordered for $of {
            fn order(self, other: Self) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }

            fn is_nan(self) -> bool {
                self.is_nan()
            }

            fn made(rng: &mut Rng) -> Self {
                let [nan, other] = [$nan, $other_nan].map($of::from_bits);
                let least = $of::from_bits(1);
                [0.0, -0.0, 1.5, -2.0, 1e4, least, -$of::INFINITY, $of::INFINITY, nan, other, 0.1][rng.below(11)]
            }
        }
    )*};
}

floats! {
    f32: 0x7fc0_0001, 0xffc1_2345;
    f64: 0x7ff8_0000_0000_0001, 0xfff8_1234_5678_9abc;
}

/// Calls a function of an element type, another in each case.
macro_rules! each_type {
    ($run:ident, $case:expr, $arguments:tt) => {
        match $case % 6 {
            0 => $run::<f32, D> $arguments,
            1 => $run::<i16, D> $arguments,
            2 => $run::<u64, D> $arguments,
            3 => $run::<f64, D> $arguments,
            4 => $run::<u8, D> $arguments,
            _ => $run::<devarray::Bool, D> $arguments,
        }
    };
}

pub(super) use each_type;

/// Elements behind a layout, and what it shows.
pub(super) struct Shown<T: Element, D: Device> {
    pub(super) pattern: Pattern,
    array: Array<T, D>,
    /// In C order.
    pub(super) shown: Vec<T>,
}

impl<T: Ordered, D: Device> Shown<T, D> {
    /// Elements with many equals, behind a layout that may repeat some.
    pub(super) fn new(stream: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Result<Self, Violation> {
        let pattern = Pattern::random(rng, shape, true);
        let data: Vec<T> = (0..pattern.base_len()).map(|_| T::made(rng)).collect();
        Self::of(stream, pattern, &data)
    }
}

impl<T: Element, D: Device> Shown<T, D> {
    /// Elements in a line, behind a layout without repeats.
    pub(super) fn line(stream: &StreamHandle<D>, rng: &mut Rng, line: &[T]) -> Result<Self, Violation> {
        let pattern = Pattern::random(rng, &[line.len()], false);
        let mut data = vec![T::zeroed(); pattern.base_len()];
        pattern.picture().write(&mut data, line);
        Self::of(stream, pattern, &data)
    }

    fn of(stream: &StreamHandle<D>, pattern: Pattern, data: &[T]) -> Result<Self, Violation> {
        let shown = pattern.picture().read(data);
        Ok(Self { array: Array::from_slice(stream, &pattern.base, data)?, pattern, shown })
    }

    pub(super) fn view(&self) -> Result<ArrayView<'_, T, D>, Violation> {
        Ok(self.pattern.view(&self.array)?)
    }
}

/// A destination behind a layout without repeats; what lies beside must stay.
pub(super) struct Target<T: Element, D: Device> {
    pub(super) pattern: Pattern,
    pub(super) array: Array<T, D>,
    all: Vec<T>,
}

impl<T: Computable, D: Device> Target<T, D> {
    pub(super) fn new(stream: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Result<Self, Violation> {
        let pattern = Pattern::random(rng, shape, false);
        let all: Vec<T> = elements(5, pattern.base_len());
        Ok(Self { array: Array::from_slice(stream, &pattern.base, &all)?, pattern, all })
    }

    /// That it holds these, and beside them what it held.
    pub(super) fn holds(mut self, stream: &StreamHandle<D>, due: &[T], what: &str) -> Outcome {
        self.pattern.picture().write(&mut self.all, due);
        bits_are(&self.array.to_vec(stream)?, &self.all, what)
    }
}

/// That elements are the same to the bit.
pub(super) fn bits_are<T: Computable>(found: &[T], due: &[T], what: &str) -> Outcome {
    let bits = |of: &[T]| of.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    same(&bits(found), &bits(due), what)
}

/// The places, in C order, of the lines of a shape along an axis.
pub(super) fn lines(shape: &[usize], axis: usize) -> Vec<Vec<usize>> {
    let [outer, extent, inner] = around(shape, axis);
    let start = |line: usize| line / inner.max(1) * extent * inner + line % inner.max(1);
    (0..outer * inner).map(|line| (0..extent).map(|at| start(line) + at * inner).collect()).collect()
}

/// A shape as before, along and behind an axis.
pub(super) fn around(shape: &[usize], axis: usize) -> [usize; 3] {
    [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()]
}

/// The positions of a line in order.
pub(super) fn order_of<T: Ordered>(line: &[T], descending: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..line.len()).collect();
    order.sort_by(|&a, &b| {
        let order = line[a].order(line[b]);
        if descending { order.reverse() } else { order }
    });
    order
}

pub(super) fn number(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
