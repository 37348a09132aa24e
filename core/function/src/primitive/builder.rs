//! Builds a program, one instruction at a time.

use std::{collections::HashMap, fmt};

use super::{
    Binary, Constant, Instruction, Program, Register, RegisterType, Unary,
    fold::{self, Simplified},
};
use crate::ElementType;

/// Builds a [`Program`]. An instruction that exists already is reused, and an instruction that
/// reads only constants becomes a constant.
///
/// Every method panics if registers have wrong types: that is a mistake of the expansion, never of
/// a user.
pub struct ProgramBuilder {
    inputs: Vec<ElementType>,
    scalars: Vec<ElementType>,
    instructions: Vec<Instruction>,
    types: Vec<RegisterType>,
    known: HashMap<Instruction, Register>,
}

/// Prints how many parts were built so far.
impl fmt::Debug for ProgramBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramBuilder({} instructions of {} inputs)", self.instructions.len(), self.inputs.len())
    }
}

impl ProgramBuilder {
    /// Begins a program without instructions.
    #[must_use]
    pub fn new(inputs: &[ElementType], scalars: &[ElementType]) -> Self {
        let (inputs, scalars) = (inputs.to_vec(), scalars.to_vec());
        Self { inputs, scalars, instructions: Vec::new(), types: Vec::new(), known: HashMap::new() }
    }

    /// The number of instructions so far.
    pub(crate) fn len(&self) -> usize {
        self.instructions.len()
    }

    /// The type of a register.
    #[must_use]
    pub fn type_of(&self, register: Register) -> RegisterType {
        self.types[register.index()]
    }

    /// The constant that a register holds, if it is one.
    #[must_use]
    pub fn constant_of(&self, register: Register) -> Option<Constant> {
        fold::constant_of(&self.instructions, register)
    }

    /// The register that an instruction sets.
    ///
    /// # Panics
    ///
    /// If registers have wrong types, or an input or scalar does not exist.
    pub fn push(&mut self, instruction: Instruction) -> Register {
        if let Some(&register) = self.known.get(&instruction) {
            return register;
        }
        let register_type = self.result_type(instruction);
        let instruction = match fold::simplified(&self.instructions, instruction, register_type) {
            Simplified::Register(register) => return register,
            Simplified::Constant(constant) => Instruction::Constant(constant),
            Simplified::No => instruction,
        };
        if let Some(&register) = self.known.get(&instruction) {
            return register;
        }
        let number = u32::try_from(self.instructions.len()).expect("the size of functions is limited");
        self.instructions.push(instruction);
        self.types.push(register_type);
        self.known.insert(instruction, Register(number));
        Register(number)
    }

    /// A constant.
    pub fn constant(&mut self, constant: Constant) -> Register {
        self.push(Instruction::Constant(constant))
    }

    /// An operation of one register.
    pub fn unary(&mut self, op: Unary, a: Register) -> Register {
        self.push(Instruction::Unary(op, a))
    }

    /// An operation of two registers.
    pub fn binary(&mut self, op: Binary, a: Register, b: Register) -> Register {
        self.push(Instruction::Binary(op, a, b))
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: Register, b: Register, c: Register) -> Register {
        self.push(Instruction::Fma(a, b, c))
    }

    /// `a` if `condition`, else `b`.
    pub fn select(&mut self, condition: Register, a: Register, b: Register) -> Register {
        self.push(Instruction::Select(condition, a, b))
    }

    /// Finishes the program that stores a register, without the instructions that it does not need.
    ///
    /// # Panics
    ///
    /// If the register does not have the type from which such elements are stored.
    #[must_use]
    pub fn finish(self, result: Register, result_type: ElementType) -> Program {
        assert_eq!(self.type_of(result), RegisterType::of(result_type), "a result of another type");
        let mut needed = vec![false; self.instructions.len()];
        needed[result.index()] = true;
        for at in (0..self.instructions.len()).rev().filter(|&at| at <= result.index()) {
            if needed[at] {
                self.instructions[at].operands().for_each(|register| needed[register.index()] = true);
            }
        }
        let mut places = vec![Register(0); self.instructions.len()];
        let (mut instructions, mut types) = (Vec::new(), Vec::new());
        for (at, &instruction) in self.instructions.iter().enumerate().filter(|&(at, _)| needed[at]) {
            let number = u32::try_from(instructions.len()).expect("fewer than before");
            places[at] = Register(number);
            instructions.push(moved(instruction, &places));
            types.push(self.types[at]);
        }
        let result = places[result.index()];
        Program::new((self.inputs, self.scalars), instructions, types, result, result_type)
    }

