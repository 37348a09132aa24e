//! The arithmetic of plain numbers of the host.

use super::{Arithmetic, Bits, Float, Value};

/// The family of `bool`, `u32`, `u64`, `f32` and `f64`. Without `RARE` it serves only arguments
/// that are not rare ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers<const RARE: bool>;

/// The family that serves every argument.
pub(crate) type Host = Numbers<true>;

impl<const RARE: bool> Arithmetic for Numbers<RARE> {
    const RARE: bool = RARE;
    type Bool = bool;
    type B32 = u32;
    type B64 = u64;
    type F32 = f32;
    type F64 = f64;

    #[inline(always)]
    fn widen(x: f32) -> f64 {
        f64::from(x)
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "rounds")]
    fn narrow(x: f64) -> f32 {
        x as f32
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half")]
    fn low(x: u64) -> u32 {
        x as u32
    }

    #[inline(always)]
    fn zero_extend(x: u32) -> u64 {
        u64::from(x)
    }

    #[inline(always)]
    fn signed_b32_to_f64(x: u32) -> f64 {
        f64::from(x.cast_signed())
    }

    #[inline(always)]
    fn signed_to_f64(x: u64) -> f64 {
        x.cast_signed() as f64
    }

    #[inline(always)]
    fn unsigned_to_f64(x: u64) -> f64 {
        x as f64
    }
}

macro_rules! values {
    ($($number:ty)*) => { $(
        impl<const RARE: bool> Value<Numbers<RARE>> for $number {
            type Literal = $number;

            #[inline(always)]
            fn constant(self, literal: $number) -> $number {
                literal
            }

            #[inline(always)]
            fn when(self, condition: bool, other: $number) -> $number {
                if condition { self } else { other }
            }

            #[inline(always)]
            #[allow(clippy::float_cmp, reason = "the comparison that is meant")]
            fn same(self, other: $number) -> bool {
                self == other
            }
        }
    )* };
}

values!(u32 u64 f32 f64);

macro_rules! bits {
    ($($bits:ident $wide:ident)*) => { $(
        impl<const RARE: bool> Bits<Numbers<RARE>> for $bits {
            #[inline(always)]
            fn plus(self, other: $bits) -> $bits {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: $bits) -> $bits {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: $bits) -> $bits {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the high half")]
            fn times_high(self, other: $bits) -> $bits {
                (($wide::from(self) * $wide::from(other)) >> $bits::BITS) as $bits
            }

            #[inline(always)]
            fn shift_left(self, distance: u32) -> $bits {
                self.wrapping_shl(distance)
            }

            #[inline(always)]
            fn shift_right(self, distance: u32) -> $bits {
                self.wrapping_shr(distance)
            }

            #[inline(always)]
            fn shl(self, distance: u32) -> $bits {
                self.wrapping_shl(distance)
            }

            #[inline(always)]
            fn shr(self, distance: u32) -> $bits {
                self.wrapping_shr(distance)
            }

            #[inline(always)]
            fn shr_signed(self, distance: u32) -> $bits {
                self.cast_signed().wrapping_shr(distance).cast_unsigned()
            }

            #[inline(always)]
            fn less_signed(self, other: $bits) -> bool {
                self.cast_signed() < other.cast_signed()
            }

            #[inline(always)]
            fn less_unsigned(self, other: $bits) -> bool {
                self < other
            }
        }
    )* };
}

bits!(u32 u64 u64 u128);

macro_rules! floats {
    ($($float:ident $bits:ident)*) => { $(
        impl<const RARE: bool> Float<Numbers<RARE>> for $float {
            type Bits = $bits;

            #[inline(always)]
            fn over(self, other: $float) -> $float {
                self / other
            }

            #[inline(always)]
            fn fma(self, b: $float, c: $float) -> $float {
                self.mul_add(b, c)
            }

            #[inline(always)]
            fn magnitude(self) -> $float {
                self.abs()
            }

            #[inline(always)]
            fn square_root(self) -> $float {
                self.sqrt()
            }

            #[inline(always)]
            fn towards_zero(self) -> $float {
                self.trunc()
            }

            #[inline(always)]
            fn less(self, other: $float) -> bool {
                self < other
            }

            #[inline(always)]
            fn less_or_same(self, other: $float) -> bool {
                self <= other
            }

            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }

            #[inline(always)]
            fn of_bits(bits: $bits) -> $float {
                $float::from_bits(bits)
            }
        }
    )* };
}

floats!(f32 u32 f64 u64);
