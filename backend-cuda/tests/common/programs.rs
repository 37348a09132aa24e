//! Random programs of every primitive and element type, and what they mean for one element.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bits are bits"
)]

use devarray::function::{
    ElementType,
    primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, Register, RegisterType, Unary},
};
use devarray_conformance::Rng;

/// Bits of an element or a constant: often a special or small value.
pub(crate) fn value(rng: &mut Rng, element_type: ElementType) -> u64 {
    const SPECIAL: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        3e9,
        -1e19,
        1e-40,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let width = 8 * element_type.len_bytes();
    let any = rng.bits();
    let bits = match (element_type, rng.below(3)) {
        (ElementType::F32, 0) => f32::to_bits(*rng.pick(&SPECIAL) as f32).into(),
        (ElementType::F32, 1) => (any as u32 as f32 / 65_536.0 - 32_768.0).to_bits().into(),
        (ElementType::F64, 0) => (*rng.pick(&SPECIAL)).to_bits(),
        (ElementType::F64, 1) => (any as f64 / 1e15 - 9_000.0).to_bits(),
        (ElementType::Bool, _) => any & 3,
        (_, 0) => *rng.pick(&[0, 1, 2, 7, u64::MAX, 1 << (width - 1), (1 << (width - 1)) - 1]),
        _ => any,
    };
    if width == 64 { bits } else { bits & ((1 << width) - 1) }
}

pub(crate) const UNARY: [Unary; 29] = [
    Unary::Negate,
    Unary::Absolute,
    Unary::SquareRoot,
    Unary::Floor,
    Unary::Ceil,
    Unary::Truncate,
    Unary::RoundEven,
    Unary::Not,
    Unary::CountOnes,
    Unary::LeadingZeros,
    Unary::BoolToB32,
    Unary::SignExtend,
    Unary::ZeroExtend,
    Unary::Wrap,
    Unary::ToBits,
    Unary::FromBits,
    Unary::Widen,
    Unary::Narrow,
    Unary::HalfToF32,
    Unary::F32ToHalf,
    Unary::SignedToF32,
    Unary::UnsignedToF32,
    Unary::SignedToF64,
    Unary::UnsignedToF64,
    Unary::ToSigned32,
    Unary::ToUnsigned32,
    Unary::ToSigned64,
    Unary::ToUnsigned64,
    Unary::Not,
];

pub(crate) const BINARY: [Binary; 20] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::MultiplyHigh,
    Binary::DivideSigned,
    Binary::DivideUnsigned,
    Binary::RemainderSigned,
    Binary::RemainderUnsigned,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::ShiftLeft,
    Binary::ShiftRight,
    Binary::ShiftRightSigned,
    Binary::Equal,
    Binary::Less,
    Binary::LessEqual,
    Binary::LessSigned,
    Binary::LessUnsigned,
];

/// The types of registers that an operation of one takes.
pub(crate) fn unary_types(op: Unary) -> &'static [RegisterType] {
    use RegisterType::{B32, B64, Bool, F32, F64};
    match op {
        Unary::Negate
        | Unary::Absolute
        | Unary::SquareRoot
        | Unary::Floor
        | Unary::Ceil
        | Unary::Truncate
        | Unary::RoundEven
        | Unary::ToBits
        | Unary::ToSigned32
        | Unary::ToUnsigned32
        | Unary::ToSigned64
        | Unary::ToUnsigned64 => &[F32, F64],
        Unary::Not => &[Bool, B32, B64],
        Unary::CountOnes
        | Unary::LeadingZeros
        | Unary::FromBits
        | Unary::SignedToF32
        | Unary::UnsignedToF32
        | Unary::SignedToF64
        | Unary::UnsignedToF64 => &[B32, B64],
        Unary::BoolToB32 => &[Bool],
        Unary::SignExtend | Unary::ZeroExtend | Unary::HalfToF32 => &[B32],
        Unary::Wrap => &[B64],
        Unary::Widen | Unary::F32ToHalf => &[F32],
        Unary::Narrow => &[F64],
    }
}

/// The types of the first register that an operation of two takes.
pub(crate) fn binary_types(op: Binary) -> &'static [RegisterType] {
    use RegisterType::{B32, B64, Bool, F32, F64};
    match op {
        Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Equal => &[F32, F64, B32, B64],
        Binary::Divide | Binary::Less | Binary::LessEqual => &[F32, F64],
        Binary::And | Binary::Or | Binary::Xor => &[Bool, B32, B64],
        _ => &[B32, B64],
    }
}

