//! `sinh`, `cosh`, `tanh`.

use super::exponential::{half_expm1, reduce};
use super::pair::{Pair, clamp, fast_two_sum, power_of_two, quotient, two_sum, with_sign};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};

/// `(cosh r - 1) / r²` as a polynomial in `r²`, for `|r| <= 0.3467`; the error is 2^-57.
pub(super) const COSH: [f64; 5] = [
    0.500_000_000_000_001_3,
    0.041_666_666_666_511_48,
    0.001_388_888_894_790_624_9,
    2.480_148_911_736_673_8e-5,
    2.763_154_123_677_453_4e-7,
];

/// `(sinh r - r) / r³` as a polynomial in `r²`, for `|r| <= 0.3467`; the error is 2^-61.
pub(super) const SINH: [f64; 5] = [
    0.166_666_666_666_666_77,
    0.008_333_333_333_321_445,
    0.000_198_412_698_865_542_26,
    2.755_724_380_751_889e-6,
    2.510_916_288_790_864_5e-8,
];

/// `2^(k - 2) + 2^(-k - 2)`, `2^(k - 2) - 2^(-k - 2)`, both as pairs, and `r` with
/// `x = k ln 2 + r`.
#[inline(always)]
fn powers<A: Arithmetic>(x: A::F64) -> (Pair<A>, Pair<A>, Pair<A>) {
    let (k, r) = reduce::<A>(clamp::<A>(x.magnitude(), 0.0, 710.6));
    let up = power_of_two::<A>(k.minus_literal(2));
    let small = k.constant(60).less_signed(k);
    let down = power_of_two::<A>(k.constant(u32::MAX - 1).minus(k));
    let down = down.constant(0.0).when(small, down);
    (fast_two_sum::<A>(up, down), fast_two_sum::<A>(up, -down), r)
}

/// `u cosh(r + r_lo) + v sinh(r + r_lo)`, doubled, with about one rounding.
#[inline(always)]
fn combine<A: Arithmetic>((u, u_lo): Pair<A>, (v, v_lo): Pair<A>, (r, r_lo): Pair<A>) -> A::F64 {
    let r2 = r * r;
    let cosh = r2.fma(polynomial::<A, 5>(r2, &COSH), r * r_lo);
    let sinh = (r2 * r).fma(polynomial::<A, 5>(r2, &SINH), r_lo);
    let sum = v.fma(r, u);
    let error = v.fma(r, u - sum);
    let low = u.fma(cosh, v.fma(sinh, error + v_lo.fma(r, u_lo)));
    (sum + low) * 2.0
}

#[inline(always)]
pub(super) fn sinh<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (sum, difference, r) = powers::<A>(x);
    let y = with_sign::<A>(combine::<A>(difference, sum, r), x);
    x.when(!x.magnitude().above(1.0 / 268_435_456.0), y)
}

#[inline(always)]
pub(super) fn cosh<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (sum, difference, r) = powers::<A>(x);
    let y = combine::<A>(sum, difference, r);
    x.when(x.is_nan(), y)
}

#[inline(always)]
pub(super) fn tanh<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (sum, low) = half_expm1::<A>(clamp::<A>(x.magnitude(), 0.0, 22.0) * 2.0);
    let (n, n_lo) = fast_two_sum::<A>(sum, low);
    let (d, d_lo) = two_sum::<A>(n, n.constant(1.0));
    let (y, y_lo) = quotient::<A>((n, n_lo), (d, d_lo + n_lo));
    x.when(!x.magnitude().above(1.0 / 268_435_456.0), with_sign::<A>(y + y_lo, x))
}
