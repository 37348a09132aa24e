//! `sin`, `cos`, `tan`: reduces to `x = q π/2 + r` with `|r| <= π/4`, then takes one polynomial for
//! the sine and one for the cosine.

use super::pair::{FRAC_PI_2_LOW, Pair, fast_two_sum, nearest, quotient, two_product, two_sum};
use super::payne_hanek;
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

const FRAC_PI_2_LOWEST: f64 = -1.497_384_904_859_169_8e-33;

/// `(sin r / r - 1) / r²` as a polynomial in `r²`, for `|r| <= 0.7858`; the error of the sine is
/// 2^-57.
pub(super) const SIN: [f64; 6] = [
    -0.166_666_666_666_666_3,
    0.008_333_333_333_321_96,
    -0.000_198_412_698_295_046_62,
    2.755_731_359_989_538e-6,
    -2.505_074_513_051_902_4e-8,
    1.589_611_072_360_784_2e-10,
];

/// `(cos r - 1 + r² / 2) / r⁴` as a polynomial in `r²`, for `|r| <= 0.7858`; the error of the
/// cosine is 2^-62.
const COS: [f64; 6] = [
    0.041_666_666_666_666_59,
    -0.001_388_888_888_887_233_4,
    2.480_158_728_845_329e-5,
    -2.755_731_407_525_289_3e-7,
    2.087_568_783_588_743_4e-9,
    -1.135_791_076_036_156_6e-11,
];

/// Above this, all of `2/π` is needed.
pub(super) const HUGE: f64 = 1_073_741_824.0;

/// `q` and `r`, for `|x| <= HUGE`.
#[inline(always)]
fn reduce_moderate<A: Arithmetic>(x: A::F64) -> (A::B32, Pair<A>) {
    let (k, q) = nearest::<A>(x, FRAC_2_PI);
    let r = k.fma_by(-FRAC_PI_2, x);
    let (product, product_lo) = two_product::<A>(k, x.constant(FRAC_PI_2_LOW));
    let (hi, lo) = two_sum::<A>(r, -product);
    (q, fast_two_sum::<A>(hi, k.fma_by(-FRAC_PI_2_LOWEST, lo - product_lo)))
}

/// `q` (only its low bits) and `r`.
#[inline(always)]
fn reduce<A: Arithmetic>(x: A::F64) -> (A::B32, Pair<A>) {
    let huge = x.magnitude().above(HUGE);
    let (q, (r, r_lo)) = reduce_moderate::<A>(x);
    if !A::RARE {
        return (q, (r, r_lo));
    }
    let (huge_q, (huge_r, huge_r_lo)) = payne_hanek::reduce_f64::<A>(x);
    (huge_q.when(huge, q), (huge_r.when(huge, r), huge_r_lo.when(huge, r_lo)))
}

/// `sin(r + r_lo)`, as a pair that is not normalized.
#[inline(always)]
fn sin_of_small<A: Arithmetic>((r, r_lo): Pair<A>) -> Pair<A> {
    let r2 = r * r;
    let tail = (r2 * r).fma(polynomial::<A, 6>(r2, &SIN), r_lo);
    (r, (r2 * -0.5).fma(r_lo, tail))
}

/// `cos(r + r_lo)`, as a pair that is not normalized.
#[inline(always)]
fn cos_of_small<A: Arithmetic>((r, r_lo): Pair<A>) -> Pair<A> {
    let r2 = r * r;
    let half = r2 * 0.5;
    let one = r.constant(1.0);
    let sum = one - half;
    // The rounding error of r², and the part of r_lo.
    let low = r.fma(r, -r2).fma_by(-0.5, -(r * r_lo));
    let tail = (r2 * r2).fma(polynomial::<A, 6>(r2, &COS), low);
    (sum, ((one - sum) - half) + tail)
}

/// `-x` if bit `bit` of `q` is set.
#[inline(always)]
fn turned<A: Arithmetic>(x: A::F64, q: A::B32, bit: u32) -> A::F64 {
    let sign = A::zero_extend(q.shl(31 - bit) & 0x8000_0000).shl(32);
    A::F64::of_bits(x.bits() ^ sign)
}

/// NaN if `x` is ∞ or NaN, and `x` if that is 0, else `y`.
#[inline(always)]
fn odd_special<A: Arithmetic>(x: A::F64, y: A::F64) -> A::F64 {
    x.when(x.is(0.0), even_special::<A>(x, y))
}

/// NaN if `x` is ∞ or NaN, else `y`.
#[inline(always)]
fn even_special<A: Arithmetic>(x: A::F64, y: A::F64) -> A::F64 {
    y.when(x.magnitude().below(f64::INFINITY), x.constant(f64::NAN))
}

/// The sine of `r + q π/2`.
#[inline(always)]
fn sin_of_reduced<A: Arithmetic>(q: A::B32, r: Pair<A>) -> A::F64 {
    let (sin, sin_lo) = sin_of_small::<A>(r);
    let (cos, cos_lo) = cos_of_small::<A>(r);
    turned::<A>((sin + sin_lo).when((q & 1).is(0), cos + cos_lo), q, 1)
}

#[inline(always)]
pub(super) fn sin<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (q, r) = reduce::<A>(x);
    odd_special::<A>(x, sin_of_reduced::<A>(q, r))
}

#[inline(always)]
pub(super) fn cos<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (q, r) = reduce::<A>(x);
    even_special::<A>(x, sin_of_reduced::<A>(q.plus_literal(1), r))
}

/// `tan r`, and `-1 / tan r` for an odd `q`.
#[inline(always)]
pub(super) fn tan<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (q, r) = reduce::<A>(x);
    let (sin, sin_lo) = sin_of_small::<A>(r);
    let (cos, cos_lo) = cos_of_small::<A>(r);
    let even = (q & 1).is(0);
    let (sin, sin_lo) = fast_two_sum::<A>(sin, sin_lo);
    let (cos, cos_lo) = fast_two_sum::<A>(cos, cos_lo);
    let n = (sin.when(even, cos), sin_lo.when(even, cos_lo));
    let d = (cos.when(even, sin), cos_lo.when(even, sin_lo));
    let (y, y_lo) = quotient::<A>(n, d);
    odd_special::<A>(x, turned::<A>(y + y_lo, q, 0))
}
