//! `x^y = 2^(y log2 |x|)`, with the logarithm to about 66 bits.

use super::exponential::{LN_2_LOW, exp_pair_of_small};
use super::logarithm::split;
use super::pair::{Pair, SHIFT, clamp, fast_two_sum, quotient, scale, two_product, two_sum, with_sign};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{LN_2, LOG2_E};

const LOG2_E_LOW: f64 = 2.035_527_374_093_103_3e-17;
const TWO_THIRDS: (f64, f64) = (2.0 / 3.0, 3.700_743_415_417_188e-17);

/// `(log((1 + s) / (1 - s)) - 2 s - 2 s³ / 3) / s⁵` as a polynomial in `s²`, for `s² <= 0.02945`.
const LOG_TAIL: [f64; 8] = [
    0.399_999_999_999_999_74,
    0.285_714_285_714_466_83,
    0.222_222_222_172_156_62,
    0.181_818_189_042_819_35,
    0.153_845_548_303_662_54,
    0.133_363_876_373_092_77,
    0.116_735_279_544_558_22,
    0.119_988_390_450_651_74,
];

/// A pair times a pair, as a pair that is not normalized.
#[inline(always)]
fn times<A: Arithmetic>((a, a_lo): Pair<A>, (b, b_lo): Pair<A>) -> Pair<A> {
    let (product, error) = two_product::<A>(a, b);
    (product, a.fma(b_lo, a_lo.fma(b, error)))
}

/// `log2 a` for a normal or subnormal `a > 0`.
#[inline(always)]
fn log2<A: Arithmetic>(a: A::F64) -> Pair<A> {
    let subnormal = a.below(f64::MIN_POSITIVE);
    let (e, m) = split::<A>((a * 18_014_398_509_481_984.0).when(subnormal, a));
    let e = e.minus_literal(54).when(subnormal, e);
    let zero = a.constant(0.0);
    let s = quotient::<A>((m - 1.0, zero), two_sum::<A>(m, m.constant(1.0)));
    let s = fast_two_sum::<A>(s.0, s.1);
    let square = times::<A>(s, s);
    let tail = square.0 * polynomial::<A, 8>(square.0, &LOG_TAIL);
    let (third, third_lo) = fast_two_sum::<A>(a.constant(TWO_THIRDS.0), tail);
    let (rest, rest_lo) = times::<A>(square, (third, third_lo + TWO_THIRDS.1));
    let (factor, factor_lo) = fast_two_sum::<A>(a.constant(2.0), rest);
    let log = times::<A>(s, (factor, factor_lo + rest_lo));
    let (log2, log2_lo) = times::<A>(log, (a.constant(LOG2_E), a.constant(LOG2_E_LOW)));
    let (sum, error) = two_sum::<A>(A::signed_b32_to_f64(e), log2);
    fast_two_sum::<A>(sum, error + log2_lo)
}

/// `|x|^y` where no special rule applies.
#[inline(always)]
fn magnitude<A: Arithmetic>(a: A::F64, y: A::F64) -> A::F64 {
    let (log, log_lo) = log2::<A>(a);
    let y = clamp::<A>(y, -1e20, 1e20);
    let (product, error) = two_product::<A>(y, log);
    let low = y.fma(log_lo, error);
    let limited = clamp::<A>(product, -1100.0, 1100.0);
    let low = low.when(limited.same(product), low.constant(0.0));
    let shifted = limited + SHIFT;
    let r = fast_two_sum::<A>(limited - (shifted - SHIFT), low);
    let r = times::<A>(r, (a.constant(LN_2), a.constant(LN_2_LOW)));
    let (sum, tail) = exp_pair_of_small::<A>(r);
    scale::<A>(sum + tail, A::low(shifted.bits()))
}

#[inline(always)]
pub(super) fn pow<A: Arithmetic>(x: A::F64, y: A::F64) -> A::F64 {
    let a = x.magnitude();
    let (zero, one) = (x.constant(0.0), x.constant(1.0));
    let infinity = x.constant(f64::INFINITY);
    let negative = (x.bits().shr(63)).is(1);
    let half = y * 0.5;
    let whole = y.towards_zero().same(y);
    let odd = whole & !half.towards_zero().same(half);
    let grows = (a.is(0.0) & y.below(0.0)) | (a.same(infinity) & y.above(0.0));
    let extreme = infinity.when(grows, zero);
    let result = extreme.when(a.is(0.0) | a.same(infinity), magnitude::<A>(a, y));
    let result = with_sign::<A>(result, -one).when(negative & odd, result);
    let undefined = negative & !whole & a.above(0.0) & a.below(f64::INFINITY);
    let result = x.constant(f64::NAN).when(undefined | x.is_nan() | y.is_nan(), result);
    one.when(y.is(0.0) | x.is(1.0), result)
}
