//! `sinh`, `cosh`, `tanh` of one `f32`.

use super::super::hyperbolic::{COSH, SINH};
use super::super::pair::reciprocal;
use super::exponential::{expm1_in_range, reduce};
use super::{Hard, mended, mended_odd};
use crate::function::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};

const HARD_SINH: &Hard = &[(0x3a12_85ff, 0x3a12_85ff)];
const HARD_COSH: &Hard = &[];
const HARD_TANH: &Hard = &[];

/// Above `high`, `high`; NaN stays.
#[inline(always)]
fn magnitude_up_to<A: Arithmetic>(x: A::F32, high: f32) -> A::F32 {
    let a = x.magnitude();
    a.constant(high).when(a.above(high), a)
}

/// `2^(k-1) + 2^(-k-1)`, `2^(k-1) - 2^(-k-1)`, `cosh r`, `sinh r`, where `|x| = k ln 2 + r`.
#[inline(always)]
fn parts<A: Arithmetic>(x: A::F32) -> [A::F64; 4] {
    let (power, r) = reduce::<A>(A::widen(magnitude_up_to::<A>(x, 90.0)));
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

/// `e / (e + 2)` with `e = exp(2 |x|) - 1`.
#[inline(always)]
pub(in super::super) fn tanh<A: Arithmetic>(x: A::F32) -> A::F32 {
    let n = expm1_in_range::<A>(A::widen(magnitude_up_to::<A>(x, 10.0)) * 2.0);
    let d = n + 2.0;
    let inverse = reciprocal::<A>(d);
    let quotient = n * inverse;
    let rest = (-quotient).fma(d, n);
    mended_odd::<A>(x, A::narrow(rest.fma(inverse, quotient)), HARD_TANH)
}
