//! Checks that the host and the traced program compute the same bits. The tests run the program
//! with their own evaluator.

use super::{Elementary, evaluate_f32, evaluate_f64, expand};
use crate::ElementType;
use crate::primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, RegisterType, Unary};

/// The value of a register.
#[derive(Debug, Clone, Copy)]
enum Held {
    Bool(bool),
    B32(u32),
    B64(u64),
    F32(f32),
    F64(f64),
}
use Held::{B32, B64, Bool, F32, F64};

fn program(function: Elementary, element_type: ElementType) -> Program {
    let mut builder = ProgramBuilder::new(&vec![element_type; function.arity()], &[]);
    let inputs: Vec<_> =
        (0..function.arity()).map(|at| builder.push(Instruction::Input(u8::try_from(at).unwrap()))).collect();
    let result = expand(function, &mut builder, &inputs);
    builder.finish(result, element_type)
}

fn run(program: &Program, inputs: &[Held]) -> Held {
    let mut held: Vec<Held> = Vec::new();
    for &instruction in program.instructions() {
        let value = match instruction {
            Instruction::Constant(Constant::Bool(value)) => Bool(value),
            Instruction::Constant(Constant::B32(bits)) => B32(bits),
            Instruction::Constant(Constant::B64(bits)) => B64(bits),
            Instruction::Constant(Constant::F32(bits)) => F32(f32::from_bits(bits)),
            Instruction::Constant(Constant::F64(bits)) => F64(f64::from_bits(bits)),
            Instruction::Input(at) => inputs[usize::from(at)],
            Instruction::Unary(op, a) => unary(op, held[a.index()]),
            Instruction::Binary(op, a, b) => binary(op, held[a.index()], held[b.index()]),
            Instruction::Fma(a, b, c) => match (held[a.index()], held[b.index()], held[c.index()]) {
                (F32(a), F32(b), F32(c)) => F32(a.mul_add(b, c)),
                (F64(a), F64(b), F64(c)) => F64(a.mul_add(b, c)),
                other => panic!("{other:?}"),
            },
            Instruction::Select(condition, a, b) => {
                let Bool(condition) = held[condition.index()] else { panic!("no condition") };
                held[if condition { a } else { b }.index()]
            }
            other => panic!("{other:?}"),
        };
        held.push(value);
    }
    held[program.result().index()]
}

fn unary(op: Unary, a: Held) -> Held {
    match (op, a) {
        (Unary::Negate, F32(a)) => F32(-a),
        (Unary::Negate, F64(a)) => F64(-a),
        (Unary::Absolute, F32(a)) => F32(a.abs()),
        (Unary::Absolute, F64(a)) => F64(a.abs()),
        (Unary::SquareRoot, F32(a)) => F32(a.sqrt()),
        (Unary::SquareRoot, F64(a)) => F64(a.sqrt()),
        (Unary::Truncate, F32(a)) => F32(a.trunc()),
        (Unary::Truncate, F64(a)) => F64(a.trunc()),
        (Unary::Not, Bool(a)) => Bool(!a),
        (Unary::Not, B32(a)) => B32(!a),
        (Unary::Not, B64(a)) => B64(!a),
        (Unary::ZeroExtend, B32(a)) => B64(u64::from(a)),
        (Unary::Wrap, B64(a)) => B32(u32::try_from(a & 0xffff_ffff).unwrap()),
        (Unary::ToBits, F32(a)) => B32(a.to_bits()),
        (Unary::ToBits, F64(a)) => B64(a.to_bits()),
        (Unary::FromBits, B32(a)) => F32(f32::from_bits(a)),
        (Unary::FromBits, B64(a)) => F64(f64::from_bits(a)),
        (Unary::Widen, F32(a)) => F64(f64::from(a)),
        #[expect(clippy::cast_possible_truncation, reason = "rounds")]
        (Unary::Narrow, F64(a)) => F32(a as f32),
        (Unary::UnsignedToF64, B64(a)) => F64(a as f64),
        (Unary::SignedToF64, B32(a)) => F64(f64::from(a.cast_signed())),
        (Unary::SignedToF64, B64(a)) => F64(a.cast_signed() as f64),
        other => panic!("{other:?}"),
    }
}

