//! `erf` and `erfc` of one `f32`.

use super::super::error_function::{self, ERF};
use super::super::pair::{power_of_two, reciprocal};
use super::exponential::{exp_of_small, reduce};
use super::{Hard, mended, mended_odd};
use crate::function::arithmetic::{Arithmetic, Float, Value, polynomial};

/// `e^(x²) erfc x` as a polynomial in `1 / (x + 2)` less a middle of it, for `1 <= x <= 3.93`; the error of `erf x` is 2^-58.
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

const HARD_ERF: &Hard = &[];
const HARD_ERFC: &Hard = &[];

#[inline(always)]
pub(in super::super) fn erf<A: Arithmetic>(x: A::F32) -> A::F32 {
    let a = x.magnitude();
    let wide = A::widen(a.constant(3.93).when(a.above(3.93), a));
    let square = wide * wide;
    let near = wide.fma(polynomial::<A, 13>(square, &ERF), wide);
    let (k, r) = reduce::<A>(-square);
    let exp = exp_of_small::<A>(r) * power_of_two::<A>(k);
    let far = (-exp).fma_plus(polynomial::<A, 13>(reciprocal::<A>(wide + 2.0) - MIDDLE, &ERF_FAR), 1.0);
    mended_odd::<A>(x, A::narrow(far.when(a.above(1.0), near)), HARD_ERF)
}

#[inline(always)]
pub(in super::super) fn erfc<A: Arithmetic>(x: A::F32) -> A::F32 {
    mended::<A>(x, A::narrow(error_function::erfc::<A>(A::widen(x))), HARD_ERFC)
}
