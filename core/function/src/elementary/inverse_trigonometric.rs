//! `asin`, `acos`, `atan`, `atan2`.

use super::pair::{
    FRAC_PI_2_LOW, Pair, fast_two_sum, power_of_two, quotient, square_root, two_sum, with_sign,
};
use crate::arithmetic::{Arithmetic, Bits, Float, Value, polynomial};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// `(atan z / z - 1) / z²` as a polynomial in `z²`, for `|z| <= 7/16`; the error is 2^-61.
pub(super) const ATAN: [f64; 12] = [
    -0.333_333_333_333_333_15,
    0.199_999_999_999_931_95,
    -0.142_857_142_848_509_12,
    0.111_111_110_563_537_51,
    -0.090_909_070_560_871_18,
    0.076_922_594_574_234_17,
    -0.066_659_010_896_336_73,
    0.058_740_029_434_048_57,
    -0.051_999_994_144_427_16,
    0.044_326_207_019_100_67,
    -0.031_908_157_595_524_19,
    0.013_684_925_674_042_775,
];

/// `(asin z / z - 1) / z²` as a polynomial in `z²`, for `|z| <= 1/2`; the error is 2^-58.
pub(super) const ASIN: [f64; 13] = [
    0.166_666_666_666_667_6,
    0.074_999_999_999_710_91,
    0.044_642_857_174_230_784,
    0.030_381_942_729_091_057,
    0.022_372_214_332_202_77,
    0.017_351_624_446_929_864,
    0.013_980_666_176_675_91,
    0.011_400_204_439_320_005,
    0.010_772_903_068_574_948,
    0.003_734_422_441_612_998_6,
    0.021_638_941_230_991_714,
    -0.020_901_903_953_704_63,
    0.032_567_859_563_587_98,
];

/// `atan ½`.
const ATAN_HALF: (f64, f64) = (0.463_647_609_000_806_1, 2.269_877_745_296_168_7e-17);

/// `atan(n / d)` as a pair, for `0 <= n <= d` with `d` well inside the range of `f32`.
///
/// First the angle whose tangent is 0, ½ or 1 is taken off; the tangent of the rest is at most
/// 7/16.
#[inline(always)]
fn atan_of_ratio<A: Arithmetic>(n: A::F64, d: A::F64) -> Pair<A> {
    let near_half = (d * (7.0 / 16.0)).less(n);
    let near_one = (d * (11.0 / 16.0)).less(n);
    let zero = n.constant(0.0);
    // (n - t d) / (d + t n) is (n u - d v) / (d u + n v) for t = v / u.
    let u = n.constant(2.0).when(near_half & !near_one, n.constant(1.0));
    let v = n.constant(1.0).when(near_half, zero);
    let base = n.constant(FRAC_PI_4).when(near_one, n.constant(ATAN_HALF.0));
    let base_lo = n.constant(FRAC_PI_2_LOW / 2.0).when(near_one, n.constant(ATAN_HALF.1));
    let top = (n * u) - (d * v);
    let bottom = two_sum::<A>(d * u, n * v);
    let (z, z_lo) = quotient::<A>((top, zero), bottom);
    let z2 = z * z;
    let low = (z2 * z).fma(polynomial::<A, 12>(z2, &ATAN), z_lo);
    let (sum, error) = fast_two_sum::<A>(base, z);
    (sum.when(near_half, z), (error + (low + base_lo)).when(near_half, low))
}

/// `π/2` minus a pair, if `condition` holds.
#[inline(always)]
fn complement<A: Arithmetic>(condition: A::Bool, (hi, lo): Pair<A>) -> Pair<A> {
    let (sum, error) = fast_two_sum::<A>(hi.constant(FRAC_PI_2), -hi);
    (sum.when(condition, hi), (error + (-lo + FRAC_PI_2_LOW)).when(condition, lo))
}

#[inline(always)]
pub(super) fn atan<A: Arithmetic>(x: A::F64) -> A::F64 {
    let a = x.magnitude();
    let large = x.constant(1e20);
    let a = large.when(large.less(a), a);
    let above = a.above(1.0);
    let one = x.constant(1.0);
    let (hi, lo) = complement::<A>(above, atan_of_ratio::<A>(one.when(above, a), a.when(above, one)));
    let y = with_sign::<A>(hi + lo, x);
    x.when(x.magnitude().below(1.0 / 134_217_728.0) | x.is_nan(), y)
}