    fn result_type(&self, instruction: Instruction) -> RegisterType {
        use RegisterType::{B32, B64, Bool, F32, F64};
        let one = |ok: bool, result| {
            assert!(ok, "registers of wrong types: {instruction:?}");
            result
        };
        match instruction {
            Instruction::Constant(constant) => match constant {
                Constant::Bool(_) => Bool,
                Constant::B32(_) => B32,
                Constant::B64(_) => B64,
                Constant::F32(_) => F32,
                Constant::F64(_) => F64,
            },
            Instruction::Input(at) => RegisterType::of(self.inputs[usize::from(at)]),
            Instruction::Scalar(at) => RegisterType::of(self.scalars[usize::from(at)]),
            Instruction::Position(_) => B64,
            Instruction::Unary(op, a) => {
                let a = self.type_of(a);
                let (float, bits) = (matches!(a, F32 | F64), matches!(a, B32 | B64));
                match op {
                    Unary::Negate
                    | Unary::Absolute
                    | Unary::SquareRoot
                    | Unary::Floor
                    | Unary::Ceil
                    | Unary::Truncate
                    | Unary::RoundEven => one(float, a),
                    Unary::Not => one(!float, a),
                    Unary::CountOnes | Unary::LeadingZeros => one(bits, B32),
                    Unary::BoolToB32 => one(a == Bool, B32),
                    Unary::SignExtend | Unary::ZeroExtend => one(a == B32, B64),
                    Unary::Wrap => one(a == B64, B32),
                    Unary::ToBits => one(float, if a == F32 { B32 } else { B64 }),
                    Unary::FromBits => one(bits, if a == B32 { F32 } else { F64 }),
                    Unary::Widen => one(a == F32, F64),
                    Unary::Narrow => one(a == F64, F32),
                    Unary::HalfToF32 => one(a == B32, F32),
                    Unary::F32ToHalf => one(a == F32, B32),
                    Unary::SignedToF32 | Unary::UnsignedToF32 => one(bits, F32),
                    Unary::SignedToF64 | Unary::UnsignedToF64 => one(bits, F64),
                    Unary::ToSigned32 | Unary::ToUnsigned32 => one(float, B32),
                    Unary::ToSigned64 | Unary::ToUnsigned64 => one(float, B64),
                }
            }
            Instruction::Binary(op, a, b) => {
                let (a, b) = (self.type_of(a), self.type_of(b));
                let (float, bits) = (matches!(a, F32 | F64), matches!(a, B32 | B64));
                match op {
                    Binary::Add | Binary::Subtract | Binary::Multiply => one(a == b && a != Bool, a),
                    Binary::Divide => one(a == b && float, a),
                    Binary::MultiplyHigh
                    | Binary::DivideSigned
                    | Binary::DivideUnsigned
                    | Binary::RemainderSigned
                    | Binary::RemainderUnsigned => one(a == b && bits, a),
                    Binary::And | Binary::Or | Binary::Xor => one(a == b && !float, a),
                    Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned => {
                        one(bits && b == B32, a)
                    }
                    Binary::Equal => one(a == b && a != Bool, Bool),
                    Binary::Less | Binary::LessEqual => one(a == b && float, Bool),
                    Binary::LessSigned | Binary::LessUnsigned => one(a == b && bits, Bool),
                }
            }
            Instruction::Fma(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|register| self.type_of(register));
                one(a == b && b == c && matches!(a, F32 | F64), a)
            }
            Instruction::Select(condition, a, b) => {
                let (a, b) = (self.type_of(a), self.type_of(b));
                one(self.type_of(condition) == Bool && a == b, a)
            }
        }
    }
}

/// An instruction that reads the registers at other places.
pub(super) fn moved(instruction: Instruction, places: &[Register]) -> Instruction {
    let at = |register: Register| places[register.index()];
    match instruction {
        Instruction::Unary(op, a) => Instruction::Unary(op, at(a)),
        Instruction::Binary(op, a, b) => Instruction::Binary(op, at(a), at(b)),
        Instruction::Fma(a, b, c) => Instruction::Fma(at(a), at(b), at(c)),
        Instruction::Select(a, b, c) => Instruction::Select(at(a), at(b), at(c)),
        other => other,
    }
}
