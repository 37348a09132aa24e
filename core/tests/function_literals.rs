//! Literals are rounded once, to the nearest number of the type: compared with exact integers.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "helpers of tests")]

use std::cmp::Ordering;

use devarray::function::{ElementType, Function, FunctionErrorKind, Operation};
use devarray_conformance::Rng;

/// The number of fraction bits, and the exponent field of 1.
const FORMATS: [(ElementType, Format); 4] = [
    (ElementType::F16, (10, 15)),
    (ElementType::BF16, (7, 127)),
    (ElementType::F32, (23, 127)),
    (ElementType::F64, (52, 1023)),
];

type Format = (u32, u64);

/// The bits of a literal beside an input of a type; none if it overflows.
fn literal(text: &str, of: ElementType) -> Option<u64> {
    let function = match Function::parse(&format!("x0 + {text}"), &[of], &[]) {
        Ok(function) => function,
        Err(error) => {
            assert_eq!(error.kind(), FunctionErrorKind::Type, "{text}");
            assert_eq!(error.message(), format!("the number overflows {of}"), "{text}");
            return None;
        }
    };
    function.nodes().iter().find_map(|node| match node.operation() {
        Operation::Constant(bits) => Some(bits),
        _ => None,
    })
}

/// The exponent of the lowest bit of a number's fraction.
fn lowest(bits: u64, (fraction_bits, bias): Format) -> i32 {
    (bits >> fraction_bits).max(1) as i32 - bias as i32 - fraction_bits.cast_signed()
}

/// A number in units of 2^`unit`, rounded down; the largest integer if it is too large.
fn in_units(bits: u64, format: Format, unit: i32) -> u128 {
    let leading = 1 << format.0;
    let fraction = u128::from(bits % leading + if bits < leading { 0 } else { leading });
    let shift = lowest(bits, format) - unit;
    match u32::try_from(shift) {
        Ok(left) if left < fraction.leading_zeros() => fraction << left,
        Ok(_) => u128::MAX,
        Err(_) => fraction.checked_shr(shift.unsigned_abs()).unwrap_or(0),
    }
}

/// The bits of the number nearest to `n` units, searched for among all; of two, the even one.
fn nearest(n: u128, unit: i32, format: Format) -> u64 {
    let (mut low, mut high) = (0, (2 * format.1 + 1) << format.0);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if in_units(middle, format, unit) <= n { low = middle } else { high = middle }
    }
    let (below, above) = (n - in_units(low, format, unit), in_units(high, format, unit) - n);
    match below.cmp(&above) {
        Ordering::Less => low,
        Ordering::Greater => high,
        Ordering::Equal => low + low % 2,
    }
}

/// Exact numbers, ties, and numbers one unit beside either.
#[test]
fn hexadecimal_literals_are_the_nearest_numbers() {
    let mut rng = Rng::new(5);
    for (of, format) in FORMATS {
        let (fraction_bits, bias) = format;
        let sign = 1 << (of.len_bytes() * 8 - 1);
        for _ in 0..400 {
            // From 2^-16, where `f16` is subnormal, to 2^8.
            let from = bias.saturating_sub(16) << fraction_bits;
            let bits = from + rng.below(24 << fraction_bits) as u64;
            // An `f64` does not hold most of the numbers below, nor do the digits that are kept.
            let unit = lowest(bits, format) - rng.pick(&[1, 2, 9, 31, 45, 60, 70]);
            let (here, next) = (in_units(bits, format, unit), in_units(bits + 1, format, unit));
            let tie = u128::midpoint(here, next);
            for n in [here, here + 1, tie - 1, tie, tie + 1, next - 1, next] {
                let text = format!("{n:#x}p{unit}");
                let due = nearest(n, unit, format);
                assert_eq!(literal(&text, of), Some(due), "{text} in {of}");
                assert_eq!(literal(&format!("-{text}"), of), Some(due | sign), "-{text} in {of}");
            }
        }
    }
}

