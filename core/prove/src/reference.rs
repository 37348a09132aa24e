//! The correctly rounded values: the system's functions of `f64` where their error cannot matter,
//! else high precision.

use devarray::function::elementary::Elementary;

use crate::precise;

/// The value of a function of `-x`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Symmetry {
    Odd,
    Even,
    Neither,
}

pub(crate) fn symmetry(function: Elementary) -> Symmetry {
    match function {
        Elementary::Cbrt
        | Elementary::Sin
        | Elementary::Tan
        | Elementary::Asin
        | Elementary::Atan
        | Elementary::Sinh
        | Elementary::Tanh
        | Elementary::Asinh
        | Elementary::Atanh
        | Elementary::Erf => Symmetry::Odd,
        Elementary::Cos | Elementary::Cosh => Symmetry::Even,
        _ => Symmetry::Neither,
    }
}

/// Far more than any of the functions below errs, relative to its value: 32 ulp.
const ERROR: f64 = 32.0 * f64::EPSILON;

/// The value of a function of `f32`, rounded once. Notes what `f64` does not decide.
pub(crate) fn rounded(function: Elementary, x: f32, undecided: &mut Vec<f32>) -> f32 {
    if let Some(value) = near_zero(function, x) {
        return value;
    }
    let value = approximate(function, f64::from(x));
    #[expect(clippy::cast_possible_truncation, reason = "rounds")]
    let [low, high] = [value - value * ERROR, value + value * ERROR].map(|value| value as f32);
    #[expect(clippy::cast_possible_truncation, reason = "NaN or ∞")]
    if !value.is_finite() {
        return value as f32;
    }
    if low.to_bits() == high.to_bits() {
        return low;
    }
    undecided.push(x);
    precise::rounded(function, x, low, high)
}

/// The value where the first terms of the series decide: the terms after `x` are at most `|x|³ /
/// 2`, and the terms after 1 at most `x²`, which is less than half of the distance to the next
/// number.
fn near_zero(function: Elementary, x: f32) -> Option<f32> {
    let near = x != 0.0 && x.abs() < 1.0 / 8192.0;
    if !near {
        return None;
    }
    match function {
        Elementary::Sin
        | Elementary::Tan
        | Elementary::Asin
        | Elementary::Atan
        | Elementary::Sinh
        | Elementary::Tanh
        | Elementary::Asinh
        | Elementary::Atanh => Some(x),
        Elementary::Cos | Elementary::Cosh => Some(1.0),
        _ => None,
    }
}

/// The system's functions, and functions of the crate `libm` where the standard library lacks them or
/// computes them by short formulas.
fn approximate(function: Elementary, x: f64) -> f64 {
    match function {
        Elementary::Cbrt => x.cbrt(),
        Elementary::Exp => x.exp(),
        Elementary::Exp2 => x.exp2(),
        Elementary::Expm1 => x.exp_m1(),
        Elementary::Log => x.ln(),
        Elementary::Log2 => x.log2(),
        Elementary::Log10 => x.log10(),
        Elementary::Log1p => x.ln_1p(),
        Elementary::Sin => x.sin(),
        Elementary::Cos => x.cos(),
        Elementary::Tan => x.tan(),
        Elementary::Asin => x.asin(),
        Elementary::Acos => x.acos(),
        Elementary::Atan => x.atan(),
        Elementary::Sinh => x.sinh(),
        Elementary::Cosh => x.cosh(),
        Elementary::Tanh => x.tanh(),
        Elementary::Asinh => libm::asinh(x),
        Elementary::Acosh if x < 1.0 => f64::NAN,
        Elementary::Acosh => libm::acosh(x),
        Elementary::Atanh => libm::atanh(x),
        Elementary::Erf => libm::erf(x),
        Elementary::Erfc => libm::erfc(x),
        other => panic!("{} has no reference", other.name()),
    }
}
