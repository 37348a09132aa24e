//! Finds instructions that need not be computed for every element: they read only constants, or
//! change nothing.

use super::{Binary, Constant, Instruction, Register, RegisterType, Unary};
use crate::{
    ElementType,
    interpreter::{
        environment::FloatEnvironment,
        kernels::{self, Slot},
    },
};

/// A replacement for an instruction.
pub(super) enum Simplified {
    Register(Register),
    Constant(Constant),
    No,
}

/// `before` holds the instructions that set the registers so far.
pub(super) fn simplified(
    before: &[Instruction],
    instruction: Instruction,
    register_type: RegisterType,
) -> Simplified {
    let constants: Option<Vec<_>> =
        instruction.operands().map(|register| constant_of(before, register)).collect();
    if let Some(constants) = constants.filter(|constants| !constants.is_empty()) {
        return Simplified::Constant(computed(instruction, &constants, register_type));
    }
    match instruction {
        Instruction::Select(_, a, b) if a == b => Simplified::Register(a),
        Instruction::Select(condition, a, b) => match constant_of(before, condition) {
            Some(Constant::Bool(condition)) => Simplified::Register(if condition { a } else { b }),
            _ => Simplified::No,
        },
        Instruction::Unary(op, a) => undone(before, op, a),
        Instruction::Binary(op, a, b) => unchanged(op, a, integer(before, a), b, integer(before, b)),
        _ => Simplified::No,
    }
}

/// The constant that a register holds, if it is one.
pub(super) fn constant_of(before: &[Instruction], register: Register) -> Option<Constant> {
    match before[register.index()] {
        Instruction::Constant(constant) => Some(constant),
        _ => None,
    }
}

/// The bits of a constant that is not a float, extended by zeros; and all ones in its width.
fn integer(before: &[Instruction], register: Register) -> Option<(u64, u64)> {
    match constant_of(before, register)? {
        Constant::Bool(value) => Some((value.into(), 1)),
        Constant::B32(bits) => Some((bits.into(), u32::MAX.into())),
        Constant::B64(bits) => Some((bits, u64::MAX)),
        _ => None,
    }
}

/// Finds operations that undo the one before. The bits of a NaN are not specified, so another NaN
/// is as good.
fn undone(before: &[Instruction], op: Unary, a: Register) -> Simplified {
    let unary = |register: Register| match before[register.index()] {
        Instruction::Unary(op, a) => Some((op, a)),
        _ => None,
    };
    match (op, unary(a)) {
        (Unary::ToBits, Some((Unary::FromBits, bits))) => Simplified::Register(bits),
        (Unary::FromBits, Some((Unary::ToBits, float))) => Simplified::Register(float),
        (Unary::Not, Some((Unary::Not, inner))) | (Unary::Negate, Some((Unary::Negate, inner))) => {
            Simplified::Register(inner)
        }
        // Only a value with zeros above comes back as the same 32 bits.
        (Unary::F32ToHalf, Some((Unary::HalfToF32, half))) => match unary(half) {
            Some((Unary::F32ToHalf, _)) => Simplified::Register(half),
            _ => Simplified::No,
        },
        _ => Simplified::No,
    }
}

/// Finds operations of integers and truth values that return one of their operands. Operations of
/// floats could change a NaN or the sign of a zero.
fn unchanged(
    op: Binary,
    a: Register,
    a_bits: Option<(u64, u64)>,
    b: Register,
    b_bits: Option<(u64, u64)>,
) -> Simplified {
    let neutral = |bits: Option<(u64, u64)>| match (op, bits) {
        (Binary::Add | Binary::Or | Binary::Xor, Some((bits, _))) => bits == 0,
        (Binary::And, Some((bits, ones))) => bits == ones,
        (Binary::Multiply, Some((bits, _))) => bits == 1,
        _ => false,
    };
    let absorbing = |bits: Option<(u64, u64)>| match (op, bits) {
        (Binary::And | Binary::Multiply, Some((bits, _))) => bits == 0,
        (Binary::Or, Some((bits, ones))) => bits == ones,
        _ => false,
    };
    let right_only =
        matches!(op, Binary::Subtract | Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned);
    match () {
        () if neutral(b_bits) || absorbing(a_bits) => Simplified::Register(a),
        () if neutral(a_bits) || absorbing(b_bits) => Simplified::Register(b),
        () if right_only && b_bits.is_some_and(|(bits, _)| bits == 0) => Simplified::Register(a),
        () => Simplified::No,
    }
}

