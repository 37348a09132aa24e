//! `log`, `log2`, `log10`, `log1p` of one `f32`.

use super::super::logarithm::{LOG, split};
use super::division::quotient;
use super::{Hard, mended};
use crate::arithmetic::{Arithmetic, Float, Value, polynomial};
use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

const HARD_LOG: &Hard = &[
    (0x3c41_3d3a, 0xc08e_158f),
    (0x4117_8feb, 0x400f_e5e7),
    (0x4c5d_65a5, 0x418f_034b),
    (0x65d8_90d3, 0x4254_d1f9),
    (0x6f31_a8ec, 0x4284_5a89),
];
const HARD_LOG2: &Hard = &[];
const HARD_LOG10: &Hard =
    &[(0x0efe_ee7a, 0xc1e9_9d23), (0x120b_93dc, 0xc1da_d957), (0x13ae_78d3, 0xc1d2_d957)];
const HARD_LOG1P: &Hard = &[
    (0x3540_0003, 0x353f_ffff),
    (0x3710_001b, 0x370f_fff3),
    (0x3efd_81ad, 0x3ecd_eee1),
    (0x4107_8feb, 0x400f_e5e7),
    (0x65d8_90d3, 0x4254_d1f9),
    (0x6f31_a8ec, 0x4284_5a89),
    (0xb53f_fffd, 0xb540_0001),
    (0xb70f_ffe5, 0xb710_000d),
    (0xbb0e_c8c4, 0xbb0e_f0a5),
];

/// `log(1 + f)`, for `1 + f` between √½ and √2.
#[inline(always)]
fn log_of_1_plus<A: Arithmetic>(f: A::F64) -> A::F64 {
    let s = quotient::<A>(f, f + 2.0);
    let s2 = s * s;
    (-s).fma((-s2).fma(polynomial::<A, 7>(s2, &LOG), f), f)
}

/// `e` and `log m`.
#[inline(always)]
pub(super) fn parts<A: Arithmetic>(x: A::F32) -> (A::F64, A::F64) {
    let (e, m) = split::<A>(A::widen(x));
    (A::signed_b32_to_f64(e), log_of_1_plus::<A>(m - 1.0))
}

/// The logarithm of `x` if `x` is ∞, NaN or at most 0; otherwise `y`.
#[inline(always)]
fn special<A: Arithmetic>(x: A::F32, y: A::F32) -> A::F32 {
    let outside = x.constant(f32::NEG_INFINITY).when(x.is(0.0), x.constant(f32::NAN));
    y.when(x.below(f32::INFINITY), x).when(x.above(0.0), outside)
}

#[inline(always)]
pub(in super::super) fn log<A: Arithmetic>(x: A::F32) -> A::F32 {
    let (e, log) = parts::<A>(x);
    mended::<A>(x, special::<A>(x, A::narrow(e.fma_by(LN_2, log))), HARD_LOG)
}

#[inline(always)]
pub(in super::super) fn log2<A: Arithmetic>(x: A::F32) -> A::F32 {
    let (e, log) = parts::<A>(x);
    let y = log.fma_by(LOG2_E, log.fma_by(2.035_527_374_093_103_3e-17, e));
    mended::<A>(x, special::<A>(x, A::narrow(y)), HARD_LOG2)
}

#[inline(always)]
pub(in super::super) fn log10<A: Arithmetic>(x: A::F32) -> A::F32 {
    let (e, log) = parts::<A>(x);
    let y = log.fma_by(LOG10_E, log.fma_by(1.098_319_650_216_765e-17, e * LOG10_2));
    mended::<A>(x, special::<A>(x, A::narrow(y)), HARD_LOG10)
}

#[inline(always)]
pub(in super::super) fn log1p<A: Arithmetic>(x: A::F32) -> A::F32 {
    let wide = A::widen(x);
    let (e, m) = split::<A>(wide + 1.0);
    // The sum is exact where the exponent is not 0.
    let f = wide.when(e.is(0), m - 1.0);
    let y = A::narrow(A::signed_b32_to_f64(e).fma_by(LN_2, log_of_1_plus::<A>(f)));
    let outside = x.constant(f32::NEG_INFINITY).when(x.is(-1.0), x.constant(f32::NAN));
    let y = y.when(x.below(f32::INFINITY), x).when(x.above(-1.0), outside);
    mended::<A>(x, x.when(x.is(0.0), y), HARD_LOG1P)
}