fn binary(op: Binary, a: Held, b: Held) -> Held {
    match (op, a, b) {
        (Binary::Add, F32(a), F32(b)) => F32(a + b),
        (Binary::Add, F64(a), F64(b)) => F64(a + b),
        (Binary::Add, B32(a), B32(b)) => B32(a.wrapping_add(b)),
        (Binary::Add, B64(a), B64(b)) => B64(a.wrapping_add(b)),
        (Binary::Subtract, F32(a), F32(b)) => F32(a - b),
        (Binary::Subtract, F64(a), F64(b)) => F64(a - b),
        (Binary::Subtract, B32(a), B32(b)) => B32(a.wrapping_sub(b)),
        (Binary::Subtract, B64(a), B64(b)) => B64(a.wrapping_sub(b)),
        (Binary::Multiply, F32(a), F32(b)) => F32(a * b),
        (Binary::Multiply, F64(a), F64(b)) => F64(a * b),
        (Binary::Multiply, B32(a), B32(b)) => B32(a.wrapping_mul(b)),
        (Binary::Multiply, B64(a), B64(b)) => B64(a.wrapping_mul(b)),
        (Binary::Divide, F32(a), F32(b)) => F32(a / b),
        (Binary::Divide, F64(a), F64(b)) => F64(a / b),
        (Binary::MultiplyHigh, B32(a), B32(b)) => {
            B32(u32::try_from((u64::from(a) * u64::from(b)) >> 32).unwrap())
        }
        (Binary::MultiplyHigh, B64(a), B64(b)) => {
            B64(u64::try_from((u128::from(a) * u128::from(b)) >> 64).unwrap())
        }
        (Binary::And, Bool(a), Bool(b)) => Bool(a & b),
        (Binary::And, B32(a), B32(b)) => B32(a & b),
        (Binary::And, B64(a), B64(b)) => B64(a & b),
        (Binary::Or, Bool(a), Bool(b)) => Bool(a | b),
        (Binary::Or, B32(a), B32(b)) => B32(a | b),
        (Binary::Or, B64(a), B64(b)) => B64(a | b),
        (Binary::Xor, B32(a), B32(b)) => B32(a ^ b),
        (Binary::Xor, B64(a), B64(b)) => B64(a ^ b),
        // A distance outside the width panics here.
        (Binary::ShiftLeft, B32(a), B32(b)) => B32(a.checked_shl(b).expect("a distance within the width")),
        (Binary::ShiftLeft, B64(a), B32(b)) => B64(a.checked_shl(b).expect("a distance within the width")),
        (Binary::ShiftRight, B32(a), B32(b)) => B32(a.checked_shr(b).expect("a distance within the width")),
        (Binary::ShiftRight, B64(a), B32(b)) => B64(a.checked_shr(b).expect("a distance within the width")),
        (Binary::ShiftRightSigned, B32(a), B32(b)) => {
            B32(a.cast_signed().checked_shr(b).expect("a distance within the width").cast_unsigned())
        }
        (Binary::Equal, F32(a), F32(b)) => Bool(a == b),
        (Binary::Equal, F64(a), F64(b)) => Bool(a == b),
        (Binary::Equal, B32(a), B32(b)) => Bool(a == b),
        (Binary::Equal, B64(a), B64(b)) => Bool(a == b),
        (Binary::Less, F32(a), F32(b)) => Bool(a < b),
        (Binary::Less, F64(a), F64(b)) => Bool(a < b),
        (Binary::LessEqual, F32(a), F32(b)) => Bool(a <= b),
        (Binary::LessEqual, F64(a), F64(b)) => Bool(a <= b),
        (Binary::LessSigned, B32(a), B32(b)) => Bool(a.cast_signed() < b.cast_signed()),
        (Binary::LessSigned, B64(a), B64(b)) => Bool(a.cast_signed() < b.cast_signed()),
        (Binary::LessUnsigned, B32(a), B32(b)) => Bool(a < b),
        (Binary::LessUnsigned, B64(a), B64(b)) => Bool(a < b),
        other => panic!("{other:?}"),
    }
}

/// Bits that look random, the same in every run.
fn stirred(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
fn a_program_computes_what_the_host_computes() {
    let specials =
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, 5e-324, 1e-40];
    for &function in Elementary::ALL {
        let of_f32 = program(function, ElementType::F32);
        let of_f64 = program(function, ElementType::F64);
        for seed in 0..600_u64 {
            let [x, y] = [seed * 2, seed * 2 + 1].map(|at| {
                let bits = stirred(at + 7);
                match seed % 3 {
                    0 => f64::from_bits(bits),
                    1 => (bits >> 11) as f64 / (1_u64 << 50) as f64 - 4.0,
                    _ => specials[(bits % 12) as usize],
                }
            });
            let mut expected = [0.0];
            evaluate_f64(function, &[x], &[y], &mut expected);
            let F64(result) = run(&of_f64, &[F64(x), F64(y)]) else { panic!("no f64") };
            let same = result.to_bits() == expected[0].to_bits() || (result.is_nan() && expected[0].is_nan());
            assert!(same, "{}({x:e}, {y:e}) is {result:e}, not {:e}", function.name(), expected[0]);

            let [x, y] = if seed % 3 == 0 {
                [stirred(seed), stirred(seed + 1000)].map(|bits| f32::from_bits(bits as u32))
            } else {
                [x, y].map(|number| number as f32)
            };
            let mut expected = [0.0];
            evaluate_f32(function, &[x], &[y], &mut expected);
            let F32(result) = run(&of_f32, &[F32(x), F32(y)]) else { panic!("no f32") };
            let same = result.to_bits() == expected[0].to_bits() || (result.is_nan() && expected[0].is_nan());
            assert!(same, "{}({x:e}, {y:e}) is {result:e}, not {:e}", function.name(), expected[0]);
        }
    }
}

#[test]
fn functions_stay_short() {
    for &function in Elementary::ALL {
        for element_type in [ElementType::F32, ElementType::F64] {
            let program = program(function, element_type);
            let floats = program.instructions().iter().enumerate().filter(|&(at, instruction)| {
                let arithmetic = match instruction {
                    Instruction::Fma(..) => true,
                    Instruction::Binary(op, ..) => {
                        matches!(op, Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide)
                    }
                    Instruction::Unary(op, _) => {
                        matches!(op, Unary::SquareRoot | Unary::RoundEven | Unary::Truncate)
                    }
                    _ => false,
                };
                arithmetic && program.types()[at] == RegisterType::F64
            });
            let count = floats.count();
            let all =
                program.instructions().iter().filter(|i| !matches!(i, Instruction::Constant(_))).count();
            println!("{} {element_type:?}: {count} of f64, {all} in all", function.name());
            assert!(all < 240, "{}: {all} instructions", function.name());
            // A device computes about 28 operations of f64 while it moves an element of f32, and
            // the most used functions stay below that.
            let limit = match (function, element_type) {
                (
                    Elementary::Exp | Elementary::Log | Elementary::Sin | Elementary::Cos | Elementary::Tanh,
                    ElementType::F32,
                ) => 18,
                _ => 120,
            };
            assert!(count <= limit, "{} {element_type:?}: {count} instructions of f64", function.name());
        }
    }
}
