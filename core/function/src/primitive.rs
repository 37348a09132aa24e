//! Primitives, for authors of backends: the few operations that every backend computes exactly, to the
//! bit.
//!
//! Everything of the language (`minimum`, division by zero, shifts, casts, `exp` …) is expanded
//! into these by core, once for all backends. So two backends that agree on the primitives agree on
//! every function.
//!
//! A register has one of five types. Narrow integers are held in `B32`, extended by their type's
//! rule (`i8` by its sign, `u8` by zeros). Halves are held in `B32` as their 16 bits until they are
//! converted to `F32`. Integer registers are neither signed nor unsigned; operations are.
//!
//! # For backend authors
//!
//! - Floats are IEEE 754, rounded to nearest even, with subnormals; `Mul` and `Add` are never
//!   contracted into `Fma`.
//! - The bits of a NaN are not specified. The expansion makes them canonical before they are stored
//!   or looked at.
//! - `Divide` and `Remainder` of integers never meet a divisor of 0, nor `MIN / -1`; shifts never
//!   meet a distance outside `0..width`. The expansion ensures this for selected results. But both
//!   sides of a `Select` are computed, so no operation may trap. A result that is not selected may
//!   be anything.

mod builder;
pub(super) mod fold;
mod known;
#[cfg(feature = "executor")]
mod written;

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

pub use builder::ProgramBuilder;
#[cfg(feature = "executor")]
pub(super) use written::{Kept, Written};

use super::{ElementType, FunctionError, FunctionErrorKind};

