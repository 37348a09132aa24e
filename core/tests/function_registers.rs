//! The register types that each primitive takes and gives: all others are refused.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::panic::{AssertUnwindSafe, catch_unwind};

use devarray::function::{
    ElementType,
    primitive::{Binary, Constant, Instruction, ProgramBuilder, Register, RegisterType, Unary},
};

/// An element type for each type of register.
const TYPES: [ElementType; 5] =
    [ElementType::Bool, ElementType::U32, ElementType::U64, ElementType::F32, ElementType::F64];

/// The types that an instruction of `N` registers takes, each with the type of its result, in the
/// order of [`TYPES`].
fn taken<const N: usize>(make: impl Fn([Register; N]) -> Instruction) -> String {
    let each = TYPES.len();
    let combinations = (0..each.pow(u32::try_from(N).unwrap())).map(|number| {
        std::array::from_fn::<_, N, _>(|at| number / each.pow(u32::try_from(N - 1 - at).unwrap()) % each)
    });
    let found = combinations.filter_map(|types| {
        // Each register is an input of its own, since operations on one register twice are
        // simplified.
        let mut builder = ProgramBuilder::new(&types.map(|at| TYPES[at]), &[]);
        let registers: [Register; N] =
            std::array::from_fn(|at| builder.push(Instruction::Input(u8::try_from(at).unwrap())));
        let names: Vec<_> = registers.iter().map(|&a| format!("{:?}", builder.type_of(a))).collect();
        let result = catch_unwind(AssertUnwindSafe(|| builder.push(make(registers)))).ok()?;
        Some(format!("{} -> {:?}", names.join(" "), builder.type_of(result)))
    });
    found.collect::<Vec<_>>().join(", ")
}

const FLOAT: &str = "F32 -> F32, F64 -> F64";
const TO_F32: &str = "B32 -> F32, B64 -> F32";
const TO_F64: &str = "B32 -> F64, B64 -> F64";
const TO_32: &str = "F32 -> B32, F64 -> B32";
const TO_64: &str = "F32 -> B64, F64 -> B64";

#[test]
fn operations_of_one_register() {
    let expected = [
        (Unary::Negate, FLOAT),
        (Unary::Absolute, FLOAT),
        (Unary::SquareRoot, FLOAT),
        (Unary::Floor, FLOAT),
        (Unary::Ceil, FLOAT),
        (Unary::Truncate, FLOAT),
        (Unary::RoundEven, FLOAT),
        (Unary::Not, "Bool -> Bool, B32 -> B32, B64 -> B64"),
        (Unary::CountOnes, "B32 -> B32, B64 -> B32"),
        (Unary::LeadingZeros, "B32 -> B32, B64 -> B32"),
        (Unary::BoolToB32, "Bool -> B32"),
        (Unary::SignExtend, "B32 -> B64"),
        (Unary::ZeroExtend, "B32 -> B64"),
        (Unary::Wrap, "B64 -> B32"),
        (Unary::ToBits, "F32 -> B32, F64 -> B64"),
        (Unary::FromBits, "B32 -> F32, B64 -> F64"),
        (Unary::Widen, "F32 -> F64"),
        (Unary::Narrow, "F64 -> F32"),
        (Unary::HalfToF32, "B32 -> F32"),
        (Unary::F32ToHalf, "F32 -> B32"),
        (Unary::SignedToF32, TO_F32),
        (Unary::UnsignedToF32, TO_F32),
        (Unary::SignedToF64, TO_F64),
        (Unary::UnsignedToF64, TO_F64),
        (Unary::ToSigned32, TO_32),
        (Unary::ToUnsigned32, TO_32),
        (Unary::ToSigned64, TO_64),
        (Unary::ToUnsigned64, TO_64),
    ];
    for (op, types) in expected {
        assert_eq!(taken(|[a]| Instruction::Unary(op, a)), types, "{op:?}");
    }
}

