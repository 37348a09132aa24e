//! Remainders of floats are exact: compared with Rust's `%` on numbers of every exponent. Every
//! operation of every type is refused when it is built, or has an expansion. Results are rounded
//! once. NaN has one form.
#![allow(unsafe_code)] // interprets programs on memory of its own
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "helpers of tests")]

use devarray::{
    Layout, Order,
    function::{
        BinaryOperation, ElementType, Function, FunctionBuilder, UnaryOperation,
        interpreter::{InputElements, ResultElements, interpret},
    },
};
use devarray_conformance::Rng;

/// The values of a function for pairs of elements.
fn compute<T: Copy, R: Copy + Default>(text: &str, of: ElementType, a: &[T], b: &[T]) -> Vec<R> {
    let function = Function::parse(text, &[of; 2], &[]).unwrap();
    assert_eq!((of.len_bytes(), function.result_type().len_bytes()), (size_of::<T>(), size_of::<R>()));
    let layout = Layout::contiguous(&[a.len()], Order::C).unwrap();
    let mut result = vec![R::default(); a.len()];
    let inputs = [a, b].map(|input| InputElements { start: input.as_ptr().cast(), layout: &layout });
    let out = ResultElements { start: result.as_mut_ptr().cast(), layout: &layout };
    // SAFETY: all operands have as many elements as the layout, of their sizes
    unsafe { interpret(&function.expand(), &inputs, &[], out) };
    result
}

/// An endless sequence of numbers, the same each time.
fn random() -> impl Iterator<Item = u64> {
    let mut rng = Rng::new(1);
    std::iter::repeat_with(move || rng.bits())
}

const PAIRS: usize = 100_000;

/// Pairs whose exponents are anywhere, or near each other, or at the ends; and the bits of any
/// float.
fn pairs(exponent_bits: u32, fraction_bits: u32) -> (Vec<u64>, Vec<u64>) {
    let width = exponent_bits + fraction_bits + 1;
    let mut random = random();
    let mut next = move || random.next().unwrap();
    (0..PAIRS)
        .map(|_| {
            let any = || (next)() >> (64 - width);
            let mut any = any;
            let (a, b, kind) = (any(), any(), any() % 4);
            let fraction = (1 << fraction_bits) - 1;
            match kind {
                // A multiple of the divisor's unit, and exponents at most 3 apart.
                0 => (a, b & fraction | a & !fraction ^ (any() % 4) << fraction_bits),
                // Few bits in the divisor give remainders of zero.
                1 => (a, b & !(fraction >> 3)),
                // A subnormal divisor.
                2 => (a, b & fraction),
                _ => (a, b),
            }
        })
        .unzip()
}

#[test]
fn remainders_of_f64_are_exact() {
    let (a, b) = pairs(11, 52);
    let found: Vec<u64> = compute("fmod(x0, x1)", ElementType::F64, &a, &b);
    let mut subnormal = 0;
    for ((a, b), found) in a.iter().zip(&b).zip(found).map(|((&a, &b), found)| ((a, b), found)) {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        let expected = a % b;
        subnormal += u32::from(expected.is_subnormal());
        let bits = if expected.is_nan() { f64::NAN.to_bits() } else { expected.to_bits() };
        assert_eq!(found, bits, "{a:e} % {b:e} = {expected:e}");
    }
    assert!(subnormal > 300, "the cases say something about subnormals");
}

#[test]
fn remainders_of_f32_and_halves_are_exact() {
    let (a, b) = pairs(8, 23);
    let [a, b] =
        [a, b].map(|bits| bits.into_iter().map(|bits| f32::from_bits(bits as u32)).collect::<Vec<_>>());
    let found: Vec<f32> = compute("fmod(x0, x1)", ElementType::F32, &a, &b);
    for ((a, b), found) in a.iter().zip(&b).zip(found) {
        let expected = a % b;
        assert!(
            found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()),
            "{a:e} % {b:e}"
        );
    }
    let (a, b) = pairs(5, 10);
    let [a, b] =
        [a, b].map(|bits| bits.into_iter().map(|bits| half::f16::from_bits(bits as u16)).collect::<Vec<_>>());
    let found: Vec<u16> = compute("fmod(x0, x1)", ElementType::F16, &a, &b);
    for ((a, b), found) in a.iter().zip(&b).zip(found) {
        let expected = half::f16::from_f32(a.to_f32() % b.to_f32());
        let bits = if expected.is_nan() { 0x7e00 } else { expected.to_bits() };
        assert_eq!(found, bits, "{a} % {b}");
    }
    let (a, b) = pairs(8, 7);
    let [a, b] = [a, b]
        .map(|bits| bits.into_iter().map(|bits| half::bf16::from_bits(bits as u16)).collect::<Vec<_>>());
    let found: Vec<u16> = compute("fmod(x0, x1)", ElementType::BF16, &a, &b);
    for ((a, b), found) in a.iter().zip(&b).zip(found) {
        let expected = half::bf16::from_f32(a.to_f32() % b.to_f32());
        let bits = if expected.is_nan() { 0x7fc0 } else { expected.to_bits() };
        assert_eq!(found, bits, "{a} % {b}");
    }
}

