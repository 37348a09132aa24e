//! `sin`, `cos`, `tan` of one `f32`.

use super::super::pair::{FRAC_PI_2_LOW, SHIFT};
use super::super::trigonometric::SIN;
use super::bits::SIGN;
use super::division::quotient;
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI, FRAC_PI_2, PI};

/// `(sin r / r - 1) / r²` as a polynomial in `r²`, for `|r| <= 1.572`; the error of the sine is
/// 2^-52. The best polynomial has an error of 2^-60. This one is near it, and rounds no input to
/// the wrong side.
const SIN_WIDE: [f64; 8] = [
    -0.166_666_666_666_666_7,
    0.008_333_333_333_333_288,
    -0.000_198_412_698_412_149_5,
    2.755_731_921_158_036_7e-6,
    -2.505_210_690_538_89e-8,
    1.605_894_106_346_443_1e-10,
    -7.643_021_316_985_166e-13,
    2.721_443_207_959_436e-15,
];

/// `(cos r - 1) / r²` as a polynomial in `r²`, for `|r| <= 0.7858`; the error of the cosine is
/// 2^-62.
const COS: [f64; 7] = [
    -0.5,
    0.041_666_666_666_666_59,
    -0.001_388_888_888_887_233_4,
    2.480_158_728_845_329e-5,
    -2.755_731_407_525_289_3e-7,
    2.087_568_783_588_743_4e-9,
    -1.135_791_076_036_156_6e-11,
];

const PI_LOW: f64 = 2.0 * FRAC_PI_2_LOW;

/// From here on, subtracting a multiple of π in two parts is not exact enough.
pub(in super::super) const HUGE: f32 = 17_592_186_044_416.0;

/// Bits of `2/π`, from the 20th bit after the point on.
const TWO_OVER_PI: [u32; 6] = [0x1b72_7220, 0xa94f_e13a, 0xbe8f_a9a6, 0xee06_db14, 0xacc9_e21c, 0x820f_f28b];

const EXP2_M64: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// Whether `x` is huge. False for NaN; true for ∞, whose sine is NaN.
#[inline(always)]
fn is_huge<A: Arithmetic>(x: A::F32) -> A::Bool {
    let a = x.magnitude();
    a.constant(HUGE).less_or_same(a)
}

/// The angle of a huge `x`, negated if the bit of `sign` is set; NaN for ∞.
#[inline(always)]
fn huge_angle<A: Arithmetic>(x: A::F32, angle: A::F64, sign: A::B32) -> A::F64 {
    let angle = A::F64::of_bits(angle.bits() ^ A::zero_extend(sign & SIGN).shl(32));
    angle.when(x.magnitude().below(f32::INFINITY), angle.constant(f64::NAN))
}

/// `|x|` in right angles, for `HUGE <= |x| < ∞`: two bits before the point, and the bits after it
/// (Payne and Hanek, 1983).
#[inline(always)]
fn right_angles<A: Arithmetic>(x: A::F32) -> A::B64 {
    let bits = x.bits() & !SIGN;
    let fraction = (bits & 0x007f_ffff) | 0x0080_0000;
    // The first bit of 2/π that does not give a multiple of 4.
    let first = bits.shr(23).minus_literal(171);
    let (second_word, third_word) = (!first.below(32), !first.below(64));
    let distance = first & 31;
    let pick = |at: usize| {
        let word = |at: usize| bits.constant(TWO_OVER_PI[at]);
        A::zero_extend(word(at + 2).when(third_word, word(at + 1).when(second_word, word(at))))
    };
    // Written out, because a closure passed to `map` of an array would stay a call.
    let words: [A::B64; 4] = [pick(0), pick(1), pick(2), pick(3)];
    let window = |at: usize| A::high((words[at].shl(32) | words[at + 1]).shift_left(distance));
    let high = A::zero_extend(fraction.times(window(0))).shl(32);
    let middle = A::zero_extend(fraction).times(A::zero_extend(window(1)));
    high.plus(middle).plus(A::zero_extend(fraction.times_high(window(2))))
}