/// The type of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
pub enum RegisterType {
    /// A truth value.
    Bool,
    /// 32 bits: integers of 8, 16 and 32 bits, the bits of halves and of `f32`.
    B32,
    /// 64 bits: integers and the bits of `f64`.
    B64,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

impl RegisterType {
    /// The register that holds a loaded element of this type, and from which it is stored.
    #[must_use]
    pub const fn of(element_type: ElementType) -> Self {
        match element_type {
            ElementType::Bool => Self::Bool,
            ElementType::I64 | ElementType::U64 => Self::B64,
            ElementType::F32 => Self::F32,
            ElementType::F64 => Self::F64,
            _ => Self::B32,
        }
    }
}

/// A register of a [`Program`], given by the number of the instruction that sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub(crate) u32);

impl Register {
    /// The number of the instruction that sets it.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A constant, given by its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
#[allow(missing_docs, reason = "the types of registers")]
pub enum Constant {
    Bool(bool),
    B32(u32),
    B64(u64),
    /// The bits of an `f32`.
    F32(u32),
    /// The bits of an `f64`.
    F64(u64),
}

/// An operation of one register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
pub enum Unary {
    /// `F32`, `F64`: inverts the sign, also of zeros.
    Negate,
    /// `F32`, `F64`: clears the sign.
    Absolute,
    /// `F32`, `F64`: the square root, exactly rounded.
    SquareRoot,
    /// `F32`, `F64`: rounds towards −∞.
    Floor,
    /// `F32`, `F64`: rounds towards +∞.
    Ceil,
    /// `F32`, `F64`: rounds towards zero.
    Truncate,
    /// `F32`, `F64`: rounds to the nearest integer, ties to the even one.
    RoundEven,
    /// `Bool`, `B32`, `B64`: inverts every bit.
    Not,
    /// `B32`, `B64` → `B32`: how many bits are set.
    CountOnes,
    /// `B32`, `B64` → `B32`: how many bits are above the highest set bit; the width if no bit is
    /// set.
    LeadingZeros,
    /// `Bool` → `B32`: 0 or 1.
    BoolToB32,
    /// `B32` → `B64`: extends by the sign bit.
    SignExtend,
    /// `B32` → `B64`: extends by zeros.
    ZeroExtend,
    /// `B64` → `B32`: the low half.
    Wrap,
    /// `F32` → `B32`, `F64` → `B64`: the bits.
    ToBits,
    /// `B32` → `F32`, `B64` → `F64`: the bits.
    FromBits,
    /// `F32` → `F64`, exact.
    Widen,
    /// `F64` → `F32`, rounded to nearest even.
    Narrow,
    /// `B32` → `F32`: the low 16 bits are an `f16`. Exact.
    HalfToF32,
    /// `F32` → `B32`: the bits of the nearest `f16`, ties to even, with zero bits above.
    F32ToHalf,
    /// `B32`, `B64`, signed → `F32`, rounded to nearest even.
    SignedToF32,
    /// `B32`, `B64`, unsigned → `F32`, rounded to nearest even.
    UnsignedToF32,
    /// `B32`, `B64`, signed → `F64`, rounded to nearest even.
    SignedToF64,
    /// `B32`, `B64`, unsigned → `F64`, rounded to nearest even.
    UnsignedToF64,
    /// `F32`, `F64` → `B32`, signed: towards zero, saturating, NaN is 0.
    ToSigned32,
    /// `F32`, `F64` → `B32`, unsigned: towards zero, saturating, NaN is 0.
    ToUnsigned32,
    /// `F32`, `F64` → `B64`, signed: towards zero, saturating, NaN is 0.
    ToSigned64,
    /// `F32`, `F64` → `B64`, unsigned: towards zero, saturating, NaN is 0.
    ToUnsigned64,
}

/// An operation of two registers of one type. The distance of a shift is `B32`, for every type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
pub enum Binary {
    /// `F32`, `F64`: exactly rounded; `B32`, `B64`: wraps.
    Add,
    /// `F32`, `F64`: exactly rounded; `B32`, `B64`: wraps.
    Subtract,
    /// `F32`, `F64`: exactly rounded; `B32`, `B64`: wraps.
    Multiply,
    /// `F32`, `F64`: exactly rounded.
    Divide,
    /// `B32`, `B64`: the high half of the product of two unsigned numbers.
    MultiplyHigh,
    /// `B32`, `B64`, signed: rounds towards zero.
    DivideSigned,
    /// `B32`, `B64`, unsigned.
    DivideUnsigned,
    /// `B32`, `B64`, signed: the result has the sign of the dividend.
    RemainderSigned,
    /// `B32`, `B64`, unsigned.
    RemainderUnsigned,
    /// `Bool`, `B32`, `B64`.
    And,
    /// `Bool`, `B32`, `B64`.
    Or,
    /// `Bool`, `B32`, `B64`.
    Xor,
    /// `B32`, `B64`.
    ShiftLeft,
    /// `B32`, `B64`: shifts in zeros.
    ShiftRight,
    /// `B32`, `B64`: shifts in copies of the sign bit.
    ShiftRightSigned,
    /// `B32`, `B64`; `F32`, `F64` → `Bool`: false if one is NaN; −0 equals +0.
    Equal,
    /// `F32`, `F64` → `Bool`: false if one is NaN.
    Less,
    /// `F32`, `F64` → `Bool`: false if one is NaN.
    LessEqual,
    /// `B32`, `B64`, signed → `Bool`.
    LessSigned,
    /// `B32`, `B64`, unsigned → `Bool`.
    LessUnsigned,
}

/// An instruction. It sets one register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a backend knows them all")]
pub enum Instruction {
    /// A constant.
    Constant(Constant),
    /// The element of an input.
    Input(u8),
    /// A scalar argument.
    Scalar(u8),
    /// The position along an axis of the shape that all operands have, as `B64`. In a reduction
    /// that a backend gets, the kept axes come first, then the reduced ones.
    Position(u8),
    /// An operation of one register.
    Unary(Unary, Register),
    /// An operation of two registers.
    Binary(Binary, Register, Register),
    /// `F32`, `F64`: `a * b + c`, rounded once.
    Fma(Register, Register, Register),
    /// The second if the first, a `Bool`, is true; otherwise the third.
    Select(Register, Register, Register),
}

impl Instruction {
    /// The registers that it reads, in order.
    #[must_use = "an iterator"]
    pub fn operands(self) -> impl Iterator<Item = Register> {
        let all = match self {
            Self::Constant(_) | Self::Input(_) | Self::Scalar(_) | Self::Position(_) => [None; 3],
            Self::Unary(_, a) => [Some(a), None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None],
            Self::Fma(a, b, c) | Self::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        all.into_iter().flatten()
    }
}

/// Computes one element of a result by instructions in order. Each instruction sets one register,
/// and reads registers that were set before.
///
/// [`ProgramBuilder`] makes it and checks types, so a backend need not check them again. A `Bool`
/// element is loaded as "not 0" and stored as 0 or 1. Narrow integers and halves are stored from
/// the low bits.
///
/// It is cheap to clone and to hash, so that caches may use it as their key.
#[derive(Clone)]
pub struct Program(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    inputs: Vec<ElementType>,
    scalars: Vec<ElementType>,
    instructions: Vec<Instruction>,
    types: Vec<RegisterType>,
    result: Register,
    result_type: ElementType,
    /// A hash of all fields before it.
    digest: u64,
    #[cfg(feature = "executor")]
    kept: Kept,
}

impl Program {
    /// The types of the inputs.
    #[must_use]
    #[inline]
    pub fn inputs(&self) -> &[ElementType] {
        &self.0.inputs
    }

