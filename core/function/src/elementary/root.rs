//! `cbrt` and `hypot`.

use super::pair::{fast_two_sum, scale, square_root, two_product, with_sign};
use crate::arithmetic::{Arithmetic, Bits, Float, Value};

/// Improves `y` as an approximation of `a^(-1/3)`: the error goes to its fourth power.
#[inline(always)]
fn nearer<A: Arithmetic>(y: A::F64, a: A::F64) -> A::F64 {
    let error = (-(a * y)).fma_plus(y * y, 1.0);
    let series = error.fma_by(14.0 / 81.0, error.constant(2.0 / 9.0)).fma_plus(error, 1.0 / 3.0);
    y.fma(error * series, y)
}

/// The cube root: an estimate of `a^(-1/3)` from the bits, two steps of the fourth order and one
/// correction.
#[inline(always)]
pub(super) fn cbrt<A: Arithmetic>(x: A::F64) -> A::F64 {
    let a = x.magnitude();
    let small = a.below(1e-270);
    let a = (a * 5_846_006_549_323_611_672_814_739_330_865_132_078_623_730_171_904.0).when(small, a);
    let top = A::high(a.bits());
    let estimate = top.constant(0x553e_f0ff).minus(top.times_high(top.constant(0x5555_5556)));
    let y = A::F64::of_bits(A::zero_extend(estimate).shl(32));
    let y = nearer::<A>(nearer::<A>(y, a), a);
    let y2 = y * y;
    let root = a * y2;
    let (square, square_lo) = two_product::<A>(root, root);
    let rest = (-square).fma(root, a) - square_lo * root;
    let root = (rest * y2).fma_by(1.0 / 3.0, root);
    let root = (root * (1.0 / 18_014_398_509_481_984.0)).when(small, root);
    let itself = x.is(0.0) | !a.below(f64::INFINITY);
    x.when(itself, with_sign::<A>(root, x))
}

#[inline(always)]
pub(super) fn hypot<A: Arithmetic>(x: A::F64, y: A::F64) -> A::F64 {
    let (x, y) = (x.magnitude(), y.magnitude());
    let greater = x.less(y);
    let (a, b) = (y.when(greater, x), x.when(greater, y));
    let e = A::high(a.bits()).shr(20).minus_literal(1023);
    let down = e.constant(0).minus(e);
    let (scaled_a, scaled_b) = (scale::<A>(a, down), scale::<A>(b, down));
    let (a2, a2_lo) = two_product::<A>(scaled_a, scaled_a);
    let (b2, b2_lo) = two_product::<A>(scaled_b, scaled_b);
    let (sum, sum_lo) = fast_two_sum::<A>(a2, b2);
    let (root, root_lo) = square_root::<A>((sum, sum_lo + (a2_lo + b2_lo)));
    let result = scale::<A>(root + root_lo, e);
    let result = a.when(a.is(0.0), result);
    let infinite = x.is(f64::INFINITY) | y.is(f64::INFINITY);
    let result = x.constant(f64::INFINITY).when(infinite, result);
    x.constant(f64::NAN).when(!infinite & (x.is_nan() | y.is_nan()), result)
}

/// The arguments were `f32`, so their squares are exact and in range.
#[inline(always)]
pub(super) fn hypot_of_f32<A: Arithmetic>(x: A::F64, y: A::F64) -> A::F64 {
    let root = x.fma(x, y * y).square_root();
    let infinite = x.magnitude().is(f64::INFINITY) | y.magnitude().is(f64::INFINITY);
    x.constant(f64::INFINITY).when(infinite, root)
}
