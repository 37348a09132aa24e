//! A broken device changes the instructions of a program.

use devarray::function::{
    ElementType,
    primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, Register, RegisterType, Unary},
};

use super::Bug;

/// The program that a device with this bug computes.
pub(super) fn spoilt(bug: Bug, program: &Program, rank: usize) -> Program {
    let is_bool = |at: usize| program.inputs()[at] == ElementType::Bool;
    let lowest_bit = bug == Bug::FunctionsReadTheLowestBit;
    let types: Vec<ElementType> = (0..program.inputs().len())
        .map(|at| if lowest_bit && is_bool(at) { ElementType::U8 } else { program.inputs()[at] })
        .collect();
    let mut to = ProgramBuilder::new(&types, program.scalars());
    let mut made: Vec<Register> = Vec::new();
    for &instruction in program.instructions() {
        let moved = moved(instruction, &made);
        let register = match (bug, moved) {
            (Bug::FunctionsContract, Instruction::Binary(op @ (Binary::Add | Binary::Subtract), a, b))
                if is_float(&to, a) =>
            {
                contracted(&mut to, program, instruction, &made, op, (a, b))
            }
            (Bug::FunctionsSplitFma, Instruction::Fma(a, b, c)) => {
                let product = to.binary(Binary::Multiply, a, b);
                to.binary(Binary::Add, product, c)
            }
            (Bug::FunctionsFlushSubnormals, Instruction::Binary(op, a, b))
                if to.type_of(a) == RegisterType::F32 && rounds(op) =>
            {
                let value = to.binary(op, a, b);
                let (size, zero) = (to.unary(Unary::Absolute, value), to.constant(Constant::F32(0)));
                let least = to.constant(Constant::F32(f32::MIN_POSITIVE.to_bits()));
                let small = to.binary(Binary::Less, size, least);
                to.select(small, zero, value)
            }
            (Bug::FunctionsDivideByReciprocal, Instruction::Binary(Binary::Divide, a, b)) => {
                let one = match to.type_of(a) {
                    RegisterType::F32 => Constant::F32(1.0_f32.to_bits()),
                    _ => Constant::F64(1.0_f64.to_bits()),
                };
                let one = to.constant(one);
                let reciprocal = to.binary(Binary::Divide, one, b);
                to.binary(Binary::Multiply, a, reciprocal)
            }
            (Bug::FunctionsLessIsNotGreater, Instruction::Binary(Binary::Less, a, b)) => {
                let other = to.binary(Binary::LessEqual, b, a);
                to.unary(Unary::Not, other)
            }
            (Bug::FunctionsRoundHalvesLast, Instruction::Unary(Unary::HalfToF32, a)) => {
                let halved = source(program, instruction).and_then(|of| match of {
                    Instruction::Unary(Unary::F32ToHalf, exact) => Some(made[exact.index()]),
                    _ => None,
                });
                halved.unwrap_or_else(|| to.unary(Unary::HalfToF32, a))
            }
            (Bug::FunctionsMultiplySigned, Instruction::Binary(Binary::MultiplyHigh, a, b))
                if to.type_of(a) == RegisterType::B32 =>
            {
                let [a, b] = [a, b].map(|factor| to.unary(Unary::SignExtend, factor));
                let (product, half) = (to.binary(Binary::Multiply, a, b), to.constant(Constant::B32(32)));
                let high = to.binary(Binary::ShiftRight, product, half);
                to.unary(Unary::Wrap, high)
            }
            (Bug::FunctionsCastsWrap, Instruction::Unary(Unary::ToSigned32, a)) => {
                let wide = to.unary(Unary::ToSigned64, a);
                to.unary(Unary::Wrap, wide)
            }
            (Bug::FunctionsStoreAnyNan, Instruction::Select(_, a, b)) => {
                let nan = |constant| match constant {
                    Some(Constant::F32(bits)) => f32::from_bits(bits).is_nan(),
                    Some(Constant::F64(bits)) => f64::from_bits(bits).is_nan(),
                    _ => false,
                };
                match (nan(to.constant_of(a)), nan(to.constant_of(b))) {
                    (true, _) => b,
                    (_, true) => a,
                    _ => to.push(moved),
                }
            }
            (Bug::FunctionsCountOtherAxes, Instruction::Position(axis)) => {
                let other = rank.saturating_sub(1 + usize::from(axis));
                to.push(Instruction::Position(u8::try_from(other).unwrap_or(0)))
            }
            (Bug::FunctionsReadTheLowestBit, Instruction::Input(at)) if is_bool(at.into()) => {
                let (byte, one) = (to.push(moved), to.constant(Constant::B32(1)));
                let bit = to.binary(Binary::And, byte, one);
                to.binary(Binary::Equal, bit, one)
            }
            _ => to.push(moved),
        };
        made.push(register);
    }
    to.finish(made[program.result().index()], program.result_type())
}

/// Returns this instruction with the registers that were made.
fn moved(instruction: Instruction, made: &[Register]) -> Instruction {
    let at = |register: Register| made[register.index()];
    match instruction {
        Instruction::Unary(op, a) => Instruction::Unary(op, at(a)),
        Instruction::Binary(op, a, b) => Instruction::Binary(op, at(a), at(b)),
        Instruction::Fma(a, b, c) => Instruction::Fma(at(a), at(b), at(c)),
        Instruction::Select(a, b, c) => Instruction::Select(at(a), at(b), at(c)),
        other => other,
    }
}

/// The instruction that set the first operand.
fn source(program: &Program, instruction: Instruction) -> Option<Instruction> {
    instruction.operands().next().map(|register| program.instructions()[register.index()])
}

fn is_float(to: &ProgramBuilder, register: Register) -> bool {
    matches!(to.type_of(register), RegisterType::F32 | RegisterType::F64)
}

fn rounds(op: Binary) -> bool {
    matches!(op, Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide)
}

/// A sum with a product as its first operand, rounded only once.
fn contracted(
    to: &mut ProgramBuilder,
    program: &Program,
    instruction: Instruction,
    made: &[Register],
    op: Binary,
    (a, b): (Register, Register),
) -> Register {
    match (source(program, instruction), op) {
        (Some(Instruction::Binary(Binary::Multiply, x, y)), Binary::Add) => {
            to.fma(made[x.index()], made[y.index()], b)
        }
        _ => to.binary(op, a, b),
    }
}
