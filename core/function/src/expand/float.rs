//! Expands operations of floats.

use super::Emitter;
use crate::{
    BinaryOperation, ElementType, UnaryOperation,
    elementary::{self, Elementary},
    primitive::{Binary, Constant, Register, Unary},
};

impl Emitter {
    pub(super) fn float_unary(
        &mut self,
        operation: UnaryOperation,
        of: ElementType,
        a: Register,
    ) -> Register {
        use UnaryOperation as Op;
        match operation {
            Op::Negate => self.unary(Unary::Negate, a),
            Op::Abs => self.unary(Unary::Absolute, a),
            // A result that is rounded to an integer still fits its type.
            Op::Floor => self.unary(Unary::Floor, a),
            Op::Ceil => self.unary(Unary::Ceil, a),
            Op::Trunc => self.unary(Unary::Truncate, a),
            Op::Rint => self.unary(Unary::RoundEven, a),
            Op::Sign => self.sign(a),
            Op::Square => self.float_binary(BinaryOperation::Multiply, of, a, a),
            Op::Reciprocal => self.reciprocal(of, a),
            Op::Sqrt => {
                let root = self.unary(Unary::SquareRoot, a);
                self.rounded(of, root)
            }
            Op::Rsqrt => {
                let root = self.float_unary(Op::Sqrt, of, a);
                self.reciprocal(of, root)
            }
            Op::Sigmoid => {
                let negative = self.unary(Unary::Negate, a);
                let power = self.float_unary(Op::Exp, of, negative);
                let one = self.float(a, 1.0);
                let sum = self.float_binary(BinaryOperation::Add, of, one, power);
                self.reciprocal(of, sum)
            }
            Op::IsNan => {
                let number = self.binary(Binary::Equal, a, a);
                self.unary(Unary::Not, number)
            }
            Op::IsInf | Op::IsFinite => {
                let size = self.unary(Unary::Absolute, a);
                let infinity = self.float(a, f32::INFINITY);
                let op = if operation == Op::IsInf { Binary::Equal } else { Binary::Less };
                self.binary(op, size, infinity)
            }
            Op::Signbit => {
                let bits = self.unary(Unary::ToBits, a);
                let zero = self.integer(bits, 0);
                let negative = self.binary(Binary::LessSigned, bits, zero);
                // The canonical NaN has no sign.
                let number = self.binary(Binary::Equal, a, a);
                self.binary(Binary::And, negative, number)
            }
            _ => {
                let exact = self.elementary_unary(operation, a);
                self.rounded(of, exact)
            }
        }
    }

    pub(super) fn float_binary(
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
            Op::Divide => self.binary(Binary::Divide, a, b),
            Op::FloorDivide => self.floor_divide(of, a, b),
            // These results still fit their type.
            Op::Remainder => return self.remainder(of, a, b),
            Op::Fmod => return self.fmod(of, a, b),
            Op::Minimum | Op::Maximum => return self.extremum(operation == Op::Minimum, a, b),
            Op::Fmin | Op::Fmax => return self.extremum_of_numbers(operation == Op::Fmin, a, b),
            Op::Copysign => return self.copysign(a, b),
            _ => self.elementary_binary(operation, a, b),
        };
        self.rounded(of, wide)
    }

    fn reciprocal(&mut self, of: ElementType, a: Register) -> Register {
        let one = self.float(a, 1.0);
        self.float_binary(BinaryOperation::Divide, of, one, a)
    }

    fn sign(&mut self, a: Register) -> Register {
        let [zero, one, minus_one] = [0.0, 1.0, -1.0].map(|value| self.float(a, value));
        let (above, below) = (self.binary(Binary::Less, zero, a), self.binary(Binary::Less, a, zero));
        let is_zero = self.binary(Binary::Equal, a, zero);
        // NaN stays.
        let rest = self.select(is_zero, zero, a);
        let rest = self.select(below, minus_one, rest);
        self.select(above, one, rest)
    }

    /// The magnitude of one with the sign of another; NaN has no sign.
    pub(super) fn copysign(&mut self, size: Register, sign: Register) -> Register {
        let size = self.unary(Unary::Absolute, size);
        let (size, bits) = (self.unary(Unary::ToBits, size), self.unary(Unary::ToBits, sign));
        let mask = self.sign_bit(bits);
        let bit = self.binary(Binary::And, bits, mask);
        let number = self.binary(Binary::Equal, sign, sign);
        let none = self.integer(bits, 0);
        let bit = self.select(number, bit, none);
        let both = self.binary(Binary::Or, size, bit);
        self.unary(Unary::FromBits, both)
    }

    /// The smaller or the larger of two; −0 is smaller than +0. If the first is NaN, the second.
    fn ordered(&mut self, minimum: bool, a: Register, b: Register) -> Register {
        let (low, high) = if minimum { (a, b) } else { (b, a) };
        let first = self.binary(Binary::Less, low, high);
        let chosen = self.select(first, a, b);
        // Equal numbers may differ only in the sign of zero.
        let (a_bits, b_bits) = (self.unary(Unary::ToBits, a), self.unary(Unary::ToBits, b));
        let joined = self.binary(if minimum { Binary::Or } else { Binary::And }, a_bits, b_bits);
        let joined = self.unary(Unary::FromBits, joined);
        let equal = self.binary(Binary::Equal, a, b);
        self.select(equal, joined, chosen)
    }

    /// `minimum` and `maximum`: NaN if either is.
    fn extremum(&mut self, minimum: bool, a: Register, b: Register) -> Register {
        // If one operand is a constant that is neither zero nor NaN, one comparison is enough.
        for (x, constant) in [(a, b), (b, a)] {
            if self.is_plain_constant(constant) {
                let (low, high) = if minimum { (constant, x) } else { (x, constant) };
                let beyond = self.binary(Binary::Less, low, high);
                return self.select(beyond, constant, x);
            }
        }
        let chosen = self.ordered(minimum, a, b);
        let number = self.binary(Binary::Equal, a, a);
        self.select(number, chosen, a)
    }

    /// `fmin` and `fmax`: if one is NaN, the other.
    fn extremum_of_numbers(&mut self, minimum: bool, a: Register, b: Register) -> Register {
        let chosen = self.ordered(minimum, a, b);
        let number = self.binary(Binary::Equal, b, b);
        self.select(number, chosen, a)
    }

    fn is_plain_constant(&self, register: Register) -> bool {
        match self.builder.constant_of(register) {
            Some(Constant::F32(bits)) => f32::from_bits(bits).abs() > 0.0,
            Some(Constant::F64(bits)) => f64::from_bits(bits).abs() > 0.0,
            _ => false,
        }
    }

    /// An elementary function in the type of its operand, `f32` or `f64`.
    fn elementary_unary(&mut self, operation: UnaryOperation, a: Register) -> Register {
        self.elementary(operation.name(), &[a])
    }

    fn elementary_binary(&mut self, operation: BinaryOperation, a: Register, b: Register) -> Register {
        let name = if operation == BinaryOperation::Power { "pow" } else { operation.name() };
        self.elementary(name, &[a, b])
    }

    fn elementary(&mut self, name: &str, operands: &[Register]) -> Register {
        let known = Elementary::ALL.iter().find(|function| function.name() == name);
        // The unit tests go through all operations.
        let function = *known.unwrap_or_else(|| unreachable!("{name} is no elementary function"));
        elementary::expand(function, &mut self.builder, operands)
    }
}