/// Whether the second register is a distance, which is `B32`.
pub(crate) fn is_shift(op: Binary) -> bool {
    matches!(op, Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned)
}

/// Returns the same number, or the one NaN that has specified bits.
pub(crate) fn canonical_number(builder: &mut ProgramBuilder, register: Register) -> Register {
    let nan = match builder.type_of(register) {
        RegisterType::F32 => Constant::F32(0x7fc0_0000),
        RegisterType::F64 => Constant::F64(0x7ff8_0000_0000_0000),
        _ => return register,
    };
    let nan = builder.constant(nan);
    let number = builder.binary(Binary::Equal, register, register);
    builder.select(number, register, nan)
}

fn small(builder: &mut ProgramBuilder, like: RegisterType, value: u32) -> Register {
    builder.constant(match like {
        RegisterType::B64 => Constant::B64(value.into()),
        _ => Constant::B32(value),
    })
}

/// An operation whose bits are specified, whatever it reads.
pub(crate) fn apply_unary(builder: &mut ProgramBuilder, op: Unary, a: Register) -> Register {
    let a = if matches!(op, Unary::ToBits | Unary::F32ToHalf) { canonical_number(builder, a) } else { a };
    let made = builder.unary(op, a);
    if op != Unary::F32ToHalf {
        return made;
    }
    // A half that is a NaN has no specified bits either.
    let number = builder.binary(Binary::Equal, a, a);
    let nan = small(builder, RegisterType::B32, 0x7e00);
    builder.select(number, made, nan)
}

/// An operation that meets no divisor of 0 and no distance beyond the width.
pub(crate) fn apply_binary(builder: &mut ProgramBuilder, op: Binary, a: Register, b: Register) -> Register {
    use RegisterType::{B32, B64};
    let wanted = builder.type_of(a);
    let b = match op {
        _ if is_shift(op) => {
            let mask = small(builder, B32, if wanted == B64 { 63 } else { 31 });
            builder.binary(Binary::And, b, mask)
        }
        Binary::DivideUnsigned | Binary::RemainderUnsigned => {
            let one = small(builder, wanted, 1);
            builder.binary(Binary::Or, b, one)
        }
        Binary::DivideSigned | Binary::RemainderSigned => {
            // Odd, and positive.
            let one = small(builder, wanted, 1);
            let (odd, shift) = (builder.binary(Binary::Or, b, one), small(builder, B32, 1));
            let high = builder.binary(Binary::ShiftRight, odd, shift);
            builder.binary(Binary::Or, high, one)
        }
        _ => b,
    };
    builder.binary(op, a, b)
}

/// A program under construction, and its registers by type.
struct Making {
    builder: ProgramBuilder,
    registers: Vec<Register>,
}

impl Making {
    fn push(&mut self, instruction: Instruction) -> Register {
        let register = self.builder.push(instruction);
        self.registers.push(register);
        register
    }

    /// Some register of a type, one made for it if there is none.
    fn of(&mut self, rng: &mut Rng, wanted: RegisterType) -> Register {
        let found: Vec<Register> =
            self.registers.iter().copied().filter(|&r| self.builder.type_of(r) == wanted).collect();
        // The last ones more often, so that chains grow.
        if !found.is_empty() && rng.below(12) > 0 {
            let at = rng.below(found.len()).max(rng.below(found.len()));
            return found[at];
        }
        let constant = match wanted {
            RegisterType::Bool => Constant::Bool(rng.below(2) == 1),
            RegisterType::B32 => Constant::B32(value(rng, ElementType::U32) as u32),
            RegisterType::B64 => Constant::B64(value(rng, ElementType::U64)),
            RegisterType::F32 => Constant::F32(value(rng, ElementType::F32) as u32),
            RegisterType::F64 => Constant::F64(value(rng, ElementType::F64)),
        };
        self.push(Instruction::Constant(constant))
    }

    fn unary(&mut self, rng: &mut Rng) {
        let op = *rng.pick(&UNARY);
        let wanted = *rng.pick(unary_types(op));
        let a = self.of(rng, wanted);
        let made = apply_unary(&mut self.builder, op, a);
        self.registers.push(made);
    }

