//! Lowers a program to steps, primitive by primitive, if it was made without a function.

use super::{
    casts::{self, Half},
    code::{Code, Origin, Value, Writer},
    kernels::{self, Part},
    machine::Machine,
};
use crate::{
    BinaryOperation, ElementType, UnaryOperation,
    primitive::{Binary, Constant, Instruction, Program, RegisterType, Unary},
};

/// The unsigned type that holds a register of bits; other registers are held in their own type.
fn held(of: RegisterType) -> ElementType {
    match of {
        RegisterType::Bool => ElementType::Bool,
        RegisterType::B32 => ElementType::U32,
        RegisterType::B64 => ElementType::U64,
        RegisterType::F32 => ElementType::F32,
        RegisterType::F64 => ElementType::F64,
    }
}

fn signed(of: ElementType) -> ElementType {
    if of == ElementType::U64 { ElementType::I64 } else { ElementType::I32 }
}

/// The steps of a program.
pub(super) fn program(machine: Machine, program: &Program) -> Code {
    let mut lowering = Lowering { writer: Writer::new(machine), machine };
    let mut values: Vec<Value> = Vec::with_capacity(program.instructions().len());
    for (&instruction, &of) in program.instructions().iter().zip(program.types()) {
        let value = lowering.instruction(program, instruction, held(of), &values);
        values.push(value);
    }
    let (result, to) = (values[program.result().index()], program.result_type());
    // Narrow integers and halves are stored from the low bits.
    let result = match (result.of, to.len_bytes()) {
        (ElementType::U32, 1) => lowering.cast(result, ElementType::U8),
        (ElementType::U32, 2) => lowering.cast(result, ElementType::U16),
        _ => result,
    };
    lowering.writer.finish(program.inputs(), program.scalars(), result, to)
}

struct Lowering {
    writer: Writer,
    machine: Machine,
}

impl Lowering {
    fn cast(&mut self, a: Value, to: ElementType) -> Value {
        match casts::cast(self.machine, a.of, to) {
            Some(compiled) => self.writer.step(compiled, &[a], to),
            None => a.as_type(to),
        }
    }

    /// Loads an element of memory, extended by its type's rule.
    fn loaded(&mut self, origin: Origin, of: ElementType, to: ElementType) -> Value {
        let raw = self.writer.value(origin, of);
        match of {
            ElementType::Bool => self.writer.step(kernels::truth(self.machine, of), &[raw], of),
            ElementType::F32 | ElementType::F64 => raw,
            // The bits of halves are extended like the bits of `u16`.
            ElementType::F16 | ElementType::BF16 => self.cast(raw.as_type(ElementType::U16), to),
            _ => self.cast(raw, to),
        }
    }

    fn instruction(
        &mut self,
        program: &Program,
        instruction: Instruction,
        to: ElementType,
        values: &[Value],
    ) -> Value {
        let machine = self.machine;
        match instruction {
            Instruction::Constant(constant) => {
                let bits = match constant {
                    Constant::Bool(value) => value.into(),
                    Constant::B32(bits) | Constant::F32(bits) => bits.into(),
                    Constant::B64(bits) | Constant::F64(bits) => bits,
                };
                self.writer.value(Origin::Constant(bits), to)
            }
            Instruction::Input(number) => {
                let of = program.inputs()[usize::from(number)];
                self.loaded(Origin::Input(number.into()), of, to)
            }
            Instruction::Scalar(number) => {
                let of = program.scalars()[usize::from(number)];
                self.loaded(Origin::Scalar(number.into()), of, to)
            }
            Instruction::Position(axis) => {
                self.writer.value(Origin::Position(axis.into()), ElementType::I64).as_type(to)
            }
            Instruction::Unary(op, a) => self.unary(op, values[a.index()], to),
            Instruction::Binary(op, a, b) => self.binary(op, values[a.index()], values[b.index()], to),
            Instruction::Fma(a, b, c) => {
                let operands = [a, b, c].map(|register| values[register.index()]);
                self.writer.step(kernels::part(machine, Part::Fma, to), &operands, to)
            }
            Instruction::Select(condition, a, b) => {
                let operands = [condition, a, b].map(|register| values[register.index()]);
                self.writer.step(kernels::select(machine, to), &operands, to)
            }
        }
    }

