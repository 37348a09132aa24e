//! `asinh`, `acosh`, `atanh` of one `f32`: `e ln 2` plus a polynomial in a quotient that loses no
//! accuracy near 0.

use super::super::logarithm::{LOG, split};
use super::super::pair::power_of_two;
use super::division::quotient;
use super::{Hard, mended, mended_odd};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::LN_2;

const HARD_ASINH: &Hard =
    &[(0x4bdd_65a5, 0x418f_034b), (0x6558_90d3, 0x4254_d1f9), (0x6eb1_a8ec, 0x4284_5a89)];
const HARD_ACOSH: &Hard = &[(0x6558_90d3, 0x4254_d1f9), (0x6eb1_a8ec, 0x4284_5a89)];
const HARD_ATANH: &Hard = &[];

/// `e ln 2 + log((d + n) / (d - n))`, where the quotient is between √½ and √2.
#[inline(always)]
fn log_of_quotient<A: Arithmetic>(e: A::B32, n: A::F64, d: A::F64) -> A::F64 {
    let s = quotient::<A>(n, d);
    let s2 = s * s;
    A::signed_b32_to_f64(e).fma_by(LN_2, (s2 * s).fma(polynomial::<A, 7>(s2, &LOG), s * 2.0))
}

/// `log w`, where `w >= 1` and `w = (d + n) / (d - n)`.
#[inline(always)]
fn log_of_large<A: Arithmetic>(w: A::F64, n: A::F64, d: A::F64) -> A::F64 {
    let (e, m) = split::<A>(w);
    let near = e.is(0);
    log_of_quotient::<A>(e, n.when(near, m - 1.0), d.when(near, m + 1.0))
}

#[inline(always)]
pub(in super::super) fn asinh<A: Arithmetic>(x: A::F32) -> A::F32 {
    let a = A::widen(x.magnitude());
    let root = a.fma_plus(a, 1.0).square_root();
    let y = A::narrow(log_of_large::<A>(a + root, a, root + 1.0));
    mended_odd::<A>(x, y.when(x.magnitude().below(f32::INFINITY), x), HARD_ASINH)
}

#[inline(always)]
pub(in super::super) fn acosh<A: Arithmetic>(x: A::F32) -> A::F32 {
    let a = A::widen(x);
    let root = a.fma_plus(a, -1.0).square_root();
    let y = A::narrow(log_of_large::<A>(a + root, (a - 1.0) + root, (a + 1.0) + root));
    let y = y.when(x.below(f32::INFINITY), x);
    mended::<A>(x, x.constant(f32::NAN).when(x.below(1.0), y), HARD_ACOSH)
}

/// Half of `log((1 + a) / (1 - a))`. The power of two is taken out of the quotient.
#[inline(always)]
pub(in super::super) fn atanh<A: Arithmetic>(x: A::F32) -> A::F32 {
    let a = A::widen(x.magnitude());
    let (above, below) = (a + 1.0, -a + 1.0);
    let ratio = A::narrow(above).over(A::narrow(below));
    let e = ratio.bits().minus_literal(0x3f35_04f3).shr_signed(23);
    let power = power_of_two::<A>(e);
    let n = (-power).fma(below, above);
    let d = power.fma(below, above);
    let near = e.is(0);
    let y = log_of_quotient::<A>(e, a.when(near, n), a.constant(1.0).when(near, d));
    let y = A::narrow(y * 0.5);
    let limit = x.constant(f32::INFINITY).when(x.magnitude().is(1.0), x.constant(f32::NAN));
    mended_odd::<A>(x, y.when(x.magnitude().below(1.0), limit), HARD_ATANH)
}
