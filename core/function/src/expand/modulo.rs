//! Expands `fmod`, `%` and `//` of floats, exactly.

use super::Emitter;
use crate::{
    ElementType,
    primitive::{Binary, Register, Unary},
};

/// The number of bits of the quotient that one step removes. The estimate of the quotient is then
/// wrong by less than a quarter, so the remainder is at most three quarters of the divisor, and
/// exact in `f64`.
const STEP_BITS: u32 = 50;

impl Emitter {
    /// `%`: the remainder with the sign of the divisor, as in NumPy.
    pub(super) fn remainder(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        let modulo = self.fmod(of, a, b);
        let (is_zero, below) = self.other_side(modulo, b);
        let zero = self.float(b, 0.0);
        let signed_zero = self.copysign(zero, b);
        let sum = self.binary(Binary::Add, modulo, b);
        let sum = self.rounded(of, sum);
        let result = self.select(below, sum, modulo);
        self.select(is_zero, signed_zero, result)
    }

    /// `//`: NumPy's `floor_divide`.
    pub(super) fn floor_divide(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        let [zero, half, one] = [0.0, 0.5, 1.0].map(|value| self.float(a, value));
        let modulo = self.fmod(of, a, b);
        let (_, below) = self.other_side(modulo, b);
        // The quotient is nearly an integer, and is rounded to the nearest.
        let multiple = self.binary(Binary::Subtract, a, modulo);
        let quotient = self.binary(Binary::Divide, multiple, b);
        let lower = self.binary(Binary::Subtract, quotient, one);
        let quotient = self.select(below, lower, quotient);
        let floor = self.unary(Unary::Floor, quotient);
        let rest = self.binary(Binary::Subtract, quotient, floor);
        let above = self.binary(Binary::Less, half, rest);
        let higher = self.binary(Binary::Add, floor, one);
        let snapped = self.select(above, higher, floor);
        let plain = self.binary(Binary::Divide, a, b);
        let signed_zero = self.copysign(zero, plain);
        let is_zero = self.binary(Binary::Equal, quotient, zero);
        let result = self.select(is_zero, signed_zero, snapped);
        let by_zero = self.binary(Binary::Equal, b, zero);
        self.select(by_zero, plain, result)
    }

    /// Whether a remainder is zero, and whether its sign differs from the divisor's.
    fn other_side(&mut self, modulo: Register, b: Register) -> (Register, Register) {
        let zero = self.float(b, 0.0);
        let is_zero = self.binary(Binary::Equal, modulo, zero);
        let (negative, b_negative) =
            (self.binary(Binary::Less, modulo, zero), self.binary(Binary::Less, b, zero));
        let differ = self.binary(Binary::Xor, negative, b_negative);
        let nonzero = self.unary(Unary::Not, is_zero);
        (is_zero, self.binary(Binary::And, differ, nonzero))
    }

    /// The remainder with the sign of the dividend.
    pub(super) fn fmod(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        let (size, divisor) = (self.unary(Unary::Absolute, a), self.unary(Unary::Absolute, b));
        let rest = if of == ElementType::F64 {
            self.modulo_f64(size, divisor)
        } else {
            // The largest quotient of f16 is below 2^41, and the largest of the other types is
            // below 2^278.
            let steps = if of == ElementType::F16 { 1 } else { 6 };
            self.modulo_f32(steps, size, divisor)
        };
        let smaller = self.binary(Binary::Less, size, divisor);
        let rest = self.select(smaller, size, rest);
        let (zero, infinity) = (self.float(a, 0.0), self.float(a, f32::INFINITY));
        let finite = self.binary(Binary::Less, size, infinity);
        let divides = self.binary(Binary::Less, zero, divisor);
        let defined = self.binary(Binary::And, finite, divides);
        let nan = self.float(a, f32::NAN);
        let rest = self.select(defined, rest, nan);
        let (bits, a_bits) = (self.unary(Unary::ToBits, rest), self.unary(Unary::ToBits, a));
        let mask = self.sign_bit(a_bits);
        let sign = self.binary(Binary::And, a_bits, mask);
        let signed = self.binary(Binary::Or, bits, sign);
        self.unary(Unary::FromBits, signed)
    }

    /// The remainder of positive `f32`, computed in `f64`, whose exponents leave room for all multiples of
    /// the divisor.
    fn modulo_f32(&mut self, steps: u32, size: Register, divisor: Register) -> Register {
        let (mut rest, divisor) = (self.unary(Unary::Widen, size), self.unary(Unary::Widen, divisor));
        let (one, minus) = (self.f64(1.0), self.unary(Unary::Negate, divisor));
        let inverse = self.binary(Binary::Divide, one, divisor);
        for step in (0..steps).rev() {
            let exponent = i32::try_from(step * STEP_BITS).unwrap_or(0);
            let (up, down) = (self.f64(2.0_f64.powi(exponent)), self.f64(2.0_f64.powi(-exponent)));
            let multiple = self.binary(Binary::Multiply, minus, up);
            let share = self.binary(Binary::Multiply, inverse, down);
            rest = self.reduced(rest, multiple, share);
        }
        let rest = self.made_positive(rest, divisor);
        self.unary(Unary::Narrow, rest)
    }

