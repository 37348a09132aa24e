//! Expands `**` of integers.

use super::Emitter;
use crate::{
    ElementType,
    primitive::{Binary, Register},
};

impl Emitter {
    /// The power, which wraps. A negative exponent gives 0, except with the bases 1 and −1, where
    /// the value is exact.
    pub(super) fn integer_power(&mut self, of: ElementType, base: Register, exponent: Register) -> Register {
        let [zero, one] = [0, 1].map(|value| self.integer(base, value));
        let width = of.len_bytes() * 8;
        let (mut result, mut power) = (one, base);
        for bit in 0..width - 1 {
            let mask = self.integer(exponent, 1 << bit);
            let masked = self.binary(Binary::And, exponent, mask);
            let clear = self.equal(of, masked, zero);
            let factor = self.select(clear, one, power);
            result = self.binary(Binary::Multiply, result, factor);
            let square = self.binary(Binary::Multiply, power, power);
            power = self.narrowed(of, square);
        }
        if !of.is_signed() {
            let mask = self.integer(exponent, 1 << (width - 1));
            let masked = self.binary(Binary::And, exponent, mask);
            let clear = self.equal(of, masked, zero);
            let factor = self.select(clear, one, power);
            return self.binary(Binary::Multiply, result, factor);
        }
        let minus_one = self.integer(base, -1);
        let low = self.binary(Binary::And, exponent, one);
        let even = self.equal(of, low, zero);
        let alternating = self.select(even, one, minus_one);
        let (is_one, is_minus_one) = (self.equal(of, base, one), self.equal(of, base, minus_one));
        let inverse = self.select(is_minus_one, alternating, zero);
        let inverse = self.select(is_one, one, inverse);
        let negative = self.less(of, exponent, zero);
        self.select(negative, inverse, result)
    }
}
