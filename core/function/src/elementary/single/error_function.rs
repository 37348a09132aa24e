//! `erf` and `erfc` of one `f32`.

use super::super::error_function::ERF;
use super::division::reciprocal;
use super::exponential::exp_in_range;
use super::{Hard, mended, mended_odd};
use crate::arithmetic::{Arithmetic, Float, Value, polynomial};

/// `e^(x²) erfc x` as a polynomial in `1 / (x + 2) - MIDDLE`, for `1 <= x <= 3.93`; the error of
/// `erf x` is 2^-58.
const MIDDLE: f64 = 0.250_983_698_707_138_8;
const ERF_FAR: [f64; 13] = [
    0.257_080_311_285_733_9,
    1.716_365_070_099_848_3,
    3.881_453_284_519_847,
    5.058_319_952_995_203,
    0.920_327_646_827_462_4,
    -7.185_553_769_674_231,
    -3.359_037_353_585_249_4,
    16.109_562_023_392_428,
    2.450_076_274_785_452_3,
    -45.397_673_750_420_48,
    30.135_530_528_793_474,
    109.360_538_732_663_54,
    -212.967_988_601_923_42,
];

/// `e^(x²) (1 + 2 x) erfc x` as a polynomial in `(x - 3) / (x + 3)`, for `0.498 <= x <= 10.1`; the
/// error is 2^-54.
const ERFC: [f64; 19] = [
    1.253_008_058_269_729_6,
    -0.135_621_106_124_581_48,
    -0.047_562_294_353_448_65,
    0.129_645_158_702_805_46,
    -0.119_273_663_415_150_93,
    0.068_308_027_342_137_33,
    -0.023_770_514_928_366_585,
    0.002_529_391_847_102_506_4,
    0.001_888_690_560_116_821_8,
    -0.000_779_832_494_962_547_8,
    -0.000_105_161_899_564_745_07,
    0.000_125_099_569_700_611_38,
    4.961_731_428_815_686e-6,
    -2.009_404_183_143_156_6e-5,
    -7.711_574_033_286_728e-7,
    3.431_206_447_467_505_5e-6,
    4.191_214_669_169_152_6e-7,
    -5.133_995_745_207_867e-7,
    -1.613_476_248_241_243_4e-7,
];

const HARD_ERF: &Hard = &[];
const HARD_ERFC: &Hard = &[(0xb76c_9f62, 0x3f80_0085)];

#[inline(always)]
pub(in super::super) fn erf<A: Arithmetic>(x: A::F32) -> A::F32 {
    let a = x.magnitude();
    let wide = A::widen(a.constant(3.93).when(a.above(3.93), a));
    let square = wide * wide;
    let near = wide.fma(polynomial::<A, 13>(square, &ERF), wide);
    let exp = exp_in_range::<A>(-square);
    let far = (-exp).fma_plus(polynomial::<A, 13>(reciprocal::<A>(wide + 2.0) - MIDDLE, &ERF_FAR), 1.0);
    mended_odd::<A>(x, A::narrow(far.when(a.above(1.0), near)), HARD_ERF)
}

#[inline(always)]
pub(in super::super) fn erfc<A: Arithmetic>(x: A::F32) -> A::F32 {
    let wide = A::widen(x);
    let near = (-wide).fma(polynomial::<A, 13>(wide * wide, &ERF), -wide + 1.0);
    let a = x.magnitude();
    let a = a.constant(10.1).when(a.above(10.1), a.constant(0.5).when(a.below(0.5), a));
    let a = A::widen(a);
    let (first, second) = (a + 3.0, a.fma_plus(a.constant(2.0), 1.0));
    let inverse = reciprocal::<A>(first * second);
    let t = (a - 3.0) * (second * inverse);
    let factor = polynomial::<A, 19>(t, &ERFC) * (first * inverse);
    let right = factor * exp_in_range::<A>(-(a * a));
    let far = (-right + 2.0).when(x.below(0.0), right);
    let y = A::narrow(near.when(x.magnitude().below(0.5), far));
    mended::<A>(x, x.when(x.is_nan(), y), HARD_ERFC)
}
