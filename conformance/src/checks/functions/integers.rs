//! The meaning of operations on integers and truth values, and of casts.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::cast_lossless,
    reason = "Rust's own casts are what is due"
)]

use devarray::{
    StreamHandle,
    backend::Compute,
    function::{Computable, ElementType},
};

use super::{
    floats::{HARD_F32, HARD_F64, pairs},
    value::{Value, integer, range, wrap},
};
use crate::{
    Harness, Outcome,
    computing::{Line, computing, gives},
};

const INTEGERS: [ElementType; 8] = [
    ElementType::I8,
    ElementType::U8,
    ElementType::I16,
    ElementType::U16,
    ElementType::I32,
    ElementType::U32,
    ElementType::I64,
    ElementType::U64,
];

/// Small numbers, and numbers at the ends of the range.
fn hard(of: ElementType) -> Vec<i128> {
    let (least, greatest) = range(of);
    let all = [
        -101,
        -7,
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        9,
        31,
        33,
        64,
        100,
        least,
        least + 1,
        greatest,
        greatest - 1,
    ];
    let mut all: Vec<i128> = all.into_iter().filter(|value| (least..=greatest).contains(value)).collect();
    all.push(wrap(of, 0x0123_4567_89ab_cdef));
    all
}

/// Operations on every pair of hard numbers of every integer type.
fn of_pairs<D: Compute>(stream: &StreamHandle<D>, names: &[&str]) -> Outcome {
    for of in INTEGERS {
        let (a, b) = pairs(&hard(of));
        let line = |values: &[i128]| Line {
            of,
            bits: values.iter().map(|&value| Value::Int(value).bits(of)).collect(),
        };
        for name in names {
            let values = a.iter().zip(&b).map(|(&a, &b)| integer(of, name, a, b).bits(of));
            let due = Line { of, bits: values.collect() };
            let call = name.chars().all(char::is_alphabetic);
            let text = if call { format!("{name}(x0, x1)") } else { format!("x0 {name} x1") };
            gives(stream, &text, &[line(&a), line(&b)], &[], &due)?;
        }
    }
    Ok(())
}

/// Integers wrap at their width.
pub fn integers<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    of_pairs(&stream, &["+", "-", "*", "&", "|", "^", "minimum", "maximum"])?;
    for of in INTEGERS {
        let values = hard(of);
        let line = |right: &dyn Fn(i128) -> i128| -> Line {
            let bits = values.iter().map(|&value| Value::Int(wrap(of, right(value))).bits(of));
            Line { of, bits: bits.collect() }
        };
        let same = [line(&|value| value)];
        gives(&stream, "abs(x0)", &same, &[], &line(&i128::abs))?;
        gives(&stream, "~x0", &same, &[], &line(&|value| -1 - value))?;
        gives(&stream, "sign(x0)", &same, &[], &line(&i128::signum))?;
        gives(&stream, "square(x0)", &same, &[], &line(&|value| value.wrapping_mul(value)))?;
        if of.is_signed() {
            gives(&stream, "-x0", &same, &[], &line(&|value| -value))?;
        }
    }
    Ok(())
}

/// A division by zero gives 0, and the least integer divided by −1 gives itself; `//` rounds down,
/// and `%` has the sign of the divisor. Floats follow NumPy.
pub fn division<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    of_pairs(&stream, &["//", "%", "fmod"])?;
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    // Rows of NumPy's: dividend, divisor, floor_divide, remainder, fmod.
    let rows = [
        [7.0, 2.0, 3.0, 1.0, 1.0],
        [-7.0, 2.0, -4.0, 1.0, -1.0],
        [7.0, -2.0, -4.0, -1.0, 1.0],
        [-7.0, -2.0, 3.0, -1.0, -1.0],
        [5.5, 2.0, 2.0, 1.5, 1.5],
        [-5.5, 2.0, -3.0, 0.5, -1.5],
        [1.0, 0.1, 9.0, 0.099_999_999_999_999_95, 0.099_999_999_999_999_95],
        [6.0, -3.0, -2.0, -0.0, 0.0],
        [-6.0, 3.0, -2.0, 0.0, -0.0],
        [1.0, 0.0, inf, nan, nan],
        [0.0, 0.0, nan, nan, nan],
        [nan, 1.0, nan, nan, nan],
    ];
    let column = |at: usize| Line::of(&rows.map(|row| row[at]));
    let inputs = [column(0), column(1)];
    gives(&stream, "x0 // x1", &inputs, &[], &column(2))?;
    gives(&stream, "x0 % x1", &inputs, &[], &column(3))?;
    gives(&stream, "fmod(x0, x1)", &inputs, &[], &column(4))
}

/// A shift by the width or more, or by a negative distance, gives 0; a right shift of a negative
/// number gives −1.
pub fn shifts<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    of_pairs(&stream, &["<<", ">>"])
}

