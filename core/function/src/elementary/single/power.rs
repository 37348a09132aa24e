//! `pow` of two `f32`, within 0.51 ulp.

use super::super::pair::clamp;
use super::exponential::exp2_in_range;
use super::logarithm::parts;
use crate::arithmetic::{Arithmetic, Bits, Float, Value};
use std::f64::consts::LOG2_E;

/// `|x|^y` where no special rule applies.
#[inline(always)]
fn magnitude<A: Arithmetic>(a: A::F32, y: A::F32) -> A::F32 {
    let (e, log) = parts::<A>(a);
    let product = log.fma_by(LOG2_E, e) * A::widen(y);
    A::narrow(exp2_in_range::<A>(clamp::<A>(product, -160.0, 160.0)))
}

#[inline(always)]
pub(in super::super) fn pow<A: Arithmetic>(x: A::F32, y: A::F32) -> A::F32 {
    let a = x.magnitude();
    let (zero, one) = (x.constant(0.0), x.constant(1.0));
    let infinity = x.constant(f32::INFINITY);
    let negative = x.bits().shr(31).is(1);
    let half = y * 0.5;
    let whole = y.towards_zero().same(y);
    let odd = whole & !half.towards_zero().same(half);
    let grows = (a.is(0.0) & y.below(0.0)) | (a.same(infinity) & y.above(0.0));
    let extreme = infinity.when(grows, zero);
    // The logarithm of 1 is 0, and an infinite power does not change that.
    let result = extreme.when(a.is(0.0) | a.same(infinity), magnitude::<A>(a, y));
    let result = one.when(a.is(1.0), result);
    let result = (-result).when(negative & odd, result);
    let undefined = negative & !whole & a.above(0.0) & a.below(f32::INFINITY);
    let result = x.constant(f32::NAN).when(undefined | x.is_nan() | y.is_nan(), result);
    one.when(y.is(0.0) | x.is(1.0), result)
}
