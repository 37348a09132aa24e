//! `exp`, `exp2`, `expm1`: `x = k ln 2 + r` with `|r| <= ln 2 / 2`, a polynomial for `e^r`, a power
//! of two.

use super::pair::{Pair, SHIFT, clamp, fast_two_sum, nearest, power_of_two, scale, two_product};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{LN_2, LOG2_E};

pub(super) const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;

/// `(e^r - 1 - r) / r²` for `|r| <= 0.3467`; the error of `e^r - 1` is 2^-61.
pub(super) const EXP: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_77,
    0.041_666_666_666_666_6,
    0.008_333_333_333_321_46,
    0.001_388_888_888_892_833,
    0.000_198_412_698_864_933_94,
    2.480_158_722_758_532_3e-5,
    2.755_724_388_131_672e-6,
    2.755_736_186_000_007e-7,
    2.510_913_452_080_930_5e-8,
    2.088_654_617_451_239e-9,
];

/// `k`, and `x - k ln 2` as a pair.
#[inline(always)]
pub(super) fn reduce<A: Arithmetic>(x: A::F64) -> (A::B32, Pair<A>) {
    let (k_float, k) = nearest::<A>(x, LOG2_E);
    let r = k_float.fma_by(-LN_2, x);
    (k, fast_two_sum::<A>(r, k_float * -LN_2_LOW))
}

/// `e^r`.
#[inline(always)]
pub(super) fn exp_of_small<A: Arithmetic>(r: A::F64) -> A::F64 {
    polynomial::<A, 11>(r, &EXP).fma_plus(r, 1.0).fma_plus(r, 1.0)
}

/// `e^(r + r_lo)`, as a pair that is not normalized.
#[inline(always)]
pub(super) fn exp_pair_of_small<A: Arithmetic>((r, r_lo): Pair<A>) -> Pair<A> {
    let tail = (r * r).fma(polynomial::<A, 11>(r, &EXP), r_lo);
    let (sum, error) = fast_two_sum::<A>(r.constant(1.0), r);
    (sum, tail + error)
}

#[inline(always)]
pub(super) fn exp<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (k, (r, _)) = reduce::<A>(clamp::<A>(x, -746.0, 710.0));
    scale::<A>(exp_of_small::<A>(r), k)
}

#[inline(always)]
pub(super) fn exp2<A: Arithmetic>(x: A::F64) -> A::F64 {
    let x = clamp::<A>(x, -1080.0, 1025.0);
    let shifted = x + SHIFT;
    let r = x - (shifted - SHIFT);
    let (r, r_lo) = two_product::<A>(r, r.constant(LN_2));
    let (sum, tail) = exp_pair_of_small::<A>((r, r_lo));
    scale::<A>(sum + tail, A::low(shifted.bits()))
}

/// `(e^x - 1) / 2` as a pair that is not normalized, for `-700 < x < 710`.
#[inline(always)]
pub(super) fn half_expm1<A: Arithmetic>(x: A::F64) -> Pair<A> {
    let (k, (r, r_lo)) = reduce::<A>(x);
    // r + r² / 2 exactly, and the rest.
    let (square, square_lo) = two_product::<A>(r, r * 0.5);
    let cubic = polynomial::<A, 10>(r, EXP.last_chunk().expect("ten of eleven"));
    let rest = (square * r * 2.0).fma(cubic, square_lo + r_lo);
    let power = power_of_two::<A>(k.minus_literal(1));
    let offset = power - 0.5;
    let offset_lo = (power - offset) - 0.5;
    let linear = power.fma(r, offset);
    let error = power.fma(r, offset - linear);
    let (sum, sum_error) = fast_two_sum::<A>(linear, power * square);
    (sum, power.fma(rest, (error + sum_error) + offset_lo))
}

#[inline(always)]
pub(super) fn expm1<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (sum, low) = half_expm1::<A>(clamp::<A>(x, -40.0, 709.9));
    x.when(x.magnitude().below(f64::EPSILON / 4.0), (sum + low) * 2.0)
}
