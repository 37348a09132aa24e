//! `sin`, `cos`, `tan` of one `f32`.

use super::super::pair::{SHIFT, reciprocal};
use super::super::trigonometric::{FRAC_PI_2_LOW, SIN};
use super::{Hard, SIGN, mended};
use crate::function::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI, FRAC_PI_2, PI};

/// `(sin r / r - 1) / r²` as a polynomial in `r²`, for `|r| <= 1.572`; the error of the sine is 2^-60.
const SIN_WIDE: [f64; 8] = [
    -0.166_666_666_666_666_66,
    0.008_333_333_333_333_207,
    -0.000_198_412_698_412_124_98,
    2.755_731_921_157_644e-6,
    -2.505_210_690_537_829_3e-8,
    1.605_894_106_448_467_3e-10,
    -7.643_021_312_901_116e-13,
    2.721_443_174_782_408_6e-15,
];

/// `(cos r - 1) / r²` as a polynomial in `r²`, for `|r| <= 0.7858`; the error of the cosine is 2^-62.
const COS: [f64; 7] = [
    -0.5,
    0.041_666_666_666_666_59,
    -0.001_388_888_888_887_233_4,
    2.480_158_728_845_329e-5,
    -2.755_731_407_525_289_3e-7,
    2.087_568_783_588_743_4e-9,
    -1.135_791_076_036_156_6e-11,
];

const HARD_SIN: &Hard = &[(0x4619_9998, 0xbeb1_fa5d)];
const HARD_COS: &Hard = &[(0x5f18_b878, 0x3f7f_14bb), (0x6115_cb11, 0x3f78_142f)];
const HARD_TAN: &Hard = &[];

/// From here on, `x` less a multiple of π in two parts is not exact enough.
const HUGE: f32 = 17_592_186_044_416.0;

/// Bits of `2/π`, from the 20th after the point on.
const TWO_OVER_PI: [u32; 6] = [0x1b72_7220, 0xa94f_e13a, 0xbe8f_a9a6, 0xee06_db14, 0xacc9_e21c, 0x820f_f28b];

const EXP2_M64: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// As the magnitude, from bits that are at hand.
#[inline(always)]
fn without_sign<A: Arithmetic>(x: A::F32) -> A::F32 {
    A::F32::of_bits(x.bits() & !SIGN)
}

/// Not of ∞, which the other way makes NaN.
#[inline(always)]
fn is_huge<A: Arithmetic>(a: A::F32) -> A::Bool {
    !a.below(HUGE) & a.below(f32::INFINITY)
}

/// `|x|` in right angles, for `HUGE <= |x| < ∞`: two bits before the point, lower ones after it (Payne and Hanek, 1983).
#[inline(always)]
fn right_angles<A: Arithmetic>(x: A::F32) -> A::B64 {
    let bits = x.bits() & !SIGN;
    let fraction = (bits & 0x007f_ffff) | 0x0080_0000;
    // The first bit of 2/π that does not give a multiple of 4.
    let first = bits.shr(23).minus_literal(171);
    let (second_word, third_word) = (!first.below(32), !first.below(64));
    let distance = first & 31;
    let words: [A::B64; 4] = [0, 1, 2, 3].map(|at| {
        let word = |at: usize| bits.constant(TWO_OVER_PI[at]);
        A::zero_extend(word(at + 2).when(third_word, word(at + 1).when(second_word, word(at))))
    });
    let window = |at: usize| A::high((words[at].shl(32) | words[at + 1]).shift_left(distance));
    let high = A::zero_extend(fraction.times(window(0))).shl(32);
    let middle = A::zero_extend(fraction).times(A::zero_extend(window(1)));
    high.plus(middle).plus(A::zero_extend(fraction.times_high(window(2))))
}

/// `sin |x|` or `cos |x|`: `|x|` less the nearest multiple of π, or odd multiple of π/2, and a polynomial.
#[inline(always)]
fn sine<A: Arithmetic>(x: A::F32, cosine: bool) -> A::F32 {
    let a = x.magnitude();
    let wide = A::widen(a);
    // The angle is (k + offset) π + r.
    let shifted = if cosine {
        wide.fma_by(FRAC_1_PI, wide.constant(-0.5)) + SHIFT
    } else {
        wide.fma_by(FRAC_1_PI, wide.constant(SHIFT))
    };
    let k = shifted - SHIFT;
    let multiple = if cosine { k + 0.5 } else { k };
    let r = multiple.fma_by(-PI, wide);
    let r = multiple.fma_by(FRAC_PI_2_LOW * -2.0, r);
    // The sign, in its place.
    let parity = A::low(shifted.bits());
    let sign = if cosine { parity.plus_literal(1) } else { parity }.shl(31);

    let huge = is_huge::<A>(a);
    let angle = right_angles::<A>(x);
    let angle = if cosine { angle.plus_literal(1 << 62) } else { angle };
    let huge_r = A::signed_to_f64(angle.shl(1)) * (PI * EXP2_M64);
    let huge_sign = A::high(angle.plus_literal(1 << 62));

    let r = huge_r.when(huge, r);
    let sign = huge_sign.when(huge, sign) & SIGN;
    let r2 = r * r;
    let y = r.fma(r2 * polynomial::<A, 8>(r2, &SIN_WIDE), r);
    A::F32::of_bits(A::narrow(y).bits() ^ sign)
}

#[inline(always)]
pub(in super::super) fn sin<A: Arithmetic>(x: A::F32) -> A::F32 {
    let y = mended::<A>(without_sign::<A>(x), sine::<A>(x, false), HARD_SIN);
    A::F32::of_bits(y.bits() ^ (x.bits() & SIGN))
}

#[inline(always)]
pub(in super::super) fn cos<A: Arithmetic>(x: A::F32) -> A::F32 {
    mended::<A>(without_sign::<A>(x), sine::<A>(x, true), HARD_COS)
}

#[inline(always)]
pub(in super::super) fn tan<A: Arithmetic>(x: A::F32) -> A::F32 {
    let a = x.magnitude();
    let wide = A::widen(a);
    let shifted = wide.fma_by(FRAC_2_PI, wide.constant(SHIFT));
    let k = shifted - SHIFT;
    let r = k.fma_by(-FRAC_PI_2, wide);
    let r = k.fma_by(-FRAC_PI_2_LOW, r);

    let huge = is_huge::<A>(a);
    let angle = right_angles::<A>(x);
    let huge_r = A::signed_to_f64(angle.shl(2)) * (FRAC_PI_2 * EXP2_M64);
    let huge_odd = A::high(angle.plus_literal(1 << 61)).shr(30);

    let r = huge_r.when(huge, r);
    let odd = (huge_odd.when(huge, A::low(shifted.bits())) & 1).is(1);
    let r2 = r * r;
    let sin = r.fma(r2 * polynomial::<A, 6>(r2, &SIN), r);
    let cos = polynomial::<A, 7>(r2, &COS).fma_plus(r2, 1.0);
    let (n, d) = (cos.when(odd, sin), (-sin).when(odd, cos));
    let inverse = reciprocal::<A>(d);
    let quotient = n * inverse;
    let rest = (-quotient).fma(d, n);
    let y = A::narrow(rest.fma(inverse, quotient));
    let y = mended::<A>(without_sign::<A>(x), y, HARD_TAN);
    A::F32::of_bits(y.bits() ^ (x.bits() & SIGN))
}
