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

const UNARY: [Unary; 29] = [
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

const BINARY: [Binary; 20] = [
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

    fn constant(&mut self, like: RegisterType, value: u32) -> Register {
        self.builder.constant(match like {
            RegisterType::B64 => Constant::B64(value.into()),
            _ => Constant::B32(value),
        })
    }

    /// The same number, or the one NaN that has specified bits.
    fn canonical(&mut self, register: Register) -> Register {
        let nan = match self.builder.type_of(register) {
            RegisterType::F32 => Constant::F32(0x7fc0_0000),
            RegisterType::F64 => Constant::F64(0x7ff8_0000_0000_0000),
            _ => return register,
        };
        let nan = self.builder.constant(nan);
        let number = self.builder.binary(Binary::Equal, register, register);
        self.builder.select(number, register, nan)
    }

    fn unary(&mut self, rng: &mut Rng) {
        use RegisterType::{B32, B64, Bool, F32, F64};
        let op = *rng.pick(&UNARY);
        let types: &[RegisterType] = match op {
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
        };
        let wanted = *rng.pick(types);
        let mut a = self.of(rng, wanted);
        if matches!(op, Unary::ToBits | Unary::F32ToHalf) {
            a = self.canonical(a);
        }
        let made = self.push(Instruction::Unary(op, a));
        if op == Unary::F32ToHalf {
            // A half that is a NaN has no specified bits either.
            let number = self.builder.binary(Binary::Equal, a, a);
            let nan = self.constant(B32, 0x7e00);
            *self.registers.last_mut().unwrap() = self.builder.select(number, made, nan);
        }
    }

    fn binary(&mut self, rng: &mut Rng) {
        use RegisterType::{B32, B64, Bool, F32, F64};
        let op = *rng.pick(&BINARY);
        let types: &[RegisterType] = match op {
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Equal => &[F32, F64, B32, B64],
            Binary::Divide | Binary::Less | Binary::LessEqual => &[F32, F64],
            Binary::And | Binary::Or | Binary::Xor => &[Bool, B32, B64],
            _ => &[B32, B64],
        };
        let wanted = *rng.pick(types);
        let a = if op == Binary::Divide && rng.below(3) == 0 {
            let one =
                if wanted == F32 { Constant::F32(0x3f80_0000) } else { Constant::F64(0x3ff0_0000_0000_0000) };
            self.builder.constant(one)
        } else {
            self.of(rng, wanted)
        };
        let b = match op {
            Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned => {
                let distance = self.of(rng, B32);
                let mask = self.constant(B32, if wanted == B64 { 63 } else { 31 });
                self.builder.binary(Binary::And, distance, mask)
            }
            Binary::DivideUnsigned | Binary::RemainderUnsigned => {
                let (b, one) = (self.of(rng, wanted), self.constant(wanted, 1));
                self.builder.binary(Binary::Or, b, one)
            }
            Binary::DivideSigned | Binary::RemainderSigned => {
                // Odd, and positive.
                let (b, one) = (self.of(rng, wanted), self.constant(wanted, 1));
                let (odd, shift) = (self.builder.binary(Binary::Or, b, one), self.constant(B32, 1));
                let high = self.builder.binary(Binary::ShiftRight, odd, shift);
                self.builder.binary(Binary::Or, high, one)
            }
            _ => self.of(rng, wanted),
        };
        self.push(Instruction::Binary(op, a, b));
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
    let result = making.canonical(result);
    making.builder.finish(result, result_type)
}

/// A register of the first's type that depends on both.
fn mixed(making: &mut Making, to: Register, from: Register) -> Register {
    use RegisterType::{B32, B64, Bool, F32, F64};
    let from = making.canonical(from);
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
