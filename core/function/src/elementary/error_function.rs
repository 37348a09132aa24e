//! `erf` and `erfc`: a polynomial near 0; elsewhere `erfc x = e^(-x²) g(t) / (1 + 2 x)` with
//! `t = (x - 3) / (x + 3)`.

use super::exponential::{exp_pair_of_small, reduce};
use super::pair::{Pair, clamp, fast_two_sum, quotient, reciprocal, scale, two_product, two_sum, with_sign};
use crate::arithmetic::{Arithmetic, Float, Value, polynomial};

/// `erf x / x - 1` as a polynomial in `x²`, for `|x| <= 1`; the error is 2^-56.
pub(super) const ERF: [f64; 13] = [
    0.128_379_167_095_512_6,
    -0.376_126_389_031_838_76,
    0.112_837_916_709_587_83,
    -0.026_866_170_645_631_883,
    0.005_223_977_629_245_334,
    -0.000_854_832_719_932_906_9,
    0.000_120_553_381_599_350_15,
    -1.492_574_813_568_391e-5,
    1.646_324_645_034_392_5e-6,
    -1.637_236_137_158_666_8e-7,
    1.479_827_730_517_671e-8,
    -1.187_621_325_244_370_1e-9,
    6.762_170_531_597_551e-11,
];

/// `g` is a constant pair and `t` times this polynomial, for `0.498 <= x <= 28`; the error is
/// 2^-58.
const ERFC: [f64; 22] = [
    -0.135_621_106_124_581_2,
    -0.047_562_294_353_450_815,
    0.129_645_158_702_763_33,
    -0.119_273_663_415_308_01,
    0.068_308_027_343_892_81,
    -0.023_770_514_918_580_246,
    0.002_529_391_817_283_843,
    0.001_888_690_356_486_239_3,
    -0.000_779_832_281_147_736_7,
    -0.000_105_159_757_433_300_79,
    0.000_125_099_386_885_252_15,
    4.949_142_738_566_515_5e-6,
    -2.010_060_503_857_488_2e-5,
    -7.299_132_096_765_868e-7,
    3.472_176_104_008_654_7e-6,
    3.522_923_934_553_608e-7,
    -6.154_746_450_704_214e-7,
    -1.336_588_610_075_809_6e-7,
    9.948_172_904_913_698e-8,
    3.363_123_456_241_622e-8,
    -1.091_538_281_554_535e-8,
    -4.094_944_923_050_381e-9,
];
const ERFC_FIRST: (f64, f64) = (1.253_008_058_269_729_6, 4.527_620_370_274_654_6e-17);

/// `erfc a` for `a` in ½..=28, as a pair times `2^k`.
#[inline(always)]
fn erfc_of_large<A: Arithmetic>(a: A::F64) -> (Pair<A>, A::B32) {
    let t = (a - 3.0) * reciprocal::<A>(a + 3.0);
    let tail = t.fma_plus(polynomial::<A, 22>(t, &ERFC), ERFC_FIRST.1);
    let n = fast_two_sum::<A>(a.constant(ERFC_FIRST.0), tail);
    let (factor, factor_lo) = quotient::<A>(n, fast_two_sum::<A>(a * 2.0, a.constant(1.0)));
    let (square, square_lo) = two_product::<A>(a, a);
    let (k, (r, r_lo)) = reduce::<A>(-square);
    let (exp, exp_lo) = exp_pair_of_small::<A>(fast_two_sum::<A>(r, r_lo - square_lo));
    let (exp, exp_lo) = fast_two_sum::<A>(exp, exp_lo);
    let (hi, lo) = two_product::<A>(exp, factor);
    ((hi, lo + exp.fma(factor_lo, exp_lo * factor)), k)
}

#[inline(always)]
pub(super) fn erf<A: Arithmetic>(x: A::F64) -> A::F64 {
    let square = x * x;
    let near = x.fma(polynomial::<A, 13>(square, &ERF), x);
    let ((hi, lo), k) = erfc_of_large::<A>(clamp::<A>(x.magnitude(), 0.5, 6.0));
    let far = with_sign::<A>(-scale::<A>(hi + lo, k) + 1.0, x);
    let itself = x.is_nan() | x.is(0.0);
    x.when(itself, near.when(x.magnitude().below(1.0), far))
}

#[inline(always)]
pub(super) fn erfc<A: Arithmetic>(x: A::F64) -> A::F64 {
    let square = x * x;
    let (sum, error) = two_sum::<A>(x.constant(1.0), -x);
    let near = sum + (-x).fma(polynomial::<A, 13>(square, &ERF), error);
    let ((hi, lo), k) = erfc_of_large::<A>(clamp::<A>(x.magnitude(), 0.5, 28.0));
    let right = scale::<A>(hi + lo, k);
    let far = (-right + 2.0).when(x.below(0.0), right);
    x.when(x.is_nan(), near.when(x.magnitude().below(0.5), far))
}
