//! `sinh`, `cosh`, `tanh` of one `f32`.

use super::super::hyperbolic::{COSH, SINH};
use super::super::pair::POWER_SHIFT;
use super::division::quotient;
use super::exponential::reduce;
use super::{Hard, mended, mended_odd};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::LN_2;

/// `(tanh z / z - 1) / z²` as a polynomial in `z²`, for `|z| <= 0.17335`; the error of the
/// hyperbolic tangent is 2^-48.
const TANH: [f64; 5] = [
    -0.333_333_333_331_181_5,
    0.133_333_332_329_288_12,
    -0.053_968_100_877_843_16,
    0.021_859_260_749_039_464,
    -0.008_551_494_489_501_354,
];

const HARD_SINH: &Hard = &[(0x3a12_85ff, 0x3a12_85ff)];
const HARD_COSH: &Hard = &[];
const HARD_TANH: &Hard = &[];

/// Limits to `high`; NaN stays.
#[inline(always)]
fn magnitude_up_to<A: Arithmetic>(x: A::F32, high: f32) -> A::F32 {
    let a = x.magnitude();
    a.constant(high).when(a.above(high), a)
}

/// `2^(k-1) + 2^(-k-1)`, `2^(k-1) - 2^(-k-1)`, `cosh r`, `sinh r`, where `|x| = k ln 2 + r`.
#[inline(always)]
fn parts<A: Arithmetic>(x: A::F32) -> [A::F64; 4] {
    let (power, r) = reduce::<A>(magnitude_up_to::<A>(x, 90.0));
    let up = A::F64::of_bits(power.minus_literal(1 << 52));
    let down = A::F64::of_bits(power.constant(2045 << 52).minus(power));
    let r2 = r * r;
    let cosh = polynomial::<A, 5>(r2, &COSH).fma_plus(r2, 1.0);
    let sinh = (r2 * r).fma(polynomial::<A, 5>(r2, &SINH), r);
    [up + down, up - down, cosh, sinh]
}

#[inline(always)]
pub(in super::super) fn sinh<A: Arithmetic>(x: A::F32) -> A::F32 {
    let [sum, difference, cosh, sinh] = parts::<A>(x);
    mended_odd::<A>(x, A::narrow(difference.fma(cosh, sum * sinh)), HARD_SINH)
}

#[inline(always)]
pub(in super::super) fn cosh<A: Arithmetic>(x: A::F32) -> A::F32 {
    let [sum, difference, cosh, sinh] = parts::<A>(x);
    mended::<A>(x.magnitude(), A::narrow(sum.fma(cosh, difference * sinh)), HARD_COSH)
}

/// The hyperbolic tangent, by the formula for a sum: `|x| = k ln 2 / 2 + z` with `|z| <= ln 2 / 4`.
/// The hyperbolic tangent of the first term is `(2^k - 1) / (2^k + 1)`.
#[inline(always)]
pub(in super::super) fn tanh<A: Arithmetic>(x: A::F32) -> A::F32 {
    let a = A::widen(magnitude_up_to::<A>(x, 10.0));
    let shifted = a.fma(a.constant(2.0 / LN_2), a.constant(POWER_SHIFT));
    let z = (shifted - POWER_SHIFT).fma_by(-0.5 * LN_2, a);
    let power = A::F64::of_bits(shifted.bits().shl(52));
    let z2 = z * z;
    let tanh = z * polynomial::<A, 5>(z2, &TANH).fma_plus(z2, 1.0);
    let (difference, sum) = (power - 1.0, power + 1.0);
    let y = quotient::<A>(tanh.fma(sum, difference), tanh.fma(difference, sum));
    mended_odd::<A>(x, A::narrow(y), HARD_TANH)
}
