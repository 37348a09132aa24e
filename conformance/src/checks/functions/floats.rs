//! The meaning of operations on floats, to the bit.

use std::cmp::Ordering;

use devarray::{
    backend::Compute,
    function::{ElementType, Float, Real},
};

use crate::{
    Harness, Outcome,
    computing::{Line, computing, gives},
    violation::ensure,
};

/// Numbers at which operations often differ: zeros, subnormals, the ends of the range, and ties of
/// rounding.
pub(super) const HARD_F32: [f32; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.5,
    -2.5,
    3.0,
    0.1,
    -0.7,
    1e-40,
    -3e-42,
    1.4e-45,
    f32::MIN_POSITIVE,
    16_777_217.0,
    0.333_333_34,
    1.000_000_1,
    -1e30,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

pub(super) const HARD_F64: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0,
    0.1,
    5e-324,
    -1e-310,
    f64::MIN_POSITIVE,
    1.000_000_000_000_000_2,
    -1e200,
    4_503_599_627_370_497.5,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Every pair of values.
pub(super) fn pairs<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
}

/// Functions of two numbers, with Rust functions that give the expected result for every pair.
type Binary<T, R> = [(&'static str, fn(T, T) -> R)];

fn of_pairs<D: Compute, T: Float, R: devarray::function::Computable>(
    stream: &devarray::StreamHandle<D>,
    values: &[T],
    functions: &Binary<T, R>,
) -> Outcome {
    let (a, b) = pairs(values);
    for (text, right) in functions {
        let due: Vec<R> = a.iter().zip(&b).map(|(&a, &b)| right(a, b)).collect();
        gives(stream, text, &[Line::of(&a), Line::of(&b)], &[], &Line::of(&due))?;
    }
    Ok(())
}

/// Each operation is rounded once, to nearest even, and keeps subnormals.
pub fn arithmetic<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    macro_rules! checks {
        ($float:ty, $values:expr) => {
            let functions: &Binary<$float, $float> = &[
                ("x0 + x1", |a, b| a + b),
                ("x0 - x1", |a, b| a - b),
                ("x0 * x1", |a, b| a * b),
                ("x0 / x1", |a, b| a / b),
                ("sqrt(x0) + x1 * 0.0", |a, b| a.sqrt() + b * 0.0),
                ("floor(x0) - x1", |a, b| a.floor() - b),
                ("ceil(x0) - x1", |a, b| a.ceil() - b),
                ("trunc(x0) - x1", |a, b| a.trunc() - b),
                ("rint(x0) - x1", |a, b| a.round_ties_even() - b),
                ("copysign(-abs(x0), x1)", |a, b| a.abs().copysign(if b.is_nan() { 1.0 } else { b })),
                ("nextafter(x0, x1)", |a, b| match a.partial_cmp(&b) {
                    Some(Ordering::Less) => a.next_up(),
                    Some(Ordering::Greater) => a.next_down(),
                    Some(Ordering::Equal) => b,
                    None => <$float>::NAN,
                }),
                ("logaddexp(x0, x1)", |a, b| {
                    let distance = if a == b { 0.0 } else { (a - b).abs() };
                    Real::maximum(a, b) + Real::ln_1p(Real::exp(-distance))
                }),
            ];
            of_pairs(&stream, &$values, functions)?;
        };
    }
    checks!(f32, HARD_F32);
    checks!(f64, HARD_F64);
    Ok(())
}

/// A product and a sum are rounded twice, `fma` once, on every device.
pub fn not_contracted<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let x: Vec<f32> = (0..1000_u16).map(|k| 1.0 + f32::from(k) / 4096.0 + 1e-6).collect();
    let y: Vec<f32> = x.iter().map(|x| -(x * x)).collect();
    let each =
        |right: fn(f32, f32) -> f32| -> Vec<f32> { x.iter().zip(&y).map(|(&x, &y)| right(x, y)).collect() };
    let (twice, once) = (each(|x, y| x * x + y), each(|x, y| x.mul_add(x, y)));
    ensure(twice.iter().zip(&once).any(|(a, b)| a.to_bits() != b.to_bits()), || {
        "the numbers of this law tell no difference".into()
    })?;
    let inputs = [Line::of(&x), Line::of(&y)];
    gives(&stream, "x0 * x0 + x1", &inputs, &[], &Line::of(&twice))?;
    gives(&stream, "x1 - x0 * -x0", &inputs, &[], &Line::of(&twice))?;
    gives(&stream, "fma(x0, x0, x1)", &inputs, &[], &Line::of(&once))?;
    let x: Vec<f64> = x.iter().map(|&x| f64::from(x) + 1e-15).collect();
    let y: Vec<f64> = x.iter().map(|x| -(x * x)).collect();
    let twice: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x * x + y).collect();
    let once: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x.mul_add(*x, *y)).collect();
    let inputs = [Line::of(&x), Line::of(&y)];
    gives(&stream, "x0 * x0 + x1", &inputs, &[], &Line::of(&twice))?;
    gives(&stream, "fma(x0, x0, x1)", &inputs, &[], &Line::of(&once))
}

