//! Elementary functions against values that MPFR computed: `core/prove/cases.py` writes them.
//!
//! The inputs of `f32` include, out of all 2^32, the ones whose values are nearest to the middle
//! between two numbers.

use devarray::function::elementary::{Elementary, evaluate_f32, evaluate_f64};

/// The function, the bits of its arguments, and the bits of the result.
fn cases(text: &str) -> impl Iterator<Item = (Elementary, Vec<u64>, u64)> {
    text.lines().map(|line| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name");
        let function = Elementary::ALL.iter().copied().find(|function| function.name() == name);
        let function = function.expect("a known name");
        let mut bits: Vec<u64> = words.map(|word| u64::from_str_radix(word, 16).expect("bits")).collect();
        let result = bits.pop().expect("a result");
        assert_eq!(bits.len(), function.arity(), "{line}");
        (function, bits, result)
    })
}

/// The number of representable numbers between two, where −0 is next to +0.
fn distance(a: i64, b: i64, least: i64) -> u64 {
    let place = |bits: i64| if bits < 0 { least - bits } else { bits };
    place(a).abs_diff(place(b))
}

#[test]
fn functions_of_f32_are_correctly_rounded() {
    let mut count = 0;
    for (function, arguments, expected) in cases(include_str!("elementary/f32.txt")) {
        let x: Vec<f32> =
            arguments.iter().map(|&bits| f32::from_bits(u32::try_from(bits).unwrap())).collect();
        let expected = f32::from_bits(u32::try_from(expected).unwrap());
        let mut results = [0.0];
        evaluate_f32(function, &x[..1], &x[x.len() - 1..], &mut results);
        let name = function.name();
        let (found, wanted) = (results[0].to_bits(), expected.to_bits());
        let apart =
            distance(i64::from(found.cast_signed()), i64::from(wanted.cast_signed()), i64::from(i32::MIN));
        let allowed = if function.arity() == 1 || expected == 0.0 { 0 } else { 1 };
        let same_sign = found >> 31 == wanted >> 31;
        let good = (results[0].is_nan() && expected.is_nan()) || (apart <= allowed && same_sign);
        assert!(good, "{name} of {x:?} is {:e}, not {expected:e}", results[0]);
        count += 1;
    }
    assert!(count > 3000, "{count} cases");
}

#[test]
fn functions_of_f64_are_within_one_unit() {
    let mut count = 0;
    for (function, arguments, expected) in cases(include_str!("elementary/f64.txt")) {
        let x: Vec<f64> = arguments.iter().map(|&bits| f64::from_bits(bits)).collect();
        let expected = f64::from_bits(expected);
        let mut results = [0.0];
        evaluate_f64(function, &x[..1], &x[x.len() - 1..], &mut results);
        let name = function.name();
        let (found, wanted) = (results[0].to_bits(), expected.to_bits());
        let apart = distance(found.cast_signed(), wanted.cast_signed(), i64::MIN);
        let good = (results[0].is_nan() && expected.is_nan()) || (apart <= 1 && found >> 63 == wanted >> 63);
        assert!(good, "{name} of {x:?} is {:e}, not {expected:e}", results[0]);
        count += 1;
    }
    assert!(count > 3000, "{count} cases");
}