/// A cast is Rust's `as`: floats saturate, NaN gives 0, narrower integers wrap, floats are rounded
/// once.
pub fn casts<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    macro_rules! casts {
        ($values:expr => $($to:ty)*) => {$({
            let due: Vec<u64> = $values.iter().map(|&value| Computable::to_bits(value as $to)).collect();
            let to = <$to as Computable>::TYPE;
            gives(&stream, &format!("cast(x0, {to})"), &[Line::of(&$values)], &[], &Line::new(to, &due))?;
        })*};
    }
    let single: Vec<f32> =
        HARD_F32.into_iter().chain([127.5, 128.0, -129.0, 255.9, 3e9, -3e9, 1e19, -1e19, 2.5]).collect();
    let double: Vec<f64> = HARD_F64
        .into_iter()
        .chain([-0.9, 2_147_483_648.5, 1e18 + 1.0, 9.3e18, 1.9e19, 16_777_217.0])
        .collect();
    casts!(single => i8 u8 i16 u16 i32 u32 i64 u64 f64);
    casts!(double => i8 u8 i16 u16 i32 u32 i64 u64 f32);
    casts!([i64::MIN, -1, 0, 255, 256, (1 << 53) + 1, (1 << 24) + 1, i64::MAX] => i8 u8 i16 u16 i32 u32 u64 f32 f64);
    casts!([0, 1, (1 << 63) + 1025, (1 << 40) + 1, u64::MAX] => i8 u8 i16 u16 i32 u32 i64 f32 f64);
    casts!([i8::MIN, -1, 0, 1, i8::MAX] => u8 i16 u16 i32 u32 i64 u64 f32 f64);
    casts!([u32::MAX, 16_777_217, 0] => i8 u8 i16 u16 i32 i64 u64 f32 f64);
    let due: Vec<u64> = single.iter().map(|&value| u64::from(value != 0.0)).collect();
    gives(&stream, "cast(x0, bool)", &[Line::of(&single)], &[], &Line::new(ElementType::Bool, &due))?;
    let bits: Vec<u32> = HARD_F32.iter().map(|value| value.to_bits()).collect();
    gives(&stream, "bitcast(x0, u32)", &[Line::of(&HARD_F32)], &[], &Line::of(&bits))
}

/// Every byte but 0 is true, and true is stored as 1.
pub fn truth<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let bytes: Vec<u64> = (0..256).collect();
    let others: Vec<u64> = (0..256).map(|byte| byte * 7 % 256 / 64 * 2).collect();
    let inputs = [Line::new(ElementType::Bool, &bytes), Line::new(ElementType::Bool, &others)];
    let each = |right: fn(bool, bool) -> bool| -> Line {
        let pairs = bytes.iter().zip(&others);
        let bits: Vec<u64> = pairs.map(|(&a, &b)| u64::from(right(a != 0, b != 0))).collect();
        Line::new(ElementType::Bool, &bits)
    };
    gives(&stream, "x0", &inputs[..1], &[], &each(|a, _| a))?;
    gives(&stream, "~x0", &inputs[..1], &[], &each(|a, _| !a))?;
    gives(&stream, "x0 & x1", &inputs, &[], &each(|a, b| a & b))?;
    gives(&stream, "x0 | x1", &inputs, &[], &each(|a, b| a | b))?;
    gives(&stream, "x0 ^ x1", &inputs, &[], &each(|a, b| a ^ b))?;
    gives(&stream, "x0 == x1", &inputs, &[], &each(|a, b| a == b))?;
    gives(&stream, "where(x0, x1, false)", &inputs, &[], &each(|a, b| a & b))?;
    let ones: Vec<u8> = bytes.iter().map(|&byte| u8::from(byte != 0)).collect();
    gives(&stream, "cast(x0, u8)", &inputs[..1], &[], &Line::of(&ones))
}

/// `where` takes one side, whatever the value of the other is.
pub fn select<D: Compute>(harness: &Harness<D>) -> Outcome {
    let Some((_, stream)) = computing(harness)? else { return Ok(()) };
    let (a, b) = pairs(&[i32::MIN, -1, 0, 1, 7, i32::MAX]);
    let due: Vec<i32> = a.iter().zip(&b).map(|(a, b)| a.checked_div(*b).unwrap_or(-5)).collect();
    let inputs = [Line::of(&a), Line::of(&b)];
    // The quotient is rounded down; without the remainder it is exact and equals Rust's.
    let exact = "where((x1 == 0) | ((x0 == -2147483648) & (x1 == -1)), -5, (x0 - fmod(x0, x1)) // x1)";
    gives(&stream, exact, &inputs, &[], &Line::of(&due))?;
    let due: Vec<f32> = HARD_F32.iter().map(|x| if *x > 0.0 { *x } else { 0.5 }).collect();
    gives(&stream, "where(x0 > 0.0, x0, 0.5)", &[Line::of(&HARD_F32)], &[], &Line::of(&due))?;
    let due: Vec<f32> = HARD_F32.iter().map(|x| if *x >= 0.0 { x.sqrt() } else { -1.0 }).collect();
    gives(&stream, "where(x0 >= 0.0, sqrt(x0), -1.0)", &[Line::of(&HARD_F32)], &[], &Line::of(&due))
}
