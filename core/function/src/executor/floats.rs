//! Operations of `f32` and `f64`. Where a result is stored, its NaNs become canonical.

use bytemuck::Pod;

use crate::{BinaryOperation, UnaryOperation};

/// A float type. The operation is a constant, so that each loop has a single operation.
pub(super) trait Real: Pod + PartialOrd {
    const NAN: Self;

    fn unary<const OP: u8>(self) -> Self;

    fn test<const OP: u8>(self) -> bool;

    fn binary<const OP: u8>(self, b: Self) -> Self;

    /// The remainder with the sign of the dividend, if [`divides_in_one`](Self::divides_in_one).
    fn fmod_in_one(self, b: Self) -> Self;

    /// Whether the quotient is so small that [`fmod_in_one`](Self::fmod_in_one) is exact.
    fn divides_in_one(self, b: Self) -> bool;

    fn fmod(self, b: Self) -> Self;

    /// `%`, where `modulo` is the remainder with the sign of the dividend, and `sum` is that plus
    /// `b`.
    fn remainder(modulo: Self, b: Self, sum: Self) -> Self;

    /// `//`, where `modulo` is the remainder with the sign of the dividend.
    fn floor_divide(self, b: Self, modulo: Self) -> Self;

    fn fma(self, b: Self, c: Self) -> Self;

    /// `self * b + c`, rounded twice.
    fn multiply_add(self, b: Self, c: Self) -> Self;
}

macro_rules! floats {
    ($($type:ident $bits:ident;)*) => {$(
        #[allow(clippy::float_cmp, reason = "the comparisons that are meant")]
        impl Real for $type {
            const NAN: Self = $type::NAN;

            #[inline(always)]
            fn unary<const OP: u8>(self) -> Self {
                use UnaryOperation as Op;
                match OP {
                    op if op == Op::Negate as u8 => -self,
                    op if op == Op::Abs as u8 => self.abs(),
                    op if op == Op::Sign as u8 => {
                        // NaN stays.
                        let rest = if self == 0.0 { 0.0 } else { self };
                        let rest = if self < 0.0 { -1.0 } else { rest };
                        if self > 0.0 { 1.0 } else { rest }
                    }
                    op if op == Op::Square as u8 => self * self,
                    op if op == Op::Reciprocal as u8 => 1.0 / self,
                    op if op == Op::Sqrt as u8 => self.sqrt(),
                    op if op == Op::Floor as u8 => self.floor(),
                    op if op == Op::Ceil as u8 => self.ceil(),
                    op if op == Op::Trunc as u8 => self.trunc(),
                    op if op == Op::Rint as u8 => self.round_ties_even(),
                    _ => self,
                }
            }

            #[inline(always)]
            fn test<const OP: u8>(self) -> bool {
                use UnaryOperation as Op;
                match OP {
                    op if op == Op::IsNan as u8 => self != self,
                    op if op == Op::IsInf as u8 => self.abs() == $type::INFINITY,
                    op if op == Op::IsFinite as u8 => self.abs() < $type::INFINITY,
                    // The canonical NaN has no sign.
                    _ => (self.to_bits() >> ($bits::BITS - 1) == 1) & (self == self),
                }
            }

            #[inline(always)]
            fn binary<const OP: u8>(self, b: Self) -> Self {
                use BinaryOperation as Op;
                let a = self;
                let sign = 1 << ($bits::BITS - 1);
                match OP {
                    op if op == Op::Add as u8 => a + b,
                    op if op == Op::Subtract as u8 => a - b,
                    op if op == Op::Multiply as u8 => a * b,
                    op if op == Op::Divide as u8 => a / b,
                    // Equal numbers may differ only in the sign of zero.
                    op if op == Op::Minimum as u8 || op == Op::Fmin as u8 => {
                        let chosen = if a < b { a } else { b };
                        let chosen = if a == b { $type::from_bits(a.to_bits() | b.to_bits()) } else { chosen };
                        let other = if OP == Op::Fmin as u8 { b != b } else { a != a };
                        if other { a } else { chosen }
                    }
                    op if op == Op::Maximum as u8 || op == Op::Fmax as u8 => {
                        let chosen = if b < a { a } else { b };
                        let chosen = if a == b { $type::from_bits(a.to_bits() & b.to_bits()) } else { chosen };
                        let other = if OP == Op::Fmax as u8 { b != b } else { a != a };
                        if other { a } else { chosen }
                    }
                    op if op == Op::Copysign as u8 => {
                        let bit = if b == b { b.to_bits() & sign } else { 0 };
                        $type::from_bits(a.to_bits() & !sign | bit)
                    }
                    _ => a,
                }
            }

            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_lossless,
                clippy::unnecessary_cast,
                reason = "exact: a remainder has no more bits than its divisor, and one source for both types"
            )]
            fn fmod_in_one(self, b: Self) -> Self {
                let (size, divisor) = (self.abs() as f64, b.abs() as f64);
                let whole = (size / divisor).trunc();
                let rest = (-whole).mul_add(divisor, size);
                // The quotient may have been rounded up to the next integer.
                let rest = if rest < 0.0 { rest + divisor } else { rest };
                let rest = if size < divisor { size } else { rest };
                (rest as $type).copysign(self)
            }

            #[inline(always)]
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "one source for both types")]
            fn divides_in_one(self, b: Self) -> bool {
                // False if `b` is 0, if `self` is infinite, and for NaN. With an infinite `b` the result is
                // `self`.
                $bits::BITS == 32 && (self.abs() as f64) < (b.abs() as f64) * 1_125_899_906_842_624.0
            }

            #[inline(always)]
            fn fmod(self, b: Self) -> Self {
                self % b
            }

            #[inline(always)]
            fn remainder(modulo: Self, b: Self, sum: Self) -> Self {
                let below = (modulo < 0.0) != (b < 0.0);
                let zero = (0.0 as $type).binary::<{ BinaryOperation::Copysign as u8 }>(b);
                let rest = if below { sum } else { modulo };
                if modulo == 0.0 { zero } else { rest }
            }

            #[inline(always)]
            fn floor_divide(self, b: Self, modulo: Self) -> Self {
                let below = ((modulo < 0.0) != (b < 0.0)) & (modulo != 0.0);
                // The quotient is nearly an integer, and is rounded to the nearest.
                let quotient = (self - modulo) / b;
                let quotient = if below { quotient - 1.0 } else { quotient };
                let floor = quotient.floor();
                let snapped = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
                let plain = self / b;
                let zero = (0.0 as $type).binary::<{ BinaryOperation::Copysign as u8 }>(plain);
                let result = if quotient == 0.0 { zero } else { snapped };
                if b == 0.0 { plain } else { result }
            }

            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }

            #[inline(always)]
            fn multiply_add(self, b: Self, c: Self) -> Self {
                self * b + c
            }
        }
    )*};
}

floats! {
    f32 u32;
    f64 u64;
}
