//! The nearer of two neighbours to the value of a function, in high precision.

use std::cell::RefCell;

use astro_float::{BigFloat, Consts, RoundingMode};
use devarray::function::elementary::Elementary;

/// Bits; the functions of `f32` come no nearer to a middle than 2^-70 of their value.
const PRECISION: usize = 320;
/// Bits for the series of the error function, whose terms grow to `e^(x²)` before they shrink.
const SERIES_PRECISION: usize = 1024;
const NEAREST: RoundingMode = RoundingMode::ToEven;

thread_local! {
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().expect("memory for constants"));
}

/// `low` or `high`, neighbours in `f32`, whichever is nearer to the value; of equals the even one.
pub(crate) fn rounded(function: Elementary, x: f32, low: f32, high: f32) -> f32 {
    let value = CONSTANTS.with_borrow_mut(|constants| precise(function, x, constants));
    let (below, above) = if low < high { (low, high) } else { (high, low) };
    assert!(below.next_up() == above || below == above, "{} of {x:e}: neighbours", function.name());
    let middle = f64::midpoint(finite(below), finite(above));
    let difference = value.cmp(&BigFloat::from_f64(middle, 64)).expect("a number");
    match difference {
        0 if below.to_bits() & 1 == 0 => below,
        0 => above,
        1.. => above,
        _ => below,
    }
}

/// A number, and for ∞ what would come after the largest.
fn finite(x: f32) -> f64 {
    if x.is_infinite() { f64::from(x.signum()) * 2.0_f64.powi(128) } else { f64::from(x) }
}

fn precise(function: Elementary, x: f32, constants: &mut Consts) -> BigFloat {
    let p = PRECISION;
    let big = BigFloat::from_f64(f64::from(x), p);
    let one = BigFloat::from_f64(1.0, p);
    match function {
        Elementary::Cbrt => big.cbrt(p, NEAREST),
        Elementary::Exp => big.exp(p, NEAREST, constants),
        // For whole numbers the logarithm of 2 would miss the exact value.
        Elementary::Exp2 if x.fract() == 0.0 => BigFloat::from_f64(2.0_f64.powf(f64::from(x)), p),
        Elementary::Exp2 => BigFloat::from_f64(2.0, p).pow(&big, p, NEAREST, constants),
        Elementary::Expm1 => big.exp(p, NEAREST, constants).sub(&one, p, NEAREST),
        Elementary::Log => big.ln(p, NEAREST, constants),
        Elementary::Log2 => big.log2(p, NEAREST, constants),
        Elementary::Log10 => big.log10(p, NEAREST, constants),
        Elementary::Log1p => one.add(&big, p, NEAREST).ln(p, NEAREST, constants),
        Elementary::Sin => big.sin(p, NEAREST, constants),
        Elementary::Cos => big.cos(p, NEAREST, constants),
        Elementary::Tan => big.tan(p, NEAREST, constants),
        Elementary::Asin => big.asin(p, NEAREST, constants),
        Elementary::Acos => big.acos(p, NEAREST, constants),
        Elementary::Atan => big.atan(p, NEAREST, constants),
        Elementary::Sinh => big.sinh(p, NEAREST, constants),
        Elementary::Cosh => big.cosh(p, NEAREST, constants),
        Elementary::Tanh => big.tanh(p, NEAREST, constants),
        Elementary::Asinh => big.asinh(p, NEAREST, constants),
        Elementary::Acosh => big.acosh(p, NEAREST, constants),
        Elementary::Atanh => big.atanh(p, NEAREST, constants),
        Elementary::Erf => erf(x, constants),
        Elementary::Erfc => {
            BigFloat::from_f64(1.0, SERIES_PRECISION).sub(&erf(x, constants), SERIES_PRECISION, NEAREST)
        }
        other => panic!("{} has no reference", other.name()),
    }
}

/// `2 / √π (x - x³ / 3 + x⁵ / (5 · 2!) - …)`, for `|x| < 12`.
fn erf(x: f32, constants: &mut Consts) -> BigFloat {
    let p = SERIES_PRECISION;
    let number = |number: u32| BigFloat::from_f64(f64::from(number), p);
    let x = BigFloat::from_f64(f64::from(x), p);
    let square = x.mul(&x, p, NEAREST).neg();
    let mut power = x;
    let mut sum = number(0);
    for n in 0..1200_u32 {
        sum = sum.add(&power.div(&number(2 * n + 1), p, NEAREST), p, NEAREST);
        power = power.mul(&square, p, NEAREST).div(&number(n + 1), p, NEAREST);
        if power.exponent().is_none_or(|e| i64::from(e) < -2000) {
            break;
        }
    }
    let root = constants.pi(p, NEAREST).sqrt(p, NEAREST);
    sum.mul(&number(2), p, NEAREST).div(&root, p, NEAREST)
}
