//! The naive form of an element of a product, by its definition.

use devarray::function::Number;

use crate::{Rng, checks::reductions::total};

/// The number of products in one chain.
const CHAIN: usize = 4096;

/// An element type with its definition of products.
pub(super) trait Multiplied: Number {
    /// The element of a row and a column.
    fn element(row: &[Self], column: &[Self]) -> Self;

    /// The element, with a first chain that starts from a number.
    fn element_onto(start: Self, row: &[Self], column: &[Self]) -> Self;

    /// `alpha * y + beta * c`, with each operation rounded.
    fn combined(alpha: Self, y: Self, beta: Self, c: Self) -> Self;

    /// A random element: products of such elements are rounded or wrap, or the element is a rare
    /// value.
    fn made(rng: &mut Rng) -> Self;
}

macro_rules! whole {
    ($($of:ident)*) => {$(
        impl Multiplied for $of {
            fn element(row: &[Self], column: &[Self]) -> Self {
                let products = row.iter().zip(column).map(|(&a, &b)| a.wrapping_mul(b));
                products.fold(0, Self::wrapping_add)
            }

            fn element_onto(start: Self, row: &[Self], column: &[Self]) -> Self {
                start.wrapping_add(Self::element(row, column))
            }

            fn combined(alpha: Self, y: Self, beta: Self, c: Self) -> Self {
                alpha.wrapping_mul(y).wrapping_add(beta.wrapping_mul(c))
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_lossless)]
            fn made(rng: &mut Rng) -> Self {
                if rng.below(2) == 0 { rng.below(20) as Self } else { rng.bits() as Self }
            }
        }
    )*};
}

whole!(i8 u8 i16 i32 u32 i64 u64);

macro_rules! floats {
    ($($of:ident: $nan:literal;)*) => {$(
        impl Multiplied for $of {
            fn element(row: &[Self], column: &[Self]) -> Self {
                Self::element_onto(0.0, row, column)
            }

            fn element_onto(start: Self, row: &[Self], column: &[Self]) -> Self {
                let mut start = Some(start);
                let chain = |(row, column): (&[Self], &[Self])| {
                    let start = start.take().unwrap_or(0.0);
                    row.iter().zip(column).fold(start, |y, (&a, &b)| a.mul_add(b, y))
                };
                let chains: Vec<Self> = row.chunks(CHAIN).zip(column.chunks(CHAIN)).map(chain).collect();
                let sum = match chains[..] {
                    [] => 0.0,
                    [one] => one,
                    _ => total(&chains, |a, b| a + b).map_or(0.0, |sum| 0.0 + sum),
                };
                if sum.is_nan() { Self::from_bits($nan) } else { sum }
            }

            fn combined(alpha: Self, y: Self, beta: Self, c: Self) -> Self {
                let sum = alpha * y + beta * c;
                if sum.is_nan() { Self::from_bits($nan) } else { sum }
            }

            fn made(rng: &mut Rng) -> Self {
                let steps = rng.below(2000) as Self;
                let rare = [0.0, -0.0, 1.0, -1.0, Self::from_bits(3), Self::MIN_POSITIVE, 1e30, -1e-30];
                if rng.below(4) == 0 { rare[rng.below(rare.len())] } else { (steps - 1000.0) / 7.0 }
            }
        }
    )*};
}

floats! {
    f32: 0x7fc0_0000;
    f64: 0x7ff8_0000_0000_0000;
}