    fn unary(&mut self, op: Unary, a: Value, to: ElementType) -> Value {
        use UnaryOperation as Op;
        let machine = self.machine;
        let mut same_type = |op: Op| self.writer.step(kernels::unary(machine, op, a.of), &[a], a.of);
        match op {
            Unary::Negate => same_type(Op::Negate),
            Unary::Absolute => same_type(Op::Abs),
            Unary::SquareRoot => same_type(Op::Sqrt),
            Unary::Floor => same_type(Op::Floor),
            Unary::Ceil => same_type(Op::Ceil),
            Unary::Truncate => same_type(Op::Trunc),
            Unary::RoundEven => same_type(Op::Rint),
            Unary::Not => same_type(Op::Not),
            Unary::CountOnes => {
                let count = same_type(Op::BitwiseCount);
                self.cast(count, to)
            }
            Unary::LeadingZeros => self.writer.step(kernels::leading_zeros(machine, a.of), &[a], to),
            Unary::BoolToB32 => self.cast(a.as_type(ElementType::U8), to),
            Unary::ToBits | Unary::FromBits => a.as_type(to),
            Unary::ZeroExtend
            | Unary::Wrap
            | Unary::Widen
            | Unary::Narrow
            | Unary::UnsignedToF32
            | Unary::UnsignedToF64
            | Unary::ToUnsigned32
            | Unary::ToUnsigned64 => self.cast(a, to),
            Unary::SignExtend | Unary::SignedToF32 | Unary::SignedToF64 => {
                self.cast(a.as_type(signed(a.of)), to)
            }
            Unary::ToSigned32 | Unary::ToSigned64 => self.cast(a, signed(to)).as_type(to),
            Unary::HalfToF32 => {
                let low = self.cast(a, ElementType::U16);
                self.writer.step(casts::half(machine, Half::Widen, ElementType::F16), &[low], to)
            }
            Unary::F32ToHalf => {
                let narrow = casts::half(machine, Half::Narrow, ElementType::F16);
                let bits = self.writer.step(narrow, &[a], ElementType::U16);
                self.cast(bits, to)
            }
        }
    }

    fn binary(&mut self, op: Binary, a: Value, b: Value, to: ElementType) -> Value {
        use BinaryOperation as Op;
        let machine = self.machine;
        let is_signed = matches!(
            op,
            Binary::DivideSigned | Binary::RemainderSigned | Binary::ShiftRightSigned | Binary::LessSigned
        );
        let of = match a.of {
            ElementType::Bool => ElementType::U8,
            of if is_signed => signed(of),
            of => of,
        };
        // A distance is held in 32 bits, whatever is shifted.
        let b = if b.of.len_bytes() == a.of.len_bytes() { b } else { self.cast(b, ElementType::U64) };
        let compiled = match op {
            Binary::Add => kernels::binary(machine, Op::Add, of),
            Binary::Subtract => kernels::binary(machine, Op::Subtract, of),
            Binary::Multiply => kernels::binary(machine, Op::Multiply, of),
            Binary::Divide => kernels::binary(machine, Op::Divide, of),
            Binary::MultiplyHigh => kernels::binary(machine, Op::MultiplyHigh, of),
            Binary::DivideSigned | Binary::DivideUnsigned => kernels::divided(machine, of),
            Binary::RemainderSigned | Binary::RemainderUnsigned => kernels::binary(machine, Op::Fmod, of),
            Binary::And => kernels::binary(machine, Op::And, of),
            Binary::Or => kernels::binary(machine, Op::Or, of),
            Binary::Xor => kernels::binary(machine, Op::Xor, of),
            Binary::ShiftLeft => kernels::binary(machine, Op::ShiftLeft, of),
            Binary::ShiftRight | Binary::ShiftRightSigned => kernels::binary(machine, Op::ShiftRight, of),
            Binary::Equal => kernels::compare(machine, Op::Equal, of),
            Binary::LessEqual => kernels::compare(machine, Op::LessEqual, of),
            Binary::Less | Binary::LessSigned | Binary::LessUnsigned => {
                kernels::compare(machine, Op::Less, of)
            }
        };
        self.writer.step(compiled, &[a, b], to)
    }
}