    fn binary(&mut self, rng: &mut Rng) {
        use RegisterType::{B32, F32};
        let op = *rng.pick(&BINARY);
        let wanted = *rng.pick(binary_types(op));
        let a = if op == Binary::Divide && rng.below(3) == 0 {
            let one =
                if wanted == F32 { Constant::F32(0x3f80_0000) } else { Constant::F64(0x3ff0_0000_0000_0000) };
            self.builder.constant(one)
        } else {
            self.of(rng, wanted)
        };
        let b = self.of(rng, if is_shift(op) { B32 } else { wanted });
        let made = apply_binary(&mut self.builder, op, a, b);
        self.registers.push(made);
    }

    fn step(&mut self, rng: &mut Rng) {
        use RegisterType::{B32, B64, Bool, F32, F64};
        match rng.below(8) {
            0..=2 => self.unary(rng),
            3..=5 => self.binary(rng),
            6 => {
                let wanted = *rng.pick(&[F32, F64]);
                let [a, b, c] = [(); 3].map(|()| self.of(rng, wanted));
                self.push(Instruction::Fma(a, b, c));
            }
            _ => {
                let wanted = *rng.pick(&[Bool, B32, B64, F32, F64]);
                let condition = self.of(rng, Bool);
                let (a, b) = (self.of(rng, wanted), self.of(rng, wanted));
                self.push(Instruction::Select(condition, a, b));
            }
        }
    }
}

/// A program of some inputs of given types, for a result of up to `rank` axes.
pub(crate) fn program(rng: &mut Rng, inputs: &[ElementType], rank: usize, steps: usize) -> Program {
    let scalars: Vec<ElementType> = (0..rng.below(3)).map(|_| *rng.pick(&ElementType::ALL)).collect();
    let mut making = Making { builder: ProgramBuilder::new(inputs, &scalars), registers: Vec::new() };
    let mut read = Vec::new();
    for at in 0..inputs.len() {
        read.push(making.push(Instruction::Input(u8::try_from(at).unwrap())));
    }
    for at in 0..scalars.len() {
        making.push(Instruction::Scalar(u8::try_from(at).unwrap()));
    }
    for axis in 0..rank {
        if rng.below(6) == 0 {
            making.push(Instruction::Position(u8::try_from(axis).unwrap()));
        }
    }
    for _ in 0..steps {
        making.step(rng);
    }
    let result_type = *rng.pick(&ElementType::ALL);
    let wanted = RegisterType::of(result_type);
    let mut result = making.of(rng, wanted);
    // Every input has a say, so that a wrong address shows.
    for register in read {
        result = mixed(&mut making, result, register);
    }
    let result = canonical_number(&mut making.builder, result);
    making.builder.finish(result, result_type)
}

/// A register of the first's type that depends on both.
fn mixed(making: &mut Making, to: Register, from: Register) -> Register {
    use RegisterType::{B32, B64, Bool, F32, F64};
    let from = canonical_number(&mut making.builder, from);
    let from_type = making.builder.type_of(from);
    let to_type = making.builder.type_of(to);
    let builder = &mut making.builder;
    let bits = match from_type {
        Bool => builder.unary(Unary::BoolToB32, from),
        B32 => from,
        F32 => builder.unary(Unary::ToBits, from),
        B64 => builder.unary(Unary::Wrap, from),
        F64 => {
            let wide = builder.unary(Unary::ToBits, from);
            let distance = builder.constant(Constant::B32(20));
            let high = builder.binary(Binary::ShiftRight, wide, distance);
            builder.unary(Unary::Wrap, high)
        }
    };
    match to_type {
        B32 => builder.binary(Binary::Xor, to, bits),
        B64 => {
            let wide = builder.unary(Unary::ZeroExtend, bits);
            builder.binary(Binary::Xor, to, wide)
        }
        F32 => {
            let number = builder.unary(Unary::SignedToF32, bits);
            builder.binary(Binary::Add, to, number)
        }
        F64 => {
            let number = builder.unary(Unary::SignedToF64, bits);
            builder.binary(Binary::Add, to, number)
        }
        Bool => {
            let one = builder.constant(Constant::B32(1));
            let low = builder.binary(Binary::And, bits, one);
            let odd = builder.binary(Binary::Equal, low, one);
            builder.binary(Binary::Xor, to, odd)
        }
    }
}