/// If `x` is huge, the angle that [`sine`] takes in its place.
#[inline(always)]
fn huge_sine<A: Arithmetic>(x: A::F32, cosine: bool) -> A::F64 {
    let angle = right_angles::<A>(x);
    let angle = if cosine { angle.plus_literal(1 << 62) } else { angle };
    let huge_r = A::signed_to_f64(angle.shl(1)) * (PI * EXP2_M64);
    let huge_sign = A::high(angle.plus_literal(1 << 62));
    let huge_sign = if cosine { huge_sign } else { huge_sign ^ x.bits() };
    huge_angle::<A>(x, huge_r, huge_sign)
}

/// `sin x` or `cos x`. It reduces `x` by the nearest multiple of π, or `|x|` by the nearest odd
/// multiple of π/2, then takes a polynomial. The result is negated where the sine of the multiple,
/// or its cosine, is negative.
///
/// The last product keeps the sign of a zero.
#[inline(always)]
fn sine<A: Arithmetic>(x: A::F32, cosine: bool) -> A::F32 {
    // For the cosine the difference is negated, because the cosine just below π/2 is positive.
    let (shifted, r) = if cosine {
        let a = A::widen(x.magnitude());
        let shifted = a.fma_by(FRAC_1_PI, a.constant(-0.5)) + SHIFT;
        let multiple = shifted - SHIFT + 0.5;
        let r = multiple.fma_by(PI, -a);
        (shifted, multiple.fma_by(PI_LOW, r))
    } else {
        let a = A::widen(x);
        let shifted = a.fma_by(FRAC_1_PI, a.constant(SHIFT));
        let multiple = shifted - SHIFT;
        let r = multiple.fma_by(-PI, a);
        (shifted, multiple.fma_by(-PI_LOW, r))
    };
    let r = A::F64::of_bits(r.bits() ^ shifted.bits().shl(63));

    let r = if A::RARE { huge_sine::<A>(x, cosine).when(is_huge::<A>(x), r) } else { r };

    let r2 = r * r;
    A::narrow(r * polynomial::<A, 8>(r2, &SIN_WIDE).fma_plus(r2, 1.0))
}

#[inline(always)]
pub(in super::super) fn sin<A: Arithmetic>(x: A::F32) -> A::F32 {
    sine::<A>(x, false)
}

#[inline(always)]
pub(in super::super) fn cos<A: Arithmetic>(x: A::F32) -> A::F32 {
    sine::<A>(x, true)
}

#[inline(always)]
pub(in super::super) fn tan<A: Arithmetic>(x: A::F32) -> A::F32 {
    let wide = A::widen(x);
    let shifted = wide.fma_by(FRAC_2_PI, wide.constant(SHIFT));
    let (k, quadrant) = (shifted - SHIFT, A::low(shifted.bits()));
    let r = k.fma_by(-FRAC_PI_2, wide);
    let r = k.fma_by(-FRAC_PI_2_LOW, r);

    let (r, quadrant) = if A::RARE {
        let huge = is_huge::<A>(x);
        let angle = right_angles::<A>(x);
        let huge_r = A::signed_to_f64(angle.shl(2)) * (FRAC_PI_2 * EXP2_M64);
        let huge_r = huge_angle::<A>(x, huge_r, x.bits());
        let huge_odd = A::high(angle.plus_literal(1 << 61)).shr(30);
        (huge_r.when(huge, r), huge_odd.when(huge, quadrant))
    } else {
        (r, quadrant)
    };
    let odd = (quadrant & 1).is(1);
    let r2 = r * r;
    let sin = r * polynomial::<A, 6>(r2, &SIN).fma_plus(r2, 1.0);
    let cos = polynomial::<A, 7>(r2, &COS).fma_plus(r2, 1.0);
    A::narrow(quotient::<A>(cos.when(odd, sin), (-sin).when(odd, cos)))
}