    /// The types of the scalar arguments.
    #[must_use]
    #[inline]
    pub fn scalars(&self) -> &[ElementType] {
        &self.0.scalars
    }

    /// The instructions, in order.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.0.instructions
    }

    /// The type of a register.
    #[must_use]
    pub fn register_type(&self, register: Register) -> RegisterType {
        self.0.types[register.index()]
    }

    /// Returns the same program with axis `order[k]` in place of axis `k`.
    #[doc(hidden)]
    pub fn with_positions(&self, order: &[usize]) -> Result<Self, FunctionError> {
        let instructions = self.instructions();
        let is_same = |instruction: &Instruction| match *instruction {
            Instruction::Position(axis) => order.get(usize::from(axis)) == Some(&usize::from(axis)),
            _ => true,
        };
        if instructions.iter().all(is_same) {
            return Ok(self.clone());
        }
        let place = |axis: u8| order.iter().position(|&was| was == usize::from(axis));
        let moved = |&instruction: &Instruction| match instruction {
            Instruction::Position(axis) => {
                let to = place(axis).and_then(|to| u8::try_from(to).ok()).ok_or_else(|| {
                    let message = format!("axis {axis} comes after too many others: no position along it");
                    FunctionError::new(FunctionErrorKind::Shape, message)
                })?;
                Ok(Instruction::Position(to))
            }
            other => Ok(other),
        };
        let instructions = instructions.iter().map(moved).collect::<Result<_, FunctionError>>()?;
        let Parts { inputs, scalars, types, result, result_type, .. } = &*self.0;
        let parts = (inputs.clone(), scalars.clone());
        let program = Self::new(parts, instructions, types.clone(), *result, *result_type);
        #[cfg(feature = "executor")]
        let program = {
            let place = |axis| place(axis).and_then(|to| u8::try_from(to).ok());
            let written = self.0.kept.written.as_ref();
            program.with_written(written.and_then(|written| written.with_positions(&place)))
        };
        Ok(program)
    }

    fn new(
        (inputs, scalars): (Vec<ElementType>, Vec<ElementType>),
        instructions: Vec<Instruction>,
        types: Vec<RegisterType>,
        result: Register,
        result_type: ElementType,
    ) -> Self {
        // The keys are fixed, so that a program has one hash in every process.
        let mut hasher = DefaultHasher::new();
        (&inputs, &scalars, &instructions, result, result_type).hash(&mut hasher);
        let digest = hasher.finish();
        Self(Arc::new(Parts {
            inputs,
            scalars,
            instructions,
            types,
            result,
            result_type,
            digest,
            #[cfg(feature = "executor")]
            kept: Kept::default(),
        }))
    }

    /// The types of all registers, in order.
    #[doc(hidden)]
    #[must_use]
    pub fn types(&self) -> &[RegisterType] {
        &self.0.types
    }

    /// A hash that is computed once. Equal programs have equal hashes in one process.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.0.digest
    }

    /// The register whose value is stored.
    #[must_use]
    pub fn result(&self) -> Register {
        self.0.result
    }

    /// The element type of the result.
    #[must_use]
    #[inline]
    pub fn result_type(&self) -> ElementType {
        self.0.result_type
    }
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Program {}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.digest.hash(state);
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { inputs, instructions, result_type, .. } = &*self.0;
        write!(f, "Program({inputs:?} -> {result_type}, {} instructions)", instructions.len())
    }
}