/// Cases written out: numbers beside ties above even and odd numbers, by less than an `f64` shows,
/// and at both ends of the types.
#[test]
fn a_bit_far_below_a_tie_decides() {
    let cases = [
        (ElementType::F16, "0x1.0020000000000000p0", 0x3c00),
        (ElementType::F16, "0x1.00200000000000001p0", 0x3c01),
        (ElementType::F16, "0x1.001fffffffffffffffffp0", 0x3c00),
        (ElementType::F16, "0x1.0060000000000000p0", 0x3c02),
        (ElementType::F16, "0x1.00600000000000001p0", 0x3c02),
        (ElementType::F16, "0x1.005fffffffffffffffffp0", 0x3c01),
        (ElementType::F16, "0x1p-25", 0),
        (ElementType::F16, "0x1.00000000000000000001p-25", 1),
        (ElementType::F16, "0x0.ffffffffffffffffffp-25", 0),
        (ElementType::F16, "0x1.ffdfffffffffffffffp15", 0x7bff),
        (ElementType::BF16, "0x1.01p0", 0x3f80),
        (ElementType::BF16, "0x1.010000000000000001p0", 0x3f81),
        (ElementType::BF16, "0x1.00fffffffffffffffffp0", 0x3f80),
        (ElementType::BF16, "0x1.03p0", 0x3f82),
        (ElementType::BF16, "0x1.02fffffffffffffffffp0", 0x3f81),
        (ElementType::BF16, "0x1p-134", 0),
        (ElementType::BF16, "0x1.00000000000000000001p-134", 1),
        (ElementType::F32, "0x1.000001p0", 0x3f80_0000),
        (ElementType::F32, "0x1.00000100000000000001p0", 0x3f80_0001),
        (ElementType::F32, "0x1.000000ffffffffffffffp0", 0x3f80_0000),
        (ElementType::F32, "0x1.000003p0", 0x3f80_0002),
        (ElementType::F32, "0x1.000002ffffffffffffffp0", 0x3f80_0001),
        (ElementType::F32, "0x1p-150", 0),
        (ElementType::F32, "0x1.00000000000000000001p-150", 1),
        (ElementType::F32, "0x1p-2000", 0),
        (ElementType::F64, "0x1.00000000000008p0", 0x3ff0_0000_0000_0000),
        (ElementType::F64, "0x1.00000000000008000001p0", 0x3ff0_0000_0000_0001),
        (ElementType::F64, "0x1.00000000000018p0", 0x3ff0_0000_0000_0002),
        (ElementType::F64, "0x1p-1075", 0),
        (ElementType::F64, "0x1.00000000000000000001p-1075", 1),
    ];
    for (of, text, due) in cases {
        assert_eq!(literal(text, of), Some(due), "{text} in {of}");
    }
    // The tie between the greatest number and its would-be successor overflows; numbers below the
    // tie do not.
    for (of, fits, over) in [
        (ElementType::F16, "0x1.ffdffffffffffffffp15", "0x1.ffep15"),
        (ElementType::BF16, "0x1.fefffffffffffffffp127", "0x1.ffp127"),
        (ElementType::F32, "0x1.fffffefffffffffffp127", "0x1.ffffffp127"),
        (ElementType::F64, "0x1.fffffffffffff7ffffp1023", "0x1.fffffffffffff8p1023"),
    ] {
        assert_eq!([literal(over, of), literal(&format!("-{over}"), of)], [None, None], "{over}");
        let infinity = literal("inf", of).unwrap();
        assert_eq!(literal(fits, of), Some(infinity - 1), "{fits} in {of}");
        assert_eq!(literal("-inf", of), Some(infinity | 1 << (of.len_bytes() * 8 - 1)));
    }
}

/// A minus is the sign of any literal, and changes nothing else of it.
#[test]
fn a_minus_is_the_sign_of_a_literal() {
    let huge = format!("{:.0}", 2.0_f64.powi(200));
    let texts = ["2", "2.5", "1e-3", "0.0", "0x10", "0x1.8p-3", "0x0p0", "inf"];
    for (of, _) in FORMATS {
        let sign = 1 << (of.len_bytes() * 8 - 1);
        for text in texts.into_iter().chain((of == ElementType::F64).then_some(&*huge)) {
            let positive = literal(text, of).unwrap();
            assert_eq!(positive & sign, 0, "{text} in {of}");
            assert_eq!(literal(&format!("-{text}"), of), Some(positive | sign), "-{text} in {of}");
        }
        // An integer has no negative zero.
        assert_eq!([literal("-0", of), literal("-0x0", of)], [Some(0); 2], "{of}");
        assert_eq!(literal("-nan", of), literal("nan", of), "{of}");
    }
}

/// Decimal literals whose nearest `f64` is a tie of the type: the difference from the tie decides.
#[test]
fn decimal_literals_beside_a_tie_are_rounded_once() {
    let zeros = "0".repeat(40);
    for (of, below_even, below_odd, even) in [
        (ElementType::F16, "1.00146484375", "1.00048828125", 0x3c00),
        (ElementType::BF16, "1.01171875", "1.00390625", 0x3f80),
        (ElementType::F32, "1.000000178813934326171875", "1.000000059604644775390625", 0x3f80_0000),
    ] {
        // The last digit is 5: one less, followed by as many nines as leave the nearest `f64` the
        // same.
        let less = |text: &str| format!("{}4{}", &text[..text.len() - 1], "9".repeat(40));
        assert_eq!(literal(below_odd, of), Some(even), "{below_odd} in {of}");
        assert_eq!(literal(&less(below_odd), of), Some(even), "less than {below_odd} in {of}");
        assert_eq!(
            literal(&format!("{below_odd}{zeros}1"), of),
            Some(even + 1),
            "more than {below_odd} in {of}"
        );
        assert_eq!(literal(below_even, of), Some(even + 2), "{below_even} in {of}");
        assert_eq!(literal(&less(below_even), of), Some(even + 1), "less than {below_even} in {of}");
        assert_eq!(
            literal(&format!("{below_even}{zeros}1"), of),
            Some(even + 2),
            "more than {below_even} in {of}"
        );
    }
}