#[test]
fn operations_of_two_registers() {
    const FLOATS: &str = "F32 F32 -> F32, F64 F64 -> F64";
    const BITS: &str = "B32 B32 -> B32, B64 B64 -> B64";
    const TRUTHS_AND_BITS: &str = "Bool Bool -> Bool, B32 B32 -> B32, B64 B64 -> B64";
    const NUMBERS: &str = "B32 B32 -> B32, B64 B64 -> B64, F32 F32 -> F32, F64 F64 -> F64";
    const SHIFTED: &str = "B32 B32 -> B32, B64 B32 -> B64";
    const BITS_COMPARED: &str = "B32 B32 -> Bool, B64 B64 -> Bool";
    const FLOATS_COMPARED: &str = "F32 F32 -> Bool, F64 F64 -> Bool";
    let expected = [
        (Binary::Add, NUMBERS),
        (Binary::Subtract, NUMBERS),
        (Binary::Multiply, NUMBERS),
        (Binary::Divide, FLOATS),
        (Binary::MultiplyHigh, BITS),
        (Binary::DivideSigned, BITS),
        (Binary::DivideUnsigned, BITS),
        (Binary::RemainderSigned, BITS),
        (Binary::RemainderUnsigned, BITS),
        (Binary::And, TRUTHS_AND_BITS),
        (Binary::Or, TRUTHS_AND_BITS),
        (Binary::Xor, TRUTHS_AND_BITS),
        (Binary::ShiftLeft, SHIFTED),
        (Binary::ShiftRight, SHIFTED),
        (Binary::ShiftRightSigned, SHIFTED),
        (Binary::Equal, &format!("{BITS_COMPARED}, {FLOATS_COMPARED}")),
        (Binary::Less, FLOATS_COMPARED),
        (Binary::LessEqual, FLOATS_COMPARED),
        (Binary::LessSigned, BITS_COMPARED),
        (Binary::LessUnsigned, BITS_COMPARED),
    ];
    for (op, types) in expected {
        assert_eq!(taken(|[a, b]| Instruction::Binary(op, a, b)), types, "{op:?}");
    }
}

#[test]
fn operations_of_three_registers() {
    assert_eq!(taken(|[a, b, c]| Instruction::Fma(a, b, c)), "F32 F32 F32 -> F32, F64 F64 F64 -> F64");
    let selected = "Bool Bool Bool -> Bool, Bool B32 B32 -> B32, Bool B64 B64 -> B64, Bool F32 F32 -> F32, \
                    Bool F64 F64 -> F64";
    assert_eq!(taken(|[a, b, c]| Instruction::Select(a, b, c)), selected);
}

#[test]
fn a_program_stores_only_what_its_register_holds() {
    let stored: Vec<_> = TYPES
        .into_iter()
        .map(|of| {
            let stores = ElementType::ALL.into_iter().filter(|&to| {
                let mut builder = ProgramBuilder::new(&[of], &[]);
                let result = builder.push(Instruction::Input(0));
                catch_unwind(AssertUnwindSafe(|| builder.finish(result, to))).is_ok()
            });
            (RegisterType::of(of), stores.map(ElementType::name).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let expected = [
        (RegisterType::Bool, "bool"),
        (RegisterType::B32, "i8 u8 i16 u16 i32 u32 f16 bf16"),
        (RegisterType::B64, "i64 u64"),
        (RegisterType::F32, "f32"),
        (RegisterType::F64, "f64"),
    ];
    assert_eq!(stored, expected.map(|(of, names)| (of, names.to_owned())));
}

/// An existing instruction is not made again, and unneeded instructions are left out.
#[test]
fn a_program_has_each_instruction_once_and_none_that_nothing_reads() {
    let mut builder = ProgramBuilder::new(&[ElementType::F64; 2], &[ElementType::F64]);
    let [x, y] = [0, 1].map(|at| builder.push(Instruction::Input(at)));
    let unused = builder.binary(Binary::Divide, x, y);
    let k = builder.push(Instruction::Scalar(0));
    let sum = builder.binary(Binary::Add, x, k);
    assert_eq!(builder.binary(Binary::Add, x, k), sum);
    let two = builder.constant(Constant::F64(2.0_f64.to_bits()));
    let _behind = builder.binary(Binary::Multiply, unused, two);
    let four = builder.binary(Binary::Add, two, two);
    assert_eq!(builder.constant_of(four), Some(Constant::F64(4.0_f64.to_bits())));
    assert_eq!((builder.constant_of(sum), builder.type_of(sum)), (None, RegisterType::F64));
    let result = builder.fma(sum, four, sum);
    let _after = builder.unary(Unary::Negate, result);
    let program = builder.finish(result, ElementType::F64);
    let [x, k, sum, four, fma] = {
        let instructions = program.instructions();
        assert_eq!(instructions.len(), 5);
        [0, 1, 2, 3, 4].map(|at| instructions[at])
    };
    assert_eq!((x, k), (Instruction::Input(0), Instruction::Scalar(0)));
    assert!(matches!(sum, Instruction::Binary(Binary::Add, a, b) if (a.index(), b.index()) == (0, 1)));
    assert_eq!(four, Instruction::Constant(Constant::F64(4.0_f64.to_bits())));
    assert!(matches!(fma, Instruction::Fma(a, b, c) if (a.index(), b.index(), c.index()) == (2, 3, 2)));
    assert_eq!((program.result().index(), program.result_type()), (4, ElementType::F64));
}
