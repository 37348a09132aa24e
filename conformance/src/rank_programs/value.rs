//! Types of elements, and their combinations by Rust's own operators.

use devarray::{collective::Combination, function::Number};

use crate::Rng;

/// A type of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    F32,
    F64,
    U8,
    I32,
    U64,
}

impl Kind {
    pub(super) const ALL: [Self; 5] = [Self::F32, Self::F64, Self::U8, Self::I32, Self::U64];

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// A type of elements, with what is due of it.
pub(super) trait Value: Number + Copy + Default {
    fn drawn(rng: &mut Rng) -> Self;

    fn bits(self) -> u64;

    fn combined(self, other: Self, combination: Combination) -> Self;

    /// The quotient by a number of ranks.
    fn divided(self, ranks: usize) -> Self;
}

macro_rules! floats {
    ($($type:ident)*) => { $(
        impl Value for $type {
            fn drawn(rng: &mut Rng) -> Self {
                let size = 1.0 / (1 + rng.below(101)) as $type;
                match rng.below(40) {
                    0 => 0.0,
                    1 => -0.0,
                    2 => $type::INFINITY,
                    3 => $type::NAN,
                    4..20 => -size,
                    _ => size,
                }
            }

            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            fn combined(self, other: Self, combination: Combination) -> Self {
                // −0 is less than +0.
                let is_less = |one: Self, two: Self| one < two || (one == two && one.is_sign_negative());
                let found = match combination {
                    Combination::Product => self * other,
                    Combination::Minimum | Combination::Maximum if self.is_nan() || other.is_nan() => $type::NAN,
                    Combination::Minimum => if is_less(self, other) { self } else { other },
                    Combination::Maximum => if is_less(self, other) { other } else { self },
                    _ => self + other,
                };
                // A stored NaN is the canonical one.
                if found.is_nan() { $type::NAN } else { found }
            }

            fn divided(self, ranks: usize) -> Self {
                let found = self / ranks as $type;
                if found.is_nan() { $type::NAN } else { found }
            }
        }
    )* };
}

macro_rules! integers {
    ($($type:ident)*) => { $(
        impl Value for $type {
            fn drawn(rng: &mut Rng) -> Self {
                let bytes = rng.bits().to_le_bytes();
                Self::from_le_bytes(std::array::from_fn(|at| bytes[at]))
            }

            fn bits(self) -> u64 {
                let mut bytes = [0; 8];
                bytes[..size_of::<Self>()].copy_from_slice(&self.to_le_bytes());
                u64::from_le_bytes(bytes)
            }

            fn combined(self, other: Self, combination: Combination) -> Self {
                match combination {
                    Combination::Product => self.wrapping_mul(other),
                    Combination::Minimum => self.min(other),
                    Combination::Maximum => self.max(other),
                    _ => self.wrapping_add(other),
                }
            }

            fn divided(self, _: usize) -> Self {
                self
            }
        }
    )* };
}

floats!(f32 f64);
integers!(u8 i32 u64);