    /// The remainder, of either sign, after subtracting the nearest multiple of a divisor, which is
    /// given by its negative and its inverse.
    fn reduced(&mut self, rest: Register, minus: Register, inverse: Register) -> Register {
        let quotient = self.binary(Binary::Multiply, rest, inverse);
        let quotient = self.unary(Unary::RoundEven, quotient);
        self.builder.fma(quotient, minus, rest)
    }

    fn made_positive(&mut self, rest: Register, divisor: Register) -> Register {
        let zero = self.f64(0.0);
        let negative = self.binary(Binary::Less, rest, zero);
        let sum = self.binary(Binary::Add, rest, divisor);
        self.select(negative, sum, rest)
    }

    /// The remainder of positive `f64`: the fraction of the dividend is moved up step by step, by the
    /// difference of the exponents.
    fn modulo_f64(&mut self, size: Register, divisor: Register) -> Register {
        let (mut rest, a_exponent) = self.fraction(size);
        let (fraction, exponent) = self.fraction(divisor);
        let (zero, one) = (self.b32(0), self.f64(1.0));
        let distance = self.binary(Binary::Subtract, a_exponent, exponent);
        let behind = self.binary(Binary::LessSigned, distance, zero);
        let distance = self.select(behind, zero, distance);
        // Distances are below 2098, where this multiplication and shift divide by 50.
        let (factor, places, step) = (self.b32(1311), self.b32(16), self.b32(STEP_BITS));
        let product = self.binary(Binary::Multiply, distance, factor);
        let steps = self.binary(Binary::ShiftRight, product, places);
        let whole = self.binary(Binary::Multiply, steps, step);
        let first = self.binary(Binary::Subtract, distance, whole);
        let scale = self.power_of_two(first);
        rest = self.binary(Binary::Multiply, rest, scale);
        let inverse = self.binary(Binary::Divide, one, fraction);
        let minus = self.unary(Unary::Negate, fraction);
        rest = self.reduced(rest, minus, inverse);
        let up = self.f64(2.0_f64.powi(50));
        for step in 0..2098 / STEP_BITS {
            let step = self.b32(step);
            let goes_on = self.binary(Binary::LessUnsigned, step, steps);
            let moved = self.binary(Binary::Multiply, rest, up);
            let less = self.reduced(moved, minus, inverse);
            rest = self.select(goes_on, less, rest);
        }
        rest = self.made_positive(rest, fraction);
        // The power of two has two factors, because a single one could be below all normal numbers.
        // The remainder is exact: it is a multiple of the smaller unit of the two operands.
        let one = self.b32(1);
        let half = self.binary(Binary::ShiftRightSigned, exponent, one);
        let other = self.binary(Binary::Subtract, exponent, half);
        let (half, other) = (self.power_of_two(half), self.power_of_two(other));
        let rest = self.binary(Binary::Multiply, rest, half);
        self.binary(Binary::Multiply, rest, other)
    }

    /// Splits a positive number into a fraction in 1..2 and an exponent of 2.
    fn fraction(&mut self, a: Register) -> (Register, Register) {
        let (least, up) = (self.f64(f64::MIN_POSITIVE), self.f64(2.0_f64.powi(54)));
        let tiny = self.binary(Binary::Less, a, least);
        let moved = self.binary(Binary::Multiply, a, up);
        let normal = self.select(tiny, moved, a);
        let (bias, moved_bias) = (self.b32(1023), self.b32(1023 + 54));
        let bias = self.select(tiny, moved_bias, bias);
        let bits = self.unary(Unary::ToBits, normal);
        let places = self.b32(52);
        let field = self.binary(Binary::ShiftRight, bits, places);
        let field = self.unary(Unary::Wrap, field);
        let exponent = self.binary(Binary::Subtract, field, bias);
        let (mask, one) = (self.integer(bits, (1 << 52) - 1), self.integer(bits, 1023 << 52));
        let fraction = self.binary(Binary::And, bits, mask);
        let fraction = self.binary(Binary::Or, fraction, one);
        (self.unary(Unary::FromBits, fraction), exponent)
    }

    /// 2 to the power of an exponent of normal numbers.
    fn power_of_two(&mut self, exponent: Register) -> Register {
        let (bias, places) = (self.b32(1023), self.b32(52));
        let field = self.binary(Binary::Add, exponent, bias);
        let field = self.unary(Unary::ZeroExtend, field);
        let bits = self.binary(Binary::ShiftLeft, field, places);
        self.unary(Unary::FromBits, bits)
    }
}
