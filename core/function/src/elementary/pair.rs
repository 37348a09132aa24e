//! Sums and quotients of pairs of `f64`. A pair is a value and its rounding error.

use crate::arithmetic::{Arithmetic, Bits, Float, Value};

/// A value `hi + lo`, where `lo` is much smaller.
pub(super) type Pair<A> = (<A as Arithmetic>::F64, <A as Arithmetic>::F64);

/// `a + b` exactly, where `|a| >= |b|` or `a` is 0.
#[inline(always)]
pub(super) fn fast_two_sum<A: Arithmetic>(a: A::F64, b: A::F64) -> Pair<A> {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// `a + b` exactly.
#[inline(always)]
pub(super) fn two_sum<A: Arithmetic>(a: A::F64, b: A::F64) -> Pair<A> {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

/// `a * b` exactly.
#[inline(always)]
pub(super) fn two_product<A: Arithmetic>(a: A::F64, b: A::F64) -> Pair<A> {
    let product = a * b;
    (product, a.fma(b, -product))
}

/// `1 / d` to about 24 bits, by the `f32` unit, where `|d|` is well inside the range of `f32`.
#[inline(always)]
pub(super) fn rough_reciprocal<A: Arithmetic>(d: A::F64) -> A::F64 {
    let d = A::narrow(d);
    A::widen(d.constant(1.0).over(d))
}

/// `1 / d` within 0.6 ulp, where `|d|` is well inside the range of `f32`.
#[inline(always)]
pub(super) fn reciprocal<A: Arithmetic>(d: A::F64) -> A::F64 {
    let rough = rough_reciprocal::<A>(d);
    let error = (-d).fma_plus(rough, 1.0);
    rough.fma(error.fma(error, error), rough)
}

/// `(n + n_lo) / (d + d_lo)` to about 100 bits, where `|d|` is well inside the range of `f32`.
#[inline(always)]
pub(super) fn quotient<A: Arithmetic>((n, n_lo): Pair<A>, (d, d_lo): Pair<A>) -> Pair<A> {
    let inverse = reciprocal::<A>(d);
    let quotient = n * inverse;
    let rest = (-quotient).fma(d, n) + (-quotient).fma(d_lo, n_lo);
    (quotient, rest * inverse)
}

/// `sqrt(x + x_lo)` to about 100 bits, where the root is well inside the range of `f32`.
#[inline(always)]
pub(super) fn square_root<A: Arithmetic>((x, x_lo): Pair<A>) -> Pair<A> {
    let root = x.square_root();
    let rest = (-root).fma(root, x) + x_lo;
    let low = rest * rough_reciprocal::<A>(root) * 0.5;
    (root, low.constant(0.0).when(root.is(0.0), low))
}

/// `2^k` for a signed `k` in −1022..=1023.
#[inline(always)]
pub(super) fn power_of_two<A: Arithmetic>(k: A::B32) -> A::F64 {
    A::F64::of_bits(A::zero_extend(k.plus_literal(1023)).shl(52))
}

/// `x * 2^k` for a signed `k` in −2044..=2046, rounded once if the result is subnormal.
#[inline(always)]
pub(super) fn scale<A: Arithmetic>(x: A::F64, k: A::B32) -> A::F64 {
    let half = k.shr_signed(1);
    x * power_of_two::<A>(half) * power_of_two::<A>(k.minus(half))
}

/// Clamps to `low` and `high`; NaN stays.
#[inline(always)]
pub(super) fn clamp<A: Arithmetic>(x: A::F64, low: f64, high: f64) -> A::F64 {
    let x = x.constant(low).when(x.below(low), x);
    x.constant(high).when(x.above(high), x)
}

/// Rounds to the nearest integer, ties to even. Returns the integer as `f64`, and as signed 32
/// bits. For `|x| < 2^31`.
#[inline(always)]
pub(super) fn nearest<A: Arithmetic>(x: A::F64, factor: f64) -> (A::F64, A::B32) {
    let shifted = x.fma(x.constant(factor), x.constant(SHIFT));
    (shifted - SHIFT, A::low(shifted.bits()))
}

/// π/2 minus the nearest `f64`.
pub(super) const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;

/// Adding it to a number below 2^51 leaves the nearest integer in the low bits of the sum.
pub(super) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Works like `SHIFT`; the low bits, shifted left by 52, are 2 to the power of the integer.
pub(super) const POWER_SHIFT: f64 = SHIFT + 1023.0;

/// The magnitude of `x` with the sign of `sign`.
#[inline(always)]
pub(super) fn with_sign<A: Arithmetic>(x: A::F64, sign: A::F64) -> A::F64 {
    A::F64::of_bits((x.bits() & !SIGN) | (sign.bits() & SIGN))
}

/// The sign bit of an `f64`.
pub(super) const SIGN: u64 = 1 << 63;
