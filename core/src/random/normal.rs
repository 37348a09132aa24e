//! Bits made normal. The coefficients are those of `core/prove/normal.py`.

use crate::function::Expression;

/// `√2 erf⁻¹(x) / x` of `w = -log(1 - x²)` less 2.5, up to 5.
const CENTRE: [f32; 10] = [
    2.123_313_4,
    0.348_802,
    -0.005_907_607_3,
    -0.001_771_571_1,
    3.087_226_7e-4,
    -7.060_027_7e-6,
    -4.883_610_5e-6,
    6.677_970_5e-7,
    3.190_646_7e-8,
    -1.303_178_4e-8,
];

/// The same of `√w` less 3.375, from there to the end.
const TAIL: [f32; 10] = [
    4.539_088,
    1.423_326_3,
    0.005_909_809,
    -0.003_871_110_7,
    0.002_230_423_5,
    -0.001_520_937,
    0.001_102_952_4,
    -4.608_268e-4,
    -3.791_129e-5,
    6.659_505_7e-5,
];

/// `log(1 + f) / f` between √½ and √2.
const LOG: [f32; 8] = [
    0.999_999_8,
    -0.500_007,
    0.333_358_53,
    -0.249_578_88,
    0.198_823_4,
    -0.173_593_22,
    0.163_557_2,
    -0.099_434_25,
];

const HALF_ROOT_BITS: i32 = 0x3f35_04f3;

fn polynomial(x: Expression<f32>, coefficients: &[f32]) -> Expression<f32> {
    let (&highest, rest) = coefficients.split_last().unwrap_or((&0.0, &[]));
    rest.iter().rev().fold(Expression::constant(highest), |sum, &coefficient| sum.mul_add(x, coefficient))
}

/// `-log(t)` of a number from 2^-31 to 1, with an absolute error of 1e-7.
fn negative_log(t: Expression<f32>) -> Expression<f32> {
    let bits = t.bitcast::<i32>();
    let exponent = (bits - HALF_ROOT_BITS) >> 23;
    let f = (bits - (exponent << 23)).bitcast::<f32>() - 1.0;
    -(f * polynomial(f, &LOG)).mul_add(1.0, exponent.cast::<f32>() * std::f32::consts::LN_2)
}

/// The normal number that a word stands for: of `word | 1` as a signed number, over 2^32 and ½ more, it is the quantile.
///
/// From −6.23 to 6.23, odd, rising with the word, and within 4 ulp of the exact quantile. With words that are spread in
/// another way than those of [`philox4x32`](super::philox4x32) it makes other normal numbers.
#[must_use]
pub fn normal_quantile(word: Expression<u32>) -> Expression<f32> {
    // As in Giles, "Approximating the erfinv function" (GPU Computing Gems, 2012): most words need the first polynomial alone.
    let scale = 1.0 / (1_u32 << 31) as f32;
    let odd = (word | 1).bitcast::<i32>();
    let x = odd.cast::<f32>() * scale;
    let beyond = ((1_u32 << 31) - odd.abs().bitcast::<u32>()).cast::<f32>() * scale;
    let w = negative_log(beyond * (x.abs() + 1.0));
    let centre = polynomial(w - 2.5, &CENTRE);
    let tail = polynomial(w.sqrt() - 3.375, &TAIL);
    w.less(5.0).select(centre, tail) * x
}

/// Two independent normal numbers of two words each (Box and Muller).
pub(super) fn pair(first: Expression<u64>, second: Expression<u64>) -> [Expression<f64>; 2] {
    // The middle of one of 2^52 intervals, which is never 0.
    let middle = ((first >> 12).cast::<f64>() + 0.5) * 2.0_f64.powi(-52);
    let radius = (middle.ln() * -2.0).sqrt();
    let angle = (second >> 11).cast::<f64>() * (2.0_f64.powi(-53) * std::f64::consts::TAU);
    [radius * angle.cos(), radius * angle.sin()]
}
