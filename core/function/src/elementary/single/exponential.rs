//! `exp`, `exp2`, `expm1` of one `f32`.

use super::super::exponential::LN_2_LOW;
use super::super::pair::POWER_SHIFT;
use super::{Hard, mended};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{LN_2, LOG2_E};

/// `(e^r - 1 - r) / r²` for `|r| <= 0.3467`; the error of `e^r` is 2^-51.
const EXP: [f64; 9] = [
    0.499_999_999_999_970_7,
    0.166_666_666_666_098_5,
    0.041_666_666_668_970_02,
    0.008_333_333_371_552_875,
    0.001_388_888_833_227_756_6,
    0.000_198_411_843_849_536_94,
    2.480_209_762_461_49e-5,
    2.763_531_504_242_836e-6,
    2.742_385_312_293_783e-7,
];

/// More coefficients of this kind, for which the error of `e^r - 1` is 2^-55.
const EXPM1: [f64; 10] = [
    0.500_000_000_000_000_6,
    0.166_666_666_666_666,
    0.041_666_666_666_573_81,
    0.008_333_333_333_383_5,
    0.001_388_888_893_230_529_3,
    0.000_198_412_697_316_536_84,
    2.480_150_453_376_314e-5,
    2.755_739_657_624_558_4e-6,
    2.762_628_488_735_687_6e-7,
    2.505_708_246_692_232e-8,
];

/// Adding this to an `f32` below 2^22 leaves the nearest integer, plus 1023, in the low bits of the
/// sum.
const POWER_SHIFT_F32: f32 = 12_582_912.0 + 1023.0;

const TWO_TO_52: f64 = 4_503_599_627_370_496.0;

/// `ln 2` to 16 bits: its product with an integer of 8 bits is exact.
const LN_2_HIGH: f32 = 45_426.0 / 65_536.0;

const HARD_EXP: &Hard = &[];
const HARD_EXP2: &Hard = &[(0x3b42_9d37, 0x3f80_4385), (0xbcf3_a937, 0x3f7a_c6b1)];
const HARD_EXPM1: &Hard = &[];

/// Clamps to `low` and `high`; NaN stays.
#[inline(always)]
pub(super) fn clamp<A: Arithmetic>(x: A::F32, low: f32, high: f32) -> A::F32 {
    let x = x.constant(low).when(x.below(low), x);
    x.constant(high).when(x.above(high), x)
}

/// Limits `x` to `most` in magnitude; NaN stays. This takes one comparison less than `clamp`.
#[inline(always)]
fn limit<A: Arithmetic>(x: A::F32, most: f32) -> A::F32 {
    let limited = A::F32::of_bits(x.bits() & (1 << 31) | most.to_bits());
    limited.when(x.magnitude().above(most), x)
}

/// The bits of `2^k`, and `r`, where `x = k ln 2 + r`, for `|x| < 110`. It uses `f32` as far as
/// that is exact, because a step of `f64` costs a device twice as much.
#[inline(always)]
pub(super) fn reduce<A: Arithmetic>(x: A::F32) -> (A::B64, A::F64) {
    let factor = x.constant(std::f32::consts::LOG2_E);
    let shifted = x.fma(factor, x.constant(POWER_SHIFT_F32));
    // This is exact: a small multiple of 2^-15, or of the last place of `x`.
    let rest = (shifted - POWER_SHIFT_F32).fma_by(-LN_2_HIGH, x);
    // Converted by its bits, in an `f64` above 2^52: a conversion would cost a device as much as
    // four steps.
    let bits = A::zero_extend(shifted.bits());
    let k = A::F64::of_bits(bits | TWO_TO_52.to_bits()) - (TWO_TO_52 + f64::from(POWER_SHIFT_F32.to_bits()));
    let low = LN_2 - f64::from(LN_2_HIGH) + LN_2_LOW;
    (bits.shl(52), k.fma_by(-low, A::widen(rest)))
}

/// `2^x` for `|x| < 1000`.
#[inline(always)]
pub(super) fn exp2_in_range<A: Arithmetic>(x: A::F64) -> A::F64 {
    let shifted = x + POWER_SHIFT;
    let r = x - (shifted - POWER_SHIFT);
    exp_of_small::<A>(r * LN_2) * A::F64::of_bits(shifted.bits().shl(52))
}

/// `e^x` for `|x| < 700`.
#[inline(always)]
pub(super) fn exp_in_range<A: Arithmetic>(x: A::F64) -> A::F64 {
    let shifted = x.fma(x.constant(LOG2_E), x.constant(POWER_SHIFT));
    let k = shifted - POWER_SHIFT;
    let r = k.fma_by(-LN_2_LOW, k.fma_by(-LN_2, x));
    exp_of_small::<A>(r) * A::F64::of_bits(shifted.bits().shl(52))
}

/// `e^r`.
#[inline(always)]
fn exp_of_small<A: Arithmetic>(r: A::F64) -> A::F64 {
    polynomial::<A, 9>(r, &EXP).fma_plus(r, 1.0).fma_plus(r, 1.0)
}

#[inline(always)]
pub(in super::super) fn exp<A: Arithmetic>(x: A::F32) -> A::F32 {
    let (power, r) = reduce::<A>(limit::<A>(x, 104.5));
    let y = exp_of_small::<A>(r) * A::F64::of_bits(power);
    mended::<A>(x, A::narrow(y), HARD_EXP)
}

#[inline(always)]
pub(in super::super) fn exp2<A: Arithmetic>(x: A::F32) -> A::F32 {
    let near = limit::<A>(x, 151.0);
    let shifted = near + POWER_SHIFT_F32;
    let r = A::widen(near - (shifted - POWER_SHIFT_F32)) * LN_2;
    let power = A::zero_extend(shifted.bits()).shl(52);
    let y = exp_of_small::<A>(r) * A::F64::of_bits(power);
    mended::<A>(x, A::narrow(y), HARD_EXP2)
}

#[inline(always)]
pub(in super::super) fn expm1<A: Arithmetic>(x: A::F32) -> A::F32 {
    let (power, r) = reduce::<A>(clamp::<A>(x, -40.0, 89.0));
    let small = (r * r).fma(polynomial::<A, 10>(r, &EXPM1), r);
    let power = A::F64::of_bits(power);
    let y = A::narrow(power.fma(small, power - 1.0));
    mended::<A>(x, x.when(x.is(0.0), y), HARD_EXPM1)
}
