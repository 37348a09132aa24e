//! `log`, `log2`, `log10`, `log1p`: `x = 2^e m` with `m` between √½ and √2, and `log m` by a
//! polynomial in `s = (m - 1) / (m + 1)`.

use super::pair::{Pair, fast_two_sum, power_of_two, reciprocal, two_sum};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{LOG2_E, LOG10_E};

/// `ln 2` in two parts; products of the first with exponents are exact.
pub(super) const LN_2_PARTS: (f64, f64) = (0.693_146_705_627_441_4, 4.749_325_039_031_672_6e-7);
const LOG10_2_PARTS: (f64, f64) = (0.301_029_920_578_002_93, 7.508_597_826_552_624e-8);
const LOG2_E_LOW: f64 = 2.035_527_374_093_103_3e-17;
const LOG10_E_LOW: f64 = 1.098_319_650_216_765e-17;

/// `(log((1 + s) / (1 - s)) - 2 s) / s³` as a polynomial in `s²`, for `s² <= 0.02945`; the error of
/// the whole is 2^-58.
pub(super) const LOG: [f64; 7] = [
    0.666_666_666_666_673_6,
    0.399_999_999_994_050_34,
    0.285_714_287_442_316_5,
    0.222_221_984_030_83,
    0.181_835_725_041_505_83,
    0.153_138_531_382_433_6,
    0.147_978_217_705_096_53,
];

/// `e` and `m`, for a normal `x > 0`.
#[inline(always)]
pub(super) fn split<A: Arithmetic>(x: A::F64) -> (A::B32, A::F64) {
    let bits = x.bits();
    let e = A::high(bits).minus_literal(0x3fe6_a09e).shr_signed(20);
    (e, A::F64::of_bits(bits.minus(A::zero_extend(e).shl(52))))
}

/// `log(1 + f + f_lo)` as a pair, for `1 + f` between √½ and √2.
#[inline(always)]
pub(super) fn log_of_1_plus<A: Arithmetic>(f: A::F64, f_lo: Option<A::F64>) -> Pair<A> {
    let s = f * reciprocal::<A>(f + 2.0);
    let s2 = s * s;
    let half_square = f * f * 0.5;
    let rest = s * s2.fma(polynomial::<A, 7>(s2, &LOG), half_square);
    let sum = (f * -0.5).fma(f, f);
    let error = (f * -0.5).fma(f, f - sum);
    let low = match f_lo {
        Some(f_lo) => (error + rest) + (-f_lo).fma(f, f_lo),
        None => error + rest,
    };
    (sum, low)
}

/// `e * (unit.0 + unit.1) + hi + lo`, with about one rounding. `e * unit.0` is exact.
#[inline(always)]
pub(super) fn with_exponent<A: Arithmetic>(e: A::F64, unit: (f64, f64), (hi, lo): Pair<A>) -> A::F64 {
    let sum = e.fma_by(unit.0, hi);
    let error = e.fma_by(unit.0, -sum) + hi;
    sum + (error + e.fma_by(unit.1, lo))
}

/// `log(hi + lo)`, for a normal `hi > 0` and a `lo` that is its rounding error; `extra` is added to
/// the exponent.
#[inline(always)]
pub(super) fn log_of_pair<A: Arithmetic>((hi, lo): Pair<A>, extra: Option<A::F64>) -> A::F64 {
    let (e, m) = split::<A>(hi);
    let low_e = e.constant(900).when(e.constant(900).less_signed(e), e);
    let low = lo * power_of_two::<A>(low_e.constant(0).minus(low_e));
    let (f, f_lo) = fast_two_sum::<A>(m - 1.0, low);
    let e = match extra {
        Some(extra) => A::signed_b32_to_f64(e) + extra,
        None => A::signed_b32_to_f64(e),
    };
    with_exponent::<A>(e, LN_2_PARTS, log_of_1_plus::<A>(f, Some(f_lo)))
}

/// The logarithm of `x` if `x` is ∞, NaN or at most 0; otherwise `y`.
#[inline(always)]
fn special<A: Arithmetic>(x: A::F64, y: A::F64) -> A::F64 {
    let positive = x.above(0.0);
    let y = y.when(x.below(f64::INFINITY), x);
    let outside = x.constant(f64::NEG_INFINITY).when(x.is(0.0), x.constant(f64::NAN));
    y.when(positive, outside)
}

/// `e` and the parts of `log m`, also for subnormal `x`.
#[inline(always)]
fn parts<A: Arithmetic>(x: A::F64) -> (A::F64, Pair<A>) {
    let subnormal = x.below(f64::MIN_POSITIVE);
    let (e, m) = split::<A>((x * 18_014_398_509_481_984.0).when(subnormal, x));
    let e = e.minus_literal(54).when(subnormal, e);
    (A::signed_b32_to_f64(e), log_of_1_plus::<A>(m - 1.0, None))
}

/// A pair times a constant pair.
#[inline(always)]
fn times<A: Arithmetic>((hi, lo): Pair<A>, by: (f64, f64)) -> Pair<A> {
    let product = hi * by.0;
    let error = hi.fma_by(by.0, -product);
    (product, lo.fma_by(by.0, hi.fma_by(by.1, error)))
}

#[inline(always)]
pub(super) fn log<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (e, parts) = parts::<A>(x);
    special::<A>(x, with_exponent::<A>(e, LN_2_PARTS, parts))
}

#[inline(always)]
pub(super) fn log2<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (e, parts) = parts::<A>(x);
    special::<A>(x, with_exponent::<A>(e, (1.0, 0.0), times::<A>(parts, (LOG2_E, LOG2_E_LOW))))
}

#[inline(always)]
pub(super) fn log10<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (e, parts) = parts::<A>(x);
    special::<A>(x, with_exponent::<A>(e, LOG10_2_PARTS, times::<A>(parts, (LOG10_E, LOG10_E_LOW))))
}

#[inline(always)]
pub(super) fn log1p<A: Arithmetic>(x: A::F64) -> A::F64 {
    let sum = two_sum::<A>(x.constant(1.0), x);
    let y = special::<A>(sum.0, log_of_pair::<A>(sum, None));
    x.when(x.magnitude().below(f64::EPSILON / 4.0), y)
}