/// The value that the interpreter computes from constants, as a block of one element.
fn computed(instruction: Instruction, operands: &[Constant], register_type: RegisterType) -> Constant {
    let _standard = FloatEnvironment::standard();
    let slots: Vec<Slot> = operands
        .iter()
        .map(|&constant| {
            let mut slot = kernels::slot(1);
            kernels::fill(type_of(constant), bits_of(constant), &mut slot, 1);
            slot
        })
        .collect();
    let mut out = kernels::slot(1);
    let of = |at: usize| operands.get(at).map_or(register_type, |&constant| type_of(constant));
    match (instruction, slots.as_slice()) {
        (Instruction::Unary(op, _), [a]) => kernels::unary(op, of(0), a, &mut out, 1),
        (Instruction::Binary(op, ..), [a, b]) => kernels::binary(op, of(0), a, b, &mut out, 1),
        (Instruction::Fma(..), [a, b, c]) => kernels::fma(of(0), [a, b, c], &mut out, 1),
        (Instruction::Select(..), [a, b, c]) => kernels::select(of(1), [a, b, c], &mut out, 1),
        _ => {}
    }
    let bits = match register_type {
        RegisterType::B64 | RegisterType::F64 => kernels::read::<u64>(&out, 1)[0],
        _ => kernels::read::<u32>(&out, 1)[0].into(),
    };
    constant(register_type, bits)
}

fn type_of(constant: Constant) -> RegisterType {
    match constant {
        Constant::Bool(_) => RegisterType::Bool,
        Constant::B32(_) => RegisterType::B32,
        Constant::B64(_) => RegisterType::B64,
        Constant::F32(_) => RegisterType::F32,
        Constant::F64(_) => RegisterType::F64,
    }
}

/// The bits of a constant, with zero bits above.
pub(crate) fn bits_of(constant: Constant) -> u64 {
    match constant {
        Constant::Bool(value) => value.into(),
        Constant::B32(bits) | Constant::F32(bits) => bits.into(),
        Constant::B64(bits) | Constant::F64(bits) => bits,
    }
}

/// A constant given by its bits. NaN becomes the canonical NaN, because no operation specifies
/// which NaN it gives.
#[expect(clippy::cast_possible_truncation, reason = "the type says how many bits count")]
fn constant(register_type: RegisterType, bits: u64) -> Constant {
    match register_type {
        RegisterType::Bool => Constant::Bool(bits != 0),
        RegisterType::B32 => Constant::B32(bits as u32),
        RegisterType::B64 => Constant::B64(bits),
        RegisterType::F32 if f32::from_bits(bits as u32).is_nan() => Constant::F32(f32::NAN.to_bits()),
        RegisterType::F32 => Constant::F32(bits as u32),
        RegisterType::F64 if f64::from_bits(bits).is_nan() => Constant::F64(f64::NAN.to_bits()),
        RegisterType::F64 => Constant::F64(bits),
    }
}

/// An element given by its bits, in the form of a register that loaded it.
pub(crate) fn held(element_type: ElementType, bits: u64) -> Constant {
    let shift = 64 - element_type.len_bytes() * 8;
    let extended = if element_type.is_integer() && element_type.is_signed() {
        ((bits << shift).cast_signed() >> shift).cast_unsigned()
    } else {
        bits << shift >> shift
    };
    constant(RegisterType::of(element_type), extended)
}
