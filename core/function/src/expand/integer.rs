//! Expands operations of integers. Everything wraps, and divisions do not trap.

use super::Emitter;
use crate::{
    BinaryOperation, ElementType, UnaryOperation,
    primitive::{Binary, Register, RegisterType, Unary},
};

impl Emitter {
    pub(super) fn integer_unary(
        &mut self,
        operation: UnaryOperation,
        of: ElementType,
        a: Register,
    ) -> Register {
        use UnaryOperation as Op;
        let zero = self.integer(a, 0);
        let wide = match operation {
            Op::Negate => self.binary(Binary::Subtract, zero, a),
            Op::Abs if !of.is_signed() => return a,
            Op::Abs => {
                let negative = self.binary(Binary::Subtract, zero, a);
                let below = self.less(of, a, zero);
                self.select(below, negative, a)
            }
            Op::Sign => {
                let (one, minus_one) = (self.integer(a, 1), self.integer(a, -1));
                let above = self.less(of, zero, a);
                let rest = if of.is_signed() {
                    let below = self.less(of, a, zero);
                    self.select(below, minus_one, zero)
                } else {
                    zero
                };
                return self.select(above, one, rest);
            }
            Op::Square => self.binary(Binary::Multiply, a, a),
            // Bits are counted in two's complement, in the type's own width. The builder refuses
            // all other operations.
            _ => {
                let bits = match of {
                    ElementType::I8 => self.narrowed(ElementType::U8, a),
                    ElementType::I16 => self.narrowed(ElementType::U16, a),
                    _ => a,
                };
                let count = self.unary(Unary::CountOnes, bits);
                return self.as_wide_as(a, count);
            }
        };
        self.narrowed(of, wide)
    }

    pub(super) fn integer_binary(
        &mut self,
        operation: BinaryOperation,
        of: ElementType,
        a: Register,
        b: Register,
    ) -> Register {
        use BinaryOperation as Op;
        let wide = match operation {
            Op::Add => self.binary(Binary::Add, a, b),
            Op::Subtract => self.binary(Binary::Subtract, a, b),
            Op::Multiply => self.binary(Binary::Multiply, a, b),
            Op::Power => self.integer_power(of, a, b),
            Op::FloorDivide => self.divided(of, a, b, Rounding::Floor).0,
            Op::Remainder => self.divided(of, a, b, Rounding::Floor).1,
            Op::Fmod => self.divided(of, a, b, Rounding::Truncate).1,
            Op::Minimum | Op::Fmin => {
                let less = self.less(of, a, b);
                return self.select(less, a, b);
            }
            Op::Maximum | Op::Fmax => {
                let less = self.less(of, a, b);
                return self.select(less, b, a);
            }
            Op::MultiplyHigh => return self.multiplied_high(of, a, b),
            Op::ShiftLeft => self.shifted_left(of, a, b),
            _ => return self.shifted_right(of, a, b),
        };
        self.narrowed(of, wide)
    }

    /// Extends a `B32` by zeros to the width of another register.
    fn as_wide_as(&mut self, like: Register, a: Register) -> Register {
        match self.builder.type_of(like) {
            RegisterType::B64 => self.unary(Unary::ZeroExtend, a),
            _ => a,
        }
    }

    /// The high half of the product of two unsigned numbers.
    fn multiplied_high(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        let width = u32::try_from(of.len_bytes() * 8).unwrap_or(64);
        if width >= 32 {
            return self.binary(Binary::MultiplyHigh, a, b);
        }
        let (product, width) = (self.binary(Binary::Multiply, a, b), self.b32(width));
        self.binary(Binary::ShiftRight, product, width)
    }

    /// Quotient and remainder. Both are 0 if the divisor is 0.
    fn divided(
        &mut self,
        of: ElementType,
        a: Register,
        b: Register,
        rounding: Rounding,
    ) -> (Register, Register) {
        let [zero, one] = [0, 1].map(|value| self.integer(a, value));
        let by_zero = self.equal(of, b, zero);
        if !of.is_signed() {
            let divisor = self.select(by_zero, one, b);
            let quotient = self.binary(Binary::DivideUnsigned, a, divisor);
            let remainder = self.binary(Binary::RemainderUnsigned, a, divisor);
            return (self.select(by_zero, zero, quotient), self.select(by_zero, zero, remainder));
        }
        // MIN / −1 does not fit. Division by −1 is a negation, which wraps.
        let minus_one = self.integer(a, -1);
        let by_minus_one = self.equal(of, b, minus_one);
        let special = self.binary(Binary::Or, by_zero, by_minus_one);
        let divisor = self.select(special, one, b);
        let quotient = self.binary(Binary::DivideSigned, a, divisor);
        let remainder = self.binary(Binary::RemainderSigned, a, divisor);
        let negated = self.binary(Binary::Subtract, zero, a);
        let quotient = self.select(by_minus_one, negated, quotient);
        let quotient = self.select(by_zero, zero, quotient);
        let remainder = self.select(special, zero, remainder);
        if let Rounding::Truncate = rounding {
            return (quotient, remainder);
        }
        // If remainder and divisor differ in sign, the floor of the quotient is one lower.
        let signs = self.binary(Binary::Xor, remainder, b);
        let opposite = self.less(of, signs, zero);
        let exact = self.equal(of, remainder, zero);
        let inexact = self.unary(Unary::Not, exact);
        let below = self.binary(Binary::And, opposite, inexact);
        let lower = self.binary(Binary::Subtract, quotient, one);
        let moved = self.binary(Binary::Add, remainder, b);
        (self.select(below, lower, quotient), self.select(below, moved, remainder))
    }

    /// The distance in `B32`, and whether it is below the type's width. Negative distances are not.
    fn distance(&mut self, of: ElementType, b: Register) -> (Register, Register) {
        let width = self.integer(b, i64::try_from(of.len_bytes() * 8).unwrap_or(64));
        let inside = self.binary(Binary::LessUnsigned, b, width);
        let low = match self.builder.type_of(b) {
            RegisterType::B64 => self.unary(Unary::Wrap, b),
            _ => b,
        };
        (low, inside)
    }

    fn shifted_left(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        let (distance, inside) = self.distance(of, b);
        let (zero, nothing) = (self.b32(0), self.integer(a, 0));
        let safe = self.select(inside, distance, zero);
        let shifted = self.binary(Binary::ShiftLeft, a, safe);
        self.select(inside, shifted, nothing)
    }

    fn shifted_right(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        let (distance, inside) = self.distance(of, b);
        if of.is_signed() {
            // A shift by the width minus one leaves only the sign.
            let most = self.b32(u32::try_from(of.len_bytes() * 8 - 1).unwrap_or(63));
            let safe = self.select(inside, distance, most);
            return self.binary(Binary::ShiftRightSigned, a, safe);
        }
        let (zero, nothing) = (self.b32(0), self.integer(a, 0));
        let safe = self.select(inside, distance, zero);
        let shifted = self.binary(Binary::ShiftRight, a, safe);
        self.select(inside, shifted, nothing)
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Floor,
    Truncate,
}
