//! Expands functions to primitives. Operations above primitives are written here once, for all
//! backends.
//!
//! A value is held in a register by the rules of [`primitive`](super::primitive). Halves are
//! different: they are held as an `f32` of the same value, and rounded after every operation that
//! could leave their type.

mod cast;
pub(super) mod cost;
mod emitter;
mod float;
mod integer;
mod modulo;
mod power;

use super::{
    BinaryOperation, ElementType, Function, Operation, UnaryOperation, Value,
    primitive::{Binary, Instruction, Program, Register, Unary},
};
use emitter::Emitter;

impl Function {
    /// The function in primitives, for backends.
    #[must_use]
    pub fn expand(&self) -> Program {
        self.expand_with(true)
    }

    /// Like [`expand`](Self::expand), for elements that are combined instead of stored. A NaN may have
    /// any bits: the outcome is then NaN too, and is made canonical when it is stored.
    pub(super) fn expand_combined(&self) -> Program {
        self.expand_with(!matches!(self.result_type(), ElementType::F32 | ElementType::F64))
    }

    fn expand_with(&self, is_stored: bool) -> Program {
        let mut emitter = Emitter::new(self.inputs(), self.scalars());
        let mut registers: Vec<Register> = Vec::with_capacity(self.nodes().len());
        for node in self.nodes() {
            let at = |value: Value| (self.nodes()[value.index()].element_type(), registers[value.index()]);
            let register = expand(&mut emitter, node.operation(), node.element_type(), at);
            registers.push(register);
        }
        let (result_type, result) = (self.result_type(), registers[self.result().index()]);
        let result = if is_stored { emitter.stored(result_type, result) } else { result };
        let program = emitter.builder.finish(result, result_type);
        #[cfg(feature = "executor")]
        let program = program.with_written(Some(super::executor::written(self, is_stored)));
        program
    }
}

fn expand(
    emitter: &mut Emitter,
    operation: Operation,
    result: ElementType,
    at: impl Fn(Value) -> (ElementType, Register),
) -> Register {
    match operation {
        Operation::Input(number) => {
            let register = emitter.builder.push(Instruction::Input(number));
            emitter.loaded(result, register)
        }
        Operation::Scalar(number) => {
            let register = emitter.builder.push(Instruction::Scalar(number));
            emitter.loaded(result, register)
        }
        Operation::Position(axis) => emitter.builder.push(Instruction::Position(axis)),
        Operation::Constant(bits) => {
            let register = emitter.element(result, bits);
            emitter.loaded(result, register)
        }
        Operation::Unary(operation, a) => unary(emitter, operation, at(a)),
        Operation::Binary(operation, a, b) => {
            let ((of, a), (_, b)) = (at(a), at(b));
            binary(emitter, operation, of, a, b)
        }
        Operation::Fma(a, b, c) => {
            let [a, b, c] = [a, b, c].map(|value| at(value).1);
            let sum = emitter.builder.fma(a, b, c);
            emitter.rounded(result, sum)
        }
        Operation::Clip(x, low, high) => {
            let [x, low, high] = [x, low, high].map(|value| at(value).1);
            let above = binary(emitter, BinaryOperation::Maximum, result, x, low);
            binary(emitter, BinaryOperation::Minimum, result, above, high)
        }
        Operation::Where(condition, a, b) => emitter.builder.select(at(condition).1, at(a).1, at(b).1),
        Operation::Cast(a) => {
            let (from, a) = at(a);
            emitter.cast(from, result, a)
        }
        Operation::Bitcast(a) => {
            let (from, a) = at(a);
            emitter.bitcast(from, result, a)
        }
    }
}

fn unary(emitter: &mut Emitter, operation: UnaryOperation, (of, a): (ElementType, Register)) -> Register {
    match operation {
        _ if of.is_float() => emitter.float_unary(operation, of, a),
        UnaryOperation::Not => {
            let turned = emitter.unary(Unary::Not, a);
            emitter.narrowed(of, turned)
        }
        _ => emitter.integer_unary(operation, of, a),
    }
}

fn binary(
    emitter: &mut Emitter,
    operation: BinaryOperation,
    of: ElementType,
    a: Register,
    b: Register,
) -> Register {
    use BinaryOperation as Op;
    // Only a few comparisons are primitives; the others are made from them. This holds for floats too:
    // all comparisons with NaN are false, except `!=`.
    match operation {
        Op::NotEqual => {
            let equal = emitter.equal(of, a, b);
            emitter.unary(Unary::Not, equal)
        }
        Op::Equal => emitter.equal(of, a, b),
        Op::Less => emitter.less(of, a, b),
        Op::Greater => emitter.less(of, b, a),
        Op::LessEqual => emitter.less_equal(of, a, b),
        Op::GreaterEqual => emitter.less_equal(of, b, a),
        Op::And => emitter.binary(Binary::And, a, b),
        Op::Or => emitter.binary(Binary::Or, a, b),
        Op::Xor => emitter.binary(Binary::Xor, a, b),
        _ if of.is_float() => emitter.float_binary(operation, of, a, b),
        _ => emitter.integer_binary(operation, of, a, b),
    }
}
