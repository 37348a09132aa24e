//! `exp`, `exp2`, `expm1` of one `f32`.

use super::super::exponential::LN_2_LOW;
use super::super::pair::POWER_SHIFT;
use super::{Hard, mended};
use crate::function::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{LN_2, LOG2_E};

/// `(e^r - 1 - r) / r²` for `|r| <= 0.3467`; the error of `e^r` is 2^-57.
const EXP: [f64; 10] = [
    0.500_000_000_000_001_3,
    0.166_666_666_666_664_9,
    0.041_666_666_666_512_19,
    0.008_333_333_333_445_587,
    0.001_388_888_894_763_099_1,
    0.000_198_412_696_104_955_47,
    2.480_148_945_087_971e-5,
    2.755_749_474_037_553_5e-6,
    2.763_141_314_843_070_4e-7,
    2.502_856_339_945_387e-8,
];

/// The same; the error of `e^r - 1` is 2^-55.
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

const HARD_EXP: &Hard = &[];
const HARD_EXP2: &Hard = &[(0x3b42_9d37, 0x3f80_4385), (0xbcf3_a937, 0x3f7a_c6b1)];
const HARD_EXPM1: &Hard = &[];

/// Below `low`, `low`; above `high`, `high`; NaN stays.
#[inline(always)]
pub(super) fn clamp<A: Arithmetic>(x: A::F32, low: f32, high: f32) -> A::F32 {
    let x = x.constant(low).when(x.below(low), x);
    x.constant(high).when(x.above(high), x)
}

/// Above `most` in magnitude, `most` with the sign of `x`; NaN stays. One comparison less than
/// `clamp`.
#[inline(always)]
fn limit<A: Arithmetic>(x: A::F32, most: f32) -> A::F32 {
    let limited = A::F32::of_bits(x.bits() & (1 << 31) | most.to_bits());
    limited.when(x.magnitude().above(most), x)
}

/// The bits of `2^k`, and `r`, with `x = k ln 2 + r`.
#[inline(always)]
pub(super) fn reduce<A: Arithmetic>(x: A::F64) -> (A::B64, A::F64) {
    let shifted = x.fma(x.constant(LOG2_E), x.constant(POWER_SHIFT));
    let k = shifted - POWER_SHIFT;
    let r = k.fma_by(-LN_2, x);
    (shifted.bits().shl(52), k.fma_by(-LN_2_LOW, r))
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
    let (power, r) = reduce::<A>(x);
    exp_of_small::<A>(r) * A::F64::of_bits(power)
}

/// `e^r`.
#[inline(always)]
fn exp_of_small<A: Arithmetic>(r: A::F64) -> A::F64 {
    polynomial::<A, 10>(r, &EXP).fma_plus(r, 1.0).fma_plus(r, 1.0)
}

/// `e^x - 1`, for `-100 < x < 700`.
#[inline(always)]
pub(super) fn expm1_in_range<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (power, r) = reduce::<A>(x);
    let small = (r * r).fma(polynomial::<A, 10>(r, &EXPM1), r);
    let power = A::F64::of_bits(power);
    power.fma(small, power - 1.0)
}

#[inline(always)]
pub(in super::super) fn exp<A: Arithmetic>(x: A::F32) -> A::F32 {
    let y = exp_in_range::<A>(A::widen(limit::<A>(x, 104.5)));
    mended::<A>(x, A::narrow(y), HARD_EXP)
}

#[inline(always)]
pub(in super::super) fn exp2<A: Arithmetic>(x: A::F32) -> A::F32 {
    let y = exp2_in_range::<A>(A::widen(limit::<A>(x, 151.0)));
    mended::<A>(x, A::narrow(y), HARD_EXP2)
}

#[inline(always)]
pub(in super::super) fn expm1<A: Arithmetic>(x: A::F32) -> A::F32 {
    let y = A::narrow(expm1_in_range::<A>(A::widen(clamp::<A>(x, -40.0, 89.0))));
    mended::<A>(x, x.when(x.is(0.0), y), HARD_EXPM1)
}
