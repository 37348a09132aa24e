//! Makes normal numbers from bits, two at a time (Box and Muller). The coefficients come from
//! `core/prove/normal.py`.

use crate::function::Expression;

/// `-log(1 + f) / f` for `1 + f` between √½ and √2.
const LOG: [f32; 8] = [
    -0.999_999_8,
    0.500_007,
    -0.333_358_53,
    0.249_578_88,
    -0.198_823_4,
    0.173_593_22,
    -0.163_557_2,
    0.099_434_25,
];

/// `sin(v π/4) / v` and `cos(v π/4)` as polynomials of `v²`.
#[expect(
    clippy::approx_constant,
    reason = "a step below π/4, which is best with the coefficients that follow"
)]
const SINE: [f32; 4] = [0.785_398_1, -0.080_745_205, 0.002_489_593_6, -3.573_265_3e-5];
const COSINE: [f32; 4] = [1.0, -0.308_424_47, 0.015_850_352, -3.191_295_3e-4];

const ROOT_HALF_BITS: i32 = 0x3f35_04f3;
const SIGN: u32 = 0x8000_0000;

fn polynomial(x: Expression<f32>, coefficients: &[f32]) -> Expression<f32> {
    let (&highest, rest) = coefficients.split_last().unwrap_or((&0.0, &[]));
    let sum = Expression::constant(highest);
    rest.iter().rev().fold(sum, |sum, &coefficient| sum.mul_add(x, coefficient))
}

/// `-log(x / 2^32)` for a number from 1 to 2^32.
fn below_the_highest(x: Expression<f32>) -> Expression<f32> {
    let bits = x.bitcast::<i32>();
    let exponent = (bits - ROOT_HALF_BITS) >> 23;
    let f = (bits - (exponent << 23)).bitcast::<f32>() - 1.0;
    let ln_2 = std::f32::consts::LN_2;
    f.mul_add(polynomial(f, &LOG), exponent.cast::<f32>().mul_add(-ln_2, 32.0 * ln_2))
}

/// Two independent normal numbers from two words.
///
/// With `u = (a | 1) / 2^32`, rounded to `f32`, and `v` the lower 30 bits of `b` as a signed number
/// over 2^29, they are `√(-2 log u)` times the cosine and the sine of the angle `(1 + v) π/4`; the
/// first is negative if bit 31 of `b` is set, the second if bit 30 is. They are at most 6.67, with
/// an absolute error below 2e-6.
#[must_use]
pub fn normal_pair([a, b]: [Expression<u32>; 2]) -> [Expression<f32>; 2] {
    let radius = below_the_highest((a | 1).cast::<f32>()).sqrt();
    let v = (b << 2).bitcast::<i32>().cast::<f32>() * (1.0 / SIGN as f32);
    let square = v * v;
    let (sine, cosine) = (v * polynomial(square, &SINE), polynomial(square, &COSINE));
    // The cosine and the sine of the sum of two angles, one of them an eighth of a turn. The factor
    // √2 is missing in the radius, and is supplied here.
    let signed =
        |x: Expression<f32>, bits: Expression<u32>| (x.bitcast::<u32>() ^ (bits & SIGN)).bitcast::<f32>();
    [signed(radius * (cosine - sine), b), signed(radius * (cosine + sine), b << 1)]
}

/// Does the same from 64 bits for each: `u` is the middle of one of 2^52 intervals from 0 to 1, and the
/// angle one of 2^53.
pub(super) fn wide_pair([a, b]: [Expression<u64>; 2]) -> [Expression<f64>; 2] {
    let u = ((a >> 12).cast::<f64>() + 0.5) * 2.0_f64.powi(-52);
    let radius = (u.ln() * -2.0).sqrt();
    let angle = (b >> 11).cast::<f64>() * (2.0_f64.powi(-53) * std::f64::consts::TAU);
    [radius * angle.cos(), radius * angle.sin()]
}
