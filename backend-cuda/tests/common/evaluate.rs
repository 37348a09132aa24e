//! The value of a program for one element, by the words of its primitives alone.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bits are bits"
)]

use devarray::function::{
    ElementType,
    primitive::{Binary, Constant, Instruction, Program, RegisterType, Unary},
};
use half::f16;

/// The bits of the result's element, for the bits of the inputs' elements and of the scalars, at a
/// position.
pub(crate) fn evaluate(program: &Program, inputs: &[u64], scalars: &[u64], position: &[usize]) -> u64 {
    let mut values: Vec<u64> = Vec::new();
    let mut types: Vec<RegisterType> = Vec::new();
    for &instruction in program.instructions() {
        let (value, register_type) = match instruction {
            Instruction::Constant(constant) => match constant {
                Constant::Bool(value) => (value.into(), RegisterType::Bool),
                Constant::B32(bits) => (bits.into(), RegisterType::B32),
                Constant::B64(bits) => (bits, RegisterType::B64),
                Constant::F32(bits) => (bits.into(), RegisterType::F32),
                Constant::F64(bits) => (bits, RegisterType::F64),
            },
            Instruction::Input(at) => loaded(program.inputs()[usize::from(at)], inputs[usize::from(at)]),
            Instruction::Scalar(at) => loaded(program.scalars()[usize::from(at)], scalars[usize::from(at)]),
            Instruction::Position(axis) => (position[usize::from(axis)] as u64, RegisterType::B64),
            Instruction::Unary(op, a) => unary(op, values[a.index()], types[a.index()]),
            Instruction::Binary(op, a, b) => {
                binary(op, values[a.index()], values[b.index()], types[a.index()])
            }
            Instruction::Fma(a, b, c) => {
                let of_type = types[a.index()];
                let [a, b, c] = [a, b, c].map(|register| values[register.index()]);
                let value = if of_type == RegisterType::F32 {
                    f32_bits(single(a).mul_add(single(b), single(c)))
                } else {
                    double(a).mul_add(double(b), double(c)).to_bits()
                };
                (value, of_type)
            }
            Instruction::Select(condition, a, b) => {
                let chosen = if values[condition.index()] != 0 { a } else { b };
                (values[chosen.index()], types[chosen.index()])
            }
        };
        values.push(value);
        types.push(register_type);
    }
    let bits = values[program.result().index()];
    match program.result_type().len_bytes() {
        8 => bits,
        bytes => bits & ((1 << (8 * bytes)) - 1),
    }
}