#[test]
fn integers_become_halves_in_one_rounding() {
    // 2^62 is followed by 2^62 + 2^55 in bf16; an f64 does not hold the numbers just beside the tie
    // between them.
    let tie = (1_i64 << 62) + (1 << 54);
    let cases = [(tie, 0x5e80), (tie + 1, 0x5e81), (tie - 1, 0x5e80), (-tie, 0xde80), (-tie - 1, 0xde81)];
    let (numbers, expected): (Vec<i64>, Vec<u16>) = cases.into_iter().unzip();
    assert_eq!(compute::<i64, u16>("cast(x0, bf16)", ElementType::I64, &numbers, &numbers), expected);
    let tie = (1_u64 << 63) + (1 << 55);
    let numbers = [tie, tie + 1, tie - 1, u64::MAX];
    assert_eq!(
        compute::<u64, u16>("cast(x0, bf16)", ElementType::U64, &numbers, &numbers),
        [0x5f00, 0x5f01, 0x5f00, 0x5f80]
    );
    // An f64 is rounded to f16 in one step: an f32 in between would make a tie of some of these.
    let tie = 1.0 + 2.0_f64.powi(-11);
    let numbers = [tie, tie + 2.0_f64.powi(-40), -tie - 2.0_f64.powi(-40), 1e-8, 65519.9, 65520.0];
    assert_eq!(
        compute::<f64, u16>("cast(x0, f16)", ElementType::F64, &numbers, &numbers),
        [0x3c00, 0x3c01, 0xbc01, 0, 0x7bff, 0x7c00]
    );
}

#[test]
fn a_nan_of_any_bits_stays_one() {
    let numbers = [0x7f80_0001, 0xff80_0001, 0x7fff_ffff, 0xffff_8000, 0x7fbf_ffff_u32];
    for (text, expected) in [("cast(x0, bf16)", 0x7fc0), ("cast(x0, f16)", 0x7e00)] {
        assert_eq!(compute::<u32, u16>(text, ElementType::F32, &numbers, &numbers), [expected; 5], "{text}");
    }
    assert_eq!(compute::<u32, u32>("-x0", ElementType::F32, &numbers, &numbers), [0x7fc0_0000; 5]);
    assert_eq!(compute::<u32, u8>("signbit(x0)", ElementType::F32, &numbers, &numbers), [0; 5]);
    assert_eq!(
        compute::<u32, u32>("bitcast(x0, u32)", ElementType::F32, &numbers, &numbers),
        [0x7fc0_0000; 5]
    );
    assert_eq!(
        compute::<u32, u32>("copysign(cast(1, f32), x0)", ElementType::F32, &numbers, &numbers),
        [0x3f80_0000; 5]
    );
}

#[test]
fn every_operation_of_every_type_is_refused_or_expanded() {
    let (mut unary, mut binary) = (0, 0);
    for of in ElementType::ALL {
        let builder = || FunctionBuilder::new(&[of; 2], &[]).unwrap();
        for name in UNARY {
            let operation = UnaryOperation::from_name(name).unwrap();
            let mut builder = builder();
            let x = builder.input(0).unwrap();
            if let Ok(value) = builder.unary(operation, x) {
                let function = builder.finish(value).unwrap();
                assert_eq!(function.expand().result_type(), function.result_type(), "{name} of {of}");
                unary += 1;
            }
        }
        for operator in
            ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
        {
            if let Ok(function) = Function::parse(&format!("x0 {operator} x1"), &[of; 2], &[]) {
                assert_eq!(function.expand().result_type(), function.result_type(), "{operator} of {of}");
                binary += 1;
            }
        }
        for name in ["fmod", "minimum", "maximum", "fmin", "fmax", "atan2", "hypot", "copysign"] {
            let operation = BinaryOperation::from_name(name).unwrap();
            let mut builder = builder();
            let (x, y) = (builder.input(0).unwrap(), builder.input(1).unwrap());
            if let Ok(value) = builder.binary(operation, x, y) {
                assert_eq!(builder.finish(value).unwrap().expand().result_type(), of, "{name} of {of}");
                binary += 1;
            }
        }
    }
    // Four float types with all functions but one; eight integer types with four; and numbers with
    // everything else.
    assert_eq!(unary, 4 * 37 + 8 * 4);
    assert_eq!(binary, 12 * (6 + 4 + 2) + 4 + 8 * 5 + 5 + 12 * 5 + 4 * 3);
}

/// Functions of one element.
pub(crate) const UNARY: [&str; 38] = [
    "abs",
    "sign",
    "square",
    "reciprocal",
    "sqrt",
    "rsqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "sigmoid",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "bitwise_count",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
];