/// Comparisons with NaN are false, `!=` is true, and zeros of either sign are equal.
pub fn comparisons<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    macro_rules! checks {
        ($number:ty, $values:expr) => {
            let (a, b): (Vec<$number>, Vec<$number>) = pairs(&$values);
            let functions: [(&str, fn(&$number, &$number) -> bool); 6] = [
                ("x0 == x1", |a, b| a == b),
                ("x0 != x1", |a, b| a != b),
                ("x0 < x1", |a, b| a < b),
                ("x0 <= x1", |a, b| a <= b),
                ("x0 > x1", |a, b| a > b),
                ("x0 >= x1", |a, b| a >= b),
            ];
            for (text, right) in functions {
                let due: Vec<u64> = a.iter().zip(&b).map(|(a, b)| u64::from(right(a, b))).collect();
                let due = Line::new(ElementType::Bool, &due);
                gives(&stream, text, &[Line::of(&a), Line::of(&b)], &[], &due)?;
            }
        };
    }
    checks!(f32, HARD_F32);
    checks!(f64, HARD_F64);
    checks!(i8, [i8::MIN, -1, 0, 1, i8::MAX]);
    checks!(u8, [0, 1, 127, 128, 255]);
    checks!(i32, [i32::MIN, -1, 0, 1, i32::MAX]);
    checks!(u32, [0, 1, 1 << 31, u32::MAX]);
    checks!(i64, [i64::MIN, -1, 0, 1 << 32, i64::MAX]);
    checks!(u64, [0, 1, 1 << 63, u64::MAX]);
    Ok(())
}

/// `minimum` and `maximum` give NaN if one is NaN, `fmin` and `fmax` the other; −0 is less than +0.
pub fn extrema<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    macro_rules! checks {
        ($float:ty, $values:expr) => {
            // Compared in the order of their bits, in which −0 precedes +0.
            let functions: &Binary<$float, $float> = &[
                ("minimum(x0, x1)", |a, b| {
                    if a.is_nan() || b.is_nan() {
                        <$float>::NAN
                    } else if a.total_cmp(&b).is_le() {
                        a
                    } else {
                        b
                    }
                }),
                ("maximum(x0, x1)", |a, b| {
                    if a.is_nan() || b.is_nan() {
                        <$float>::NAN
                    } else if a.total_cmp(&b).is_ge() {
                        a
                    } else {
                        b
                    }
                }),
                ("fmin(x0, x1)", |a, b| match (a.is_nan(), b.is_nan()) {
                    (true, _) => b,
                    (_, true) => a,
                    _ if a.total_cmp(&b).is_le() => a,
                    _ => b,
                }),
                ("fmax(x0, x1)", |a, b| match (a.is_nan(), b.is_nan()) {
                    (true, _) => b,
                    (_, true) => a,
                    _ if a.total_cmp(&b).is_ge() => a,
                    _ => b,
                }),
            ];
            of_pairs(&stream, &$values, functions)?;
        };
    }
    checks!(f32, HARD_F32);
    checks!(f64, HARD_F64);
    Ok(())
}

/// Any NaN, whether it comes in or arises, is stored as the canonical NaN, and its bits are read as
/// that.
pub fn nan<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let of_types: [(ElementType, ElementType, u64, &[u64]); 4] = [
        (
            ElementType::F32,
            ElementType::U32,
            0x7fc0_0000,
            &[0x7fc0_0001, 0x7f80_0001, 0xffc0_0000, 0xffff_ffff],
        ),
        (
            ElementType::F64,
            ElementType::U64,
            0x7ff8_0000_0000_0000,
            &[0x7ff0_0000_0000_0001, 0xfff8_0000_0000_0000, u64::MAX, 0x7ff8_0000_dead_beef],
        ),
        (ElementType::F16, ElementType::U16, 0x7e00, &[0x7c01, 0xfe00, 0xffff, 0x7e01]),
        (ElementType::BF16, ElementType::U16, 0x7fc0, &[0x7f81, 0xffc0, 0xffff, 0x7fc1]),
    ];
    for (of, integer, nan, bits) in of_types {
        let (input, due) = (Line::new(of, bits), vec![nan; bits.len()]);
        for text in
            ["x0", "-x0", "abs(x0)", "x0 + 1", "x0 * 0.0", "maximum(x0, 1.0)", "where(x0 == x0, 1.0, x0)"]
        {
            gives(&stream, text, std::slice::from_ref(&input), &[], &Line::new(of, &due))?;
        }
        let looked = format!("bitcast(x0, {integer})");
        gives(&stream, &looked, std::slice::from_ref(&input), &[], &Line::new(integer, &due))?;
        let no = Line::new(ElementType::Bool, &[0, 0, 0, 0]);
        gives(&stream, "signbit(x0)", std::slice::from_ref(&input), &[], &no)?;
        gives(&stream, "signbit(copysign(x0 * 0.0 + 1.0, x0))", &[input], &[], &no)?;
    }
    let arising = Line::of(&[f32::INFINITY, f32::NEG_INFINITY]);
    gives(&stream, "x0 - x0", &[arising], &[], &Line::of(&[f32::NAN, f32::NAN]))
}

/// MPFR's values of elementary functions of `f32`. The arguments include those whose values are
/// nearest to the middle between two numbers.
pub fn elementary<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let table = include_str!("elementary.txt");
    let bits = |word: &str| u64::from_str_radix(word, 16).unwrap_or(0);
    let rows: Vec<(&str, u64, u64)> = table
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, bits(words.next()?), bits(words.next()?)))
        })
        .collect();
    for rows in rows.chunk_by(|a, b| a.0 == b.0) {
        let of = |pick: fn(&(&str, u64, u64)) -> u64| Line {
            of: ElementType::F32,
            bits: rows.iter().map(pick).collect(),
        };
        gives(&stream, &format!("{}(x0)", rows[0].0), &[of(|row| row.1)], &[], &of(|row| row.2))?;
    }
    Ok(())
}