fn loaded(element_type: ElementType, bits: u64) -> (u64, RegisterType) {
    let value = match element_type {
        ElementType::Bool => u64::from(bits != 0),
        ElementType::I8 => u64::from(i32::from(bits as i8) as u32),
        ElementType::I16 => u64::from(i32::from(bits as i16) as u32),
        _ => bits,
    };
    (value, RegisterType::of(element_type))
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn f32_bits(value: f32) -> u64 {
    value.to_bits().into()
}

fn unary(op: Unary, a: u64, of_type: RegisterType) -> (u64, RegisterType) {
    use RegisterType::{B32, B64, Bool, F32, F64};
    let narrow = matches!(of_type, B32 | F32);
    let float = |of32: fn(f32) -> f32, of64: fn(f64) -> f64| {
        (if narrow { f32_bits(of32(single(a))) } else { of64(double(a)).to_bits() }, of_type)
    };
    match op {
        Unary::Negate => float(|x| -x, |x| -x),
        Unary::Absolute => float(f32::abs, f64::abs),
        Unary::SquareRoot => float(f32::sqrt, f64::sqrt),
        Unary::Floor => float(f32::floor, f64::floor),
        Unary::Ceil => float(f32::ceil, f64::ceil),
        Unary::Truncate => float(f32::trunc, f64::trunc),
        Unary::RoundEven => float(f32::round_ties_even, f64::round_ties_even),
        Unary::Not => match of_type {
            Bool => (a ^ 1, Bool),
            B32 => ((!(a as u32)).into(), B32),
            _ => (!a, of_type),
        },
        Unary::CountOnes => (a.count_ones().into(), B32),
        Unary::LeadingZeros => {
            (if narrow { (a as u32).leading_zeros() } else { a.leading_zeros() }.into(), B32)
        }
        Unary::BoolToB32 => (a, B32),
        Unary::SignExtend => (i64::from(a as i32) as u64, B64),
        Unary::ZeroExtend => (a, B64),
        Unary::Wrap => (a & 0xffff_ffff, B32),
        Unary::ToBits => (a, if narrow { B32 } else { B64 }),
        Unary::FromBits => (a, if narrow { F32 } else { F64 }),
        Unary::Widen => (f64::from(single(a)).to_bits(), F64),
        Unary::Narrow => (f32_bits(double(a) as f32), F32),
        Unary::HalfToF32 => (f32_bits(f16::from_bits(a as u16).to_f32()), F32),
        Unary::F32ToHalf => (f16::from_f32(single(a)).to_bits().into(), B32),
        Unary::SignedToF32 => (f32_bits(if narrow { a as i32 as f32 } else { a as i64 as f32 }), F32),
        Unary::UnsignedToF32 => (f32_bits(a as f32), F32),
        Unary::SignedToF64 => (if narrow { f64::from(a as i32) } else { a as i64 as f64 }.to_bits(), F64),
        Unary::UnsignedToF64 => ((a as f64).to_bits(), F64),
        Unary::ToSigned32 => {
            (u64::from(if narrow { single(a) as i32 } else { double(a) as i32 } as u32), B32)
        }
        Unary::ToUnsigned32 => (if narrow { single(a) as u32 } else { double(a) as u32 }.into(), B32),
        Unary::ToSigned64 => ((if narrow { single(a) as i64 } else { double(a) as i64 }) as u64, B64),
        Unary::ToUnsigned64 => (if narrow { single(a) as u64 } else { double(a) as u64 }, B64),
    }
}

/// An operation on the low bits of two registers; returns the truth of a comparison.
macro_rules! integers {
    ($op:expr, $a:expr, $b:expr, $of:ty, $signed:ty, $wide:ty) => {{
        let (a, b) = ($a as $of, $b as $of);
        let (sa, sb) = (a as $signed, b as $signed);
        let value: $of = match $op {
            Binary::Add => a.wrapping_add(b),
            Binary::Subtract => a.wrapping_sub(b),
            Binary::Multiply => a.wrapping_mul(b),
            Binary::MultiplyHigh => ((<$wide>::from(a) * <$wide>::from(b)) >> <$of>::BITS) as $of,
            Binary::DivideSigned => (sa / sb) as $of,
            Binary::DivideUnsigned => a / b,
            Binary::RemainderSigned => (sa % sb) as $of,
            Binary::RemainderUnsigned => a % b,
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::ShiftLeft => a << b,
            Binary::ShiftRight => a >> b,
            Binary::ShiftRightSigned => (sa >> b) as $of,
            Binary::Equal => return (u64::from(a == b), RegisterType::Bool),
            Binary::LessSigned => return (u64::from(sa < sb), RegisterType::Bool),
            Binary::LessUnsigned => return (u64::from(a < b), RegisterType::Bool),
            op => unreachable!("{op:?} of integers"),
        };
        u64::from(value)
    }};
}

fn binary(op: Binary, a: u64, b: u64, of_type: RegisterType) -> (u64, RegisterType) {
    use RegisterType::{B32, Bool, F32, F64};
    match of_type {
        F32 | F64 => {
            let (x, y) =
                if of_type == F32 { (single(a).into(), single(b).into()) } else { (double(a), double(b)) };
            let truth = |value: bool| (u64::from(value), Bool);
            let number = |of32: fn(f32, f32) -> f32, of64: fn(f64, f64) -> f64| {
                let narrow = of_type == F32;
                (if narrow { f32_bits(of32(single(a), single(b))) } else { of64(x, y).to_bits() }, of_type)
            };
            match op {
                Binary::Add => number(|x, y| x + y, |x, y| x + y),
                Binary::Subtract => number(|x, y| x - y, |x, y| x - y),
                Binary::Multiply => number(|x, y| x * y, |x, y| x * y),
                Binary::Divide => number(|x, y| x / y, |x, y| x / y),
                Binary::Equal => truth(x == y),
                Binary::Less => truth(x < y),
                Binary::LessEqual => truth(x <= y),
                _ => unreachable!("{op:?} of floats"),
            }
        }
        B32 => (integers!(op, a, b, u32, i32, u64), B32),
        _ => (integers!(op, a, b, u64, i64, u128), of_type),
    }
}
