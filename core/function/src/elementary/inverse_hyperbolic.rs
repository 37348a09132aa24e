//! `asinh`, `acosh`, `atanh`.

use super::logarithm::{LOG, log_of_pair, with_exponent};
use super::pair::{fast_two_sum, power_of_two, quotient, square_root, two_product, two_sum, with_sign};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};

/// `ln 2 / 2` in two parts; products of the first with exponents are exact.
const HALF_LN_2_PARTS: (f64, f64) = (0.346_573_352_813_720_7, 2.374_662_519_515_836_3e-7);

/// Above this, `x² ± 1` and `x²` have the same logarithm.
const LARGE: f64 = 1_073_741_824.0;

/// `log(x + sqrt(x² + one))`, where `one` is 1 or −1.
#[inline(always)]
fn log_with_root<A: Arithmetic>(x: A::F64, one: f64) -> A::F64 {
    let large = x.above(LARGE);
    let (square, square_lo) = two_product::<A>(x, x);
    let (sum, sum_lo) = two_sum::<A>(square, x.constant(one));
    let (root, root_lo) = square_root::<A>(fast_two_sum::<A>(sum, sum_lo + square_lo));
    let (hi, lo) = two_sum::<A>(x, root);
    let zero = x.constant(0.0);
    let pair = (x.when(large, hi), zero.when(large, lo + root_lo));
    log_of_pair::<A>(pair, Some(x.constant(1.0).when(large, zero)))
}

#[inline(always)]
pub(super) fn asinh<A: Arithmetic>(x: A::F64) -> A::F64 {
    let y = with_sign::<A>(log_with_root::<A>(x.magnitude(), 1.0), x);
    let itself = x.magnitude().below(1.0 / 268_435_456.0) | !x.magnitude().below(f64::INFINITY);
    x.when(itself, y)
}

#[inline(always)]
pub(super) fn acosh<A: Arithmetic>(x: A::F64) -> A::F64 {
    let y = log_with_root::<A>(x, -1.0);
    let y = y.when(x.below(f64::INFINITY), x);
    x.constant(f64::NAN).when(x.below(1.0), y)
}

/// `atanh a = e ln 2 / 2 + atanh s` with `s = ((1 + a) - 2^e (1 - a)) / ((1 + a) + 2^e (1 - a))`.
#[inline(always)]
pub(super) fn atanh<A: Arithmetic>(x: A::F64) -> A::F64 {
    let a = x.magnitude();
    let one = x.constant(1.0);
    let (above, above_lo) = fast_two_sum::<A>(one, a);
    let (below, below_lo) = fast_two_sum::<A>(one, -a);
    let ratio = A::narrow(above).over(A::narrow(below));
    let e = ratio.bits().minus_literal(0x3f35_04f3).shr_signed(23);
    let power = power_of_two::<A>(e);
    let (scaled, scaled_lo) = (below * power, below_lo * power);
    let n = fast_two_sum::<A>(above - scaled, above_lo - scaled_lo);
    let (d, d_lo) = fast_two_sum::<A>(above, scaled);
    let (s, s_lo) = quotient::<A>(n, (d, d_lo + (above_lo + scaled_lo)));
    let s2 = s * s;
    let low = (s2 * s * 0.5).fma(polynomial::<A, 7>(s2, &LOG), s_lo);
    let y = with_sign::<A>(with_exponent::<A>(A::signed_b32_to_f64(e), HALF_LN_2_PARTS, (s, low)), x);
    let y = x.when(a.below(1.0 / 268_435_456.0), y);
    let limit = with_sign::<A>(x.constant(f64::INFINITY), x).when(a.is(1.0), x.constant(f64::NAN));
    y.when(a.below(1.0), limit)
}