#[inline(always)]
pub(super) fn atan2<A: Arithmetic>(y: A::F64, x: A::F64) -> A::F64 {
    let (a, b) = (y.magnitude(), x.magnitude());
    let above = b.less(a);
    let infinity = x.constant(f64::INFINITY);
    let both = a.is(f64::INFINITY) & b.is(f64::INFINITY);
    let one = x.constant(1.0);
    let n = one.when(both, b.when(above, a));
    let d = one.when(both, a.when(above, b));
    let zero = x.constant(0.0);
    let nothing = d.is(0.0);
    let infinite = d.same(infinity);
    let (n, d) = (zero.when(infinite, n), one.when(infinite | nothing, d));
    // Both are multiplied by a power of two, in two steps, that brings d near 1.
    let e = A::high(d.bits()).shr(20);
    let up = e.constant(1023).minus(e);
    let half = up.shr_signed(1);
    let (first, second) = (power_of_two::<A>(half), power_of_two::<A>(up.minus(half)));
    let (n, d) = (n * first * second, d * first * second);
    let (hi, lo) = complement::<A>(above, atan_of_ratio::<A>(n, d));
    let left = (x.bits().shr(63)).is(1);
    let (sum, error) = fast_two_sum::<A>(x.constant(PI), -hi);
    let turned = sum + (error + (-lo + FRAC_PI_2_LOW * 2.0));
    let angle = with_sign::<A>(turned.when(left, hi + lo), y);
    x.constant(f64::NAN).when(x.is_nan() | y.is_nan(), angle)
}

/// `asin z - z`, for a pair `z` whose square is `square`.
#[inline(always)]
fn asin_tail<A: Arithmetic>(square: A::F64, (z, z_lo): Pair<A>) -> A::F64 {
    (square * z).fma(polynomial::<A, 13>(square, &ASIN), z_lo)
}

/// Whether `|x| > ½`; the square that the polynomial takes; and the sine, which is `|x|` or, if
/// that is steep, the root of the square.
#[inline(always)]
fn folded<A: Arithmetic>(x: A::F64) -> (A::Bool, A::F64, Pair<A>) {
    let a = x.magnitude();
    let steep = a.above(0.5);
    let half = (x.constant(1.0) - a) * 0.5;
    let (root, root_lo) = square_root::<A>((half, x.constant(0.0)));
    let zero = x.constant(0.0);
    let z = (root.when(steep, a), root_lo.when(steep, zero));
    (steep, half.when(steep, a * a), z)
}

#[inline(always)]
pub(super) fn asin<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (steep, square, z) = folded::<A>(x);
    let low = asin_tail::<A>(square, z);
    let (sum, error) = fast_two_sum::<A>(x.constant(FRAC_PI_2), z.0 * -2.0);
    let steep_y = sum + (error + low.fma_by(-2.0, low.constant(FRAC_PI_2_LOW)));
    let y = with_sign::<A>(steep_y.when(steep, z.0 + low), x);
    let y = x.when(x.magnitude().below(1.0 / 268_435_456.0), y);
    y.when(x.magnitude().less_or_same(x.constant(1.0)), x.constant(f64::NAN))
}

#[inline(always)]
pub(super) fn acos<A: Arithmetic>(x: A::F64) -> A::F64 {
    let (steep, square, z) = folded::<A>(x);
    let low = asin_tail::<A>(square, z);
    let negative = x.below(0.0);
    // The result is π/2 − asin x, 2 asin z, or π − 2 asin z.
    let zero = x.constant(0.0);
    let offset = zero.when(steep & !negative, x.constant(FRAC_PI_2));
    let offset = x.constant(PI).when(steep & negative, offset);
    let offset_lo = zero.when(steep & !negative, x.constant(FRAC_PI_2_LOW));
    let offset_lo = x.constant(FRAC_PI_2_LOW * 2.0).when(steep & negative, offset_lo);
    let factor = x.constant(2.0).when(steep, x.constant(1.0));
    let factor = factor.when((steep & !negative) | (!steep & negative), -factor);
    let (hi, low) = (z.0 * factor, low * factor);
    let (sum, error) = two_sum::<A>(offset, hi);
    let y = sum + (error + (low + offset_lo));
    y.when(x.magnitude().less_or_same(x.constant(1.0)), x.constant(f64::NAN))
}
