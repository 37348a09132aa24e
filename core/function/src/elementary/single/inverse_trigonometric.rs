//! `asin`, `acos`, `atan` of one `f32`, and `atan2` of two.

use super::super::inverse_trigonometric::{ASIN, ATAN};
use super::division::quotient;
use super::{Hard, bits::SIGN, mended, mended_odd};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const HARD_ASIN: &Hard = &[];
const HARD_ACOS: &Hard = &[(0x3288_85a3, 0x3fc9_0fdb), (0x3982_6222, 0x3fc9_07b5)];
const HARD_ATAN: &Hard = &[(0x3d8d_6b23, 0x3d8d_31c3)];

/// If `|x|` exceeds one of these limits, it is reduced by the next angle of [`ANGLES`]. The limits
/// make the quotient at most 7/16.
const LIMITS: [f32; 4] = [7.0 / 16.0, 11.0 / 16.0, 16.0 / 11.0, 16.0 / 7.0];

/// An angle and `p q r s`, where `x = tan(angle + atan z)` for `z = (p x + q) / (r x + s)`.
const ANGLES: [[f64; 5]; 5] = [
    [0.0, 1.0, 0.0, 0.0, 1.0],
    [0.463_647_609_000_806_1, 2.0, -1.0, 1.0, 2.0],
    [FRAC_PI_4, 1.0, -1.0, 1.0, 1.0],
    [1.107_148_717_794_090_4, 1.0, -2.0, 2.0, 1.0],
    [FRAC_PI_2, 0.0, -1.0, 1.0, 0.0],
];

#[inline(always)]
pub(in super::super) fn atan<A: Arithmetic>(x: A::F32) -> A::F32 {
    // Above 2^60 the angle is π/2. Up to there nothing overflows.
    let a = x.magnitude();
    let a = a.constant(1.152_921_5e18).when(a.above(1.152_921_5e18), a);
    let wide = A::widen(a);
    let pick = |at: usize| {
        let mut chosen = wide.constant(ANGLES[0][at]);
        for (limit, angle) in LIMITS.iter().zip(&ANGLES[1..]) {
            chosen = wide.constant(angle[at]).when(a.above(*limit), chosen);
        }
        chosen
    };
    // Written out, because a closure passed to `map` of an array would stay a call.
    let [angle, p, q, r, s] = [pick(0), pick(1), pick(2), pick(3), pick(4)];
    let (n, d) = (wide.fma(p, q), wide.fma(r, s));
    let z = quotient::<A>(n, d);
    let z2 = z * z;
    let y = angle + (z2 * z).fma(polynomial::<A, 12>(z2, &ATAN), z);
    mended_odd::<A>(x, A::narrow(y), HARD_ATAN)
}

/// Whether `|x| > ½`; and `asin |x|`, or in that case `acos |x| / 2`.
#[inline(always)]
fn folded<A: Arithmetic>(x: A::F32) -> (A::Bool, A::F64) {
    let a = x.magnitude();
    let steep = a.above(0.5);
    let wide = A::widen(a);
    let half = wide.fma_by(-0.5, wide.constant(0.5));
    let z = half.square_root().when(steep, wide);
    let z2 = half.when(steep, wide * wide);
    (steep, (z2 * z).fma(polynomial::<A, 13>(z2, &ASIN), z))
}

#[inline(always)]
pub(in super::super) fn asin<A: Arithmetic>(x: A::F32) -> A::F32 {
    let (steep, angle) = folded::<A>(x);
    let y = angle.fma_by(-2.0, angle.constant(FRAC_PI_2)).when(steep, angle);
    let y = x.constant(f32::NAN).when(x.magnitude().above(1.0), A::narrow(y));
    mended_odd::<A>(x, y, HARD_ASIN)
}

#[inline(always)]
pub(in super::super) fn acos<A: Arithmetic>(x: A::F32) -> A::F32 {
    let (steep, angle) = folded::<A>(x);
    let negative = x.below(0.0);
    let constant = |number: f64| angle.constant(number);
    // The result is π/2 − asin x. If `x` is steep, it is twice the angle, or π minus that.
    let offset = constant(PI).when(negative, constant(0.0)).when(steep, constant(FRAC_PI_2));
    let factor = constant(-2.0).when(negative, constant(2.0));
    let factor = factor.when(steep, constant(1.0).when(negative, constant(-1.0)));
    let y = A::narrow(angle.fma(factor, offset));
    mended::<A>(x, x.constant(f32::NAN).when(x.magnitude().above(1.0), y), HARD_ACOS)
}

/// `atan2`, within 0.51 ulp: divides the smaller of both by the larger, scaled so that nothing
/// overflows.
#[inline(always)]
pub(in super::super) fn atan2<A: Arithmetic>(y: A::F32, x: A::F32) -> A::F32 {
    let (a, b) = (y.magnitude(), x.magnitude());
    let above = b.less(a);
    let infinite = a.is(f32::INFINITY) | b.is(f32::INFINITY);
    let both = a.same(b);
    // Two infinities give the quotient 1, two zeros give 0, and one infinity gives 0.
    let (n, d) = (A::widen(b.when(above, a)), A::widen(a.when(above, b)));
    let one = n.constant(1.0);
    let zero = n.constant(0.0);
    let n = one.when(both, zero).when(infinite, n);
    let d = one.when(infinite | d.is(0.0), d);
    // Both are multiplied by the power of two that brings d to 1..2.
    let power = d.bits() & 0x7ff0_0000_0000_0000;
    let power = A::F64::of_bits(power.constant(2046 << 52).minus(power));
    let (n, d) = (n * power, d * power);
    let near_half = (d * (7.0 / 16.0)).less(n);
    let near_one = (d * (11.0 / 16.0)).less(n);
    let u = n.constant(2.0).when(near_half & !near_one, one);
    let v = one.when(near_half, zero);
    let base = n.constant(FRAC_PI_4).when(near_one, n.constant(ANGLES[1][0])).when(near_half, zero);
    let (top, bottom) = ((-d).fma(v, n * u), n.fma(v, d * u));
    let z = quotient::<A>(top, bottom);
    let z2 = z * z;
    let angle = base + (z2 * z).fma(polynomial::<A, 12>(z2, &ATAN), z);
    let angle = (-angle + FRAC_PI_2).when(above, angle);
    let left = x.bits().shr(31).is(1);
    let angle = A::narrow((-angle + PI).when(left, angle));
    let angle = A::F32::of_bits(angle.bits() | (y.bits() & SIGN));
    x.constant(f32::NAN).when(x.is_nan() | y.is_nan(), angle)
}
