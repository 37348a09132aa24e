//! A naive form of the order, and elements with many equals.

use std::cmp::Ordering;

use devarray::{Bool, Device, StreamHandle, function::Computable};

pub(super) use crate::checks::shown::{Shown, Target, bits_are};
use crate::{Rng, Violation};

/// An element type with the order of elements.
pub(in crate::checks) trait Ordered: Computable {
    /// The order of two elements; equal elements are equal.
    fn order(self, other: Self) -> Ordering;

    /// Whether it is a NaN.
    fn is_nan(self) -> bool {
        false
    }

    /// A random element: one of a few values, or a rare one, so that many elements are equal.
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

/// Calls a function with an element type, another one in each case.
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

impl<T: Ordered, D: Device> Shown<T, D> {
    /// Elements with many equals, and with a layout that may repeat some.
    pub(super) fn new(stream: &StreamHandle<D>, rng: &mut Rng, shape: &[usize]) -> Result<Self, Violation> {
        Self::made(stream, rng, shape, T::made)
    }
}

/// For each line of a shape along an axis, the positions of its elements in C order.
pub(super) fn lines(shape: &[usize], axis: usize) -> Vec<Vec<usize>> {
    let [outer, extent, inner] = around(shape, axis);
    let start = |line: usize| line / inner.max(1) * extent * inner + line % inner.max(1);
    (0..outer * inner).map(|line| (0..extent).map(|at| start(line) + at * inner).collect()).collect()
}

/// A shape as three extents: before, along and after an axis.
pub(super) fn around(shape: &[usize], axis: usize) -> [usize; 3] {
    [shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product()]
}

/// The positions of a line's elements, sorted.
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
