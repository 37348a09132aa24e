//! Huge arguments of `sin`, `cos`, `tan`, reduced in integers: bits of `2/π` that would only give
//! whole circles are left out of the product (Payne and Hanek, 1983).

use super::pair::{FRAC_PI_2_LOW, Pair, fast_two_sum, with_sign};
use crate::arithmetic::{Arithmetic, Bits, Float, Value};
use std::f64::consts::FRAC_PI_2;

/// 64 zeros, then the bits of `2/π` after the point.
const TWO_OVER_PI: [u64; 20] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// Four words of the table, from word `at` in 0..17 on. They are found by halving the table five
/// times.
#[inline(always)]
fn words<A: Arithmetic>(at: A::B32, like: A::B64) -> [A::B64; 4] {
    // Written out, because a closure passed to `map` of an array would stay a call.
    let mut words = [like.constant(TWO_OVER_PI[0]); 20];
    let mut nth = 1;
    while nth < 20 {
        words[nth] = like.constant(TWO_OVER_PI[nth]);
        nth += 1;
    }
    let mut left = 20;
    for (bit, needed) in [(4, 19), (3, 11), (2, 7), (1, 5), (0, 4)] {
        let skip = !(at & (1 << bit)).is(0);
        let mut to = 0;
        while to < needed {
            let from = to + (1 << bit);
            if from < left {
                words[to] = words[from].when(skip, words[to]);
            }
            to += 1;
        }
        left = needed;
    }
    [words[0], words[1], words[2], words[3]]
}

/// `q` (only its low bits) and `r`, where `x = q π/2 + r` and `|r| <= π/4`; for `|x| > 2^12`.
#[inline(always)]
pub(super) fn reduce_f64<A: Arithmetic>(x: A::F64) -> (A::B32, Pair<A>) {
    let bits = x.bits();
    let fraction = (bits & 0x000f_ffff_ffff_ffff) | 0x0010_0000_0000_0000;
    let exponent = A::high(bits).shr(20) & 0x7ff;
    // `x` is `fraction * 2^(exponent - 1075)`. Bits of 2/π before this one give only multiples of
    // 4.
    let first = exponent.minus_literal(1075 - 62);
    let [a, b, c, d] = words::<A>(first.shr(6) & 0x1f, bits);
    let distance = first & 63;
    let back = distance.constant(63).minus(distance);
    let window = |hi: A::B64, lo: A::B64| hi.shift_left(distance) | lo.shr(1).shift_right(back);
    let (a, b, c) = (window(a, b), window(b, c), window(c, d));
    let low = fraction.times(b);
    let lo = low.plus(fraction.times_high(c));
    let hi = fraction.times(a).plus(fraction.times_high(b));
    let hi = hi.plus_literal(1).when(lo.less_unsigned(low), hi);
    // There are two bits of quadrant and 126 of fraction. The nearest quadrant is taken, and the
    // remainder has a sign.
    let q = A::low(hi.shr(61)).plus_literal(1).shr(1);
    let (hi, lo) = (hi.shl(2) | lo.shr(62), lo.shl(2));
    let negative = hi.less_signed(hi.constant(0));
    let (hi, lo) = ((!hi).when(negative, hi), (!lo).when(negative, lo));
    let top = A::unsigned_to_f64(hi.shr(11)) * EXP2_M53;
    let middle = A::unsigned_to_f64((hi & 0x7ff).shl(42) | lo.shr(22)) * EXP2_M106;
    let bottom = A::unsigned_to_f64(lo & 0x3f_ffff) * EXP2_M128;
    let (sum, error) = fast_two_sum::<A>(middle, bottom);
    let (f, f_lo) = fast_two_sum::<A>(top, sum);
    let r = f * FRAC_PI_2;
    let error = f.fma_by(FRAC_PI_2, -r) + f.fma_by(FRAC_PI_2_LOW, (f_lo + error) * FRAC_PI_2);
    let (r, r_lo) = fast_two_sum::<A>(r, error);
    // If `x` is negative, both results are negated.
    let sign = with_sign::<A>(x.constant(1.0), x);
    let sign = (-sign).when(negative, sign);
    let negative_x = x.below(0.0);
    let q = q.constant(0).minus(q).when(negative_x, q);
    (q, (r * sign, r_lo * sign))
}

const EXP2_M53: f64 = 1.0 / 9_007_199_254_740_992.0;
const EXP2_M106: f64 = EXP2_M53 * EXP2_M53;
const EXP2_M128: f64 = EXP2_M106 / 4_194_304.0;
