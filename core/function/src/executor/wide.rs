//! The exponential, logarithms, the power and the hyperbolic tangent of `f32` in 16 lanes of
//! AVX-512, with tables in registers.
//!
//! A result is computed in `f64` by fewer steps than the definition has, to about 2^-42, and rounded.
//! Where it lies so near to the middle between two `f32` that an error could decide the side, and for
//! arguments with a rule of their own, 16 elements are computed as they are defined. The tests try
//! every input. The power multiplies the error of the logarithm by its exponent, so its results are unsure
//! farther from the middle, the more the larger the power is ([`NEAR_POWER`]).
#![allow(unsafe_code)] // reads and writes the elements that the caller of a kernel vouches for

use std::{
    arch::x86_64::{
        __m256i, __m512, __m512d, __m512i, __mmask8, __mmask16, _CMP_LT_OQ, _CMP_NLT_UQ, _CMP_UNORD_Q,
        _mm256_castps_si256, _mm256_castsi256_ps, _mm512_abs_epi64, _mm512_abs_pd, _mm512_abs_ps,
        _mm512_add_epi64, _mm512_add_pd, _mm512_and_si512, _mm512_castpd_si512, _mm512_castps_si512,
        _mm512_castsi256_si512, _mm512_castsi512_pd, _mm512_castsi512_ps, _mm512_castsi512_si256,
        _mm512_cmp_pd_mask, _mm512_cmp_ps_mask, _mm512_cmpge_epu32_mask, _mm512_cmplt_epi64_mask,
        _mm512_cvtepi32_pd, _mm512_cvtepu32_epi64, _mm512_cvtpd_ps, _mm512_cvtps_pd,
        _mm512_extracti64x4_epi64, _mm512_fmadd_pd, _mm512_fnmadd_pd, _mm512_inserti64x4, _mm512_loadu_pd,
        _mm512_mask_loadu_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_min_ps, _mm512_mul_pd,
        _mm512_or_si512, _mm512_permutex2var_pd, _mm512_rcp14_pd, _mm512_set1_epi32, _mm512_set1_epi64,
        _mm512_set1_pd, _mm512_set1_ps, _mm512_slli_epi64, _mm512_srai_epi32, _mm512_srli_epi32,
        _mm512_stream_ps, _mm512_sub_epi32, _mm512_sub_epi64, _mm512_sub_pd, _mm512_testn_epi64_mask,
    },
    f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E},
};

use super::{
    last::Loops,
    machine::{Call, Kernel, Machine},
    tables::{EXP_TAIL, INVERSE, LEAST, LOG, LOG_TAIL, POWERS, TANH_TAIL, Table},
};
use crate::elementary::Elementary;

/// `f64` in 8 lanes.
type Wide = __m512d;

const LANES: usize = 16;

/// Adding it to a number below 2^51 leaves the nearest integer in the low bits of the sum.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// A result is unsure if its distance to the middle between two `f32` is less than this, in ulp of `f64`.
const NEAR: i64 = 1 << 13;

/// How much farther from the middle a power is unsure, for each 1 in the magnitude of its logarithm to the base 2.
/// The largest distance between the two computations was 0.51 of the sum of both bounds: among 280 million powers of
/// every third base from 1/32 to 32, with logarithms of the power up to 125.4.
const NEAR_POWER: f64 = 1024.0;

/// The destination of results.
type Use = u8;
/// Later steps take them.
const TAKEN: Use = 0;
/// Results are stored, with the canonical NaN.
const STORED: Use = 1;
/// Results are stored past the caches.
const PAST: Use = 2;

/// The kernels of `exp`, `log`, `log2`, `log10`, `tanh` or `pow`. `Exact` computes the function for every
/// argument.
pub(super) fn kernels<const OP: u8, Exact: Kernel>() -> Loops {
    Loops {
        step: lanes::<OP, TAKEN, Exact>,
        last: Some([lanes::<OP, STORED, Exact>, lanes::<OP, PAST, Exact>]),
    }
}

/// Computes 16 lanes at a time.
///
/// # Safety
///
/// The conditions of a kernel, on a processor with AVX-512.
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn lanes<const OP: u8, const USE: Use, Exact: Kernel>(call: &Call) {
    let out = call.out.cast::<f32>();
    // Whole lines are sent to memory.
    let is_past = USE == PAST && out.addr().is_multiple_of(size_of::<f32>());
    let ahead = out.addr().wrapping_neg() % size_of::<__m512>() / size_of::<f32>();
    let mut most = if is_past && ahead > 0 { ahead } else { LANES };
    let mut at = 0;
    while at < call.len {
        let len = most.min(call.len - at);
        let mask = u16::MAX >> (LANES - len);
        // Missing lanes hold 1, which no function treats specially.
        let one = _mm512_set1_ps(1.0);
        let load = |operand: usize| {
            let from = call.operands[operand].cast::<f32>().wrapping_add(at);
            // SAFETY: these elements may be read, as the caller promises
            unsafe { _mm512_mask_loadu_ps(one, mask, from) }
        };
        let x = load(0);
        let (result, unsure) = match OP {
            op if op == Elementary::Exp as u8 => exp(x),
            op if op == Elementary::Tanh as u8 => tanh(x),
            op if op == Elementary::Pow as u8 => pow(x, load(1)),
            _ => log::<OP>(x),
        };
        let to = out.wrapping_add(at);
        if unsure & mask != 0 {
            let operands = call.operands.map(|operand| operand.cast::<f32>().wrapping_add(at).cast());
            // SAFETY: a part of what the caller promises
            unsafe { exactly::<USE, Exact>(&Call { operands, out: to.cast(), len }) };
        } else if is_past && len == LANES {
            // SAFETY: these elements may be written, as the caller promises; a line begins there
            unsafe { _mm512_stream_ps(to, result) };
        } else {
            // SAFETY: as above
            unsafe { _mm512_mask_storeu_ps(to, mask, result) };
        }
        at += len;
        most = LANES;
    }
}

/// Computes at most 16 elements as defined.
///
/// # Safety
///
/// The conditions of a kernel.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn exactly<const USE: Use, Exact: Kernel>(call: &Call) {
    // SAFETY: as the caller promises
    unsafe { Machine::Avx512.compiled::<Exact>()(call) };
    if USE != TAKEN {
        let (out, mask) = (call.out.cast::<f32>(), u16::MAX >> (LANES - call.len));
        // SAFETY: the results were written
        let results = unsafe { _mm512_maskz_loadu_ps(mask, out) };
        let nans = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(results, results);
        let nan = _mm512_set1_ps(f32::NAN);
        // SAFETY: these are some of the elements that may be written
        unsafe { _mm512_mask_storeu_ps(out, nans & mask, nan) };
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn splat(value: f64) -> Wide {
    _mm512_set1_pd(value)
}

/// `a * b + c`
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn fma(a: Wide, b: Wide, c: Wide) -> Wide {
    _mm512_fmadd_pd(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn times(a: Wide, b: Wide) -> Wide {
    _mm512_mul_pd(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn plus(a: Wide, b: Wide) -> Wide {
    _mm512_add_pd(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn minus(a: Wide, b: Wide) -> Wide {
    _mm512_sub_pd(a, b)
}

/// `c[0] + c[1] x + c[2] x² …`
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn polynomial<const N: usize>(x: Wide, c: &[f64; N]) -> Wide {
    let mut sum = splat(c[N - 1]);
    for &c in c[..N - 1].iter().rev() {
        sum = fma(sum, x, splat(c));
    }
    sum
}

/// Looks each lane's low 4 bits up in a table.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn looked_up(table: &Table, at: __m512i) -> Wide {
    // SAFETY: 16 elements are there, and the processor has AVX-512
    let [low, high] = [0, 8].map(|from| unsafe { _mm512_loadu_pd(table.as_ptr().wrapping_add(from)) });
    _mm512_permutex2var_pd(low, at, high)
}

/// Two registers, for 8 lanes each.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn halves(a: __m512i) -> [__m256i; 2] {
    [_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64::<1>(a)]
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn widened(x: __m512) -> [Wide; 2] {
    let [low, high] = halves(_mm512_castps_si512(x));
    let widen = |x: __m256i| _mm512_cvtps_pd(_mm256_castsi256_ps(x));
    [widen(low), widen(high)]
}

/// Rounds to `f32`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn narrowed([low, high]: [Wide; 2]) -> __m512 {
    let narrow = |x: Wide| _mm256_castps_si256(_mm512_cvtpd_ps(x));
    let (low, high) = (narrow(low), narrow(high));
    _mm512_castsi512_ps(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn joined([low, high]: [__mmask8; 2]) -> __mmask16 {
    u16::from(low) | u16::from(high) << 8
}

/// The lanes in which the error may decide how the result is rounded.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn between(y: Wide) -> __mmask8 {
    let middle_and_near = splat_bits((1 << 28) - NEAR);
    let moved = _mm512_sub_epi64(_mm512_castpd_si512(y), middle_and_near);
    _mm512_testn_epi64_mask(moved, splat_bits((1 << 29) - 2 * NEAR))
}

/// The lanes of powers in which the error may decide how the result is rounded. `logarithm` is the power's logarithm to
/// the base 2.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn between_powers(y: Wide, logarithm: Wide) -> __mmask8 {
    let low = _mm512_and_si512(_mm512_castpd_si512(y), splat_bits((1 << 29) - 1));
    let distance = _mm512_abs_epi64(_mm512_sub_epi64(low, splat_bits(1 << 28)));
    // The sum has the bound in its low bits.
    let near = fma(_mm512_abs_pd(logarithm), splat(NEAR_POWER), splat(SHIFT + NEAR as f64));
    let near = _mm512_sub_epi64(_mm512_castpd_si512(near), _mm512_castpd_si512(splat(SHIFT)));
    _mm512_cmplt_epi64_mask(distance, near)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn splat_bits(bits: i64) -> __m512i {
    _mm512_set1_epi64(bits)
}

/// Rounds the results of both halves, and returns where they may be wrong.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn rounded(y: [Wide; 2], unsure: __mmask16) -> (__m512, __mmask16) {
    (narrowed(y), unsure | joined([between(y[0]), between(y[1])]))
}

/// `e^r 2^(n / 16)` for `|r| <= ln 2 / 32`, where the low bits of `n` come from the number.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn power(r: Wide, n: Wide) -> Wide {
    let n = _mm512_castpd_si512(n);
    let fraction = _mm512_castpd_si512(looked_up(&POWERS, n));
    let scale = _mm512_castsi512_pd(_mm512_add_epi64(fraction, _mm512_slli_epi64::<48>(n)));
    let less_1 = fma(times(r, r), polynomial(r, &EXP_TAIL), r);
    fma(scale, less_1, scale)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn exp(x: __m512) -> (__m512, __mmask16) {
    // Up to this size results are normal numbers.
    let most = _mm512_set1_ps(87.0);
    let outside = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(x), most);
    let half = |x: Wide| {
        let shifted = fma(x, splat(16.0 * LOG2_E), splat(SHIFT));
        let n = minus(shifted, splat(SHIFT));
        power(fma(n, splat(-LN_2 / 16.0), x), shifted)
    };
    let [low, high] = widened(x);
    rounded([half(low), half(high)], outside)
}

/// `log m` and `e`, for 8 lanes each, where `x = 2^e m`; and the lanes in which `x` is not a
/// positive normal number.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn logarithm(x: __m512) -> ([[Wide; 2]; 2], __mmask16) {
    let bits_of = |value: u32| _mm512_set1_epi32(value.cast_signed());
    let bits = _mm512_castps_si512(x);
    let above = _mm512_sub_epi32(bits, bits_of(f32::MIN_POSITIVE.to_bits()));
    let range = f32::INFINITY.to_bits() - f32::MIN_POSITIVE.to_bits();
    let outside = _mm512_cmpge_epu32_mask(above, bits_of(range));
    let from_least = _mm512_sub_epi32(bits, bits_of(LEAST));
    let scale = _mm512_and_si512(from_least, bits_of(0xff80_0000));
    let m = widened(_mm512_castsi512_ps(_mm512_sub_epi32(bits, scale)));
    let e = halves(_mm512_srai_epi32::<23>(from_least));
    let at = halves(_mm512_srli_epi32::<19>(from_least));
    let half = |half: usize| {
        let at = _mm512_cvtepu32_epi64(at[half]);
        let r = fma(m[half], looked_up(&INVERSE, at), splat(-1.0));
        let log = fma(times(r, r), polynomial(r, &LOG_TAIL), r);
        [plus(log, looked_up(&LOG, at)), _mm512_cvtepi32_pd(e[half])]
    };
    ([half(0), half(1)], outside)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn log<const OP: u8>(x: __m512) -> (__m512, __mmask16) {
    let half = |[log, e]: [Wide; 2]| match OP {
        op if op == Elementary::Log2 as u8 => fma(log, splat(LOG2_E), e),
        op if op == Elementary::Log10 as u8 => fma(log, splat(LOG10_E), times(e, splat(LOG10_2))),
        _ => fma(e, splat(LN_2), log),
    };
    let ([low, high], outside) = logarithm(x);
    rounded([half(low), half(high)], outside)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn pow(x: __m512, y: __m512) -> (__m512, __mmask16) {
    let half = |[log, e]: [Wide; 2], y: Wide| {
        let product = times(fma(log, splat(LOG2_E), e), y);
        // Up to this size results are normal numbers.
        let outside = _mm512_cmp_pd_mask::<_CMP_NLT_UQ>(_mm512_abs_pd(product), splat(125.5));
        let shifted = plus(product, splat(SHIFT / 16.0));
        let n = minus(shifted, splat(SHIFT / 16.0));
        let power = power(times(minus(product, n), splat(LN_2)), shifted);
        (power, outside | between_powers(power, product))
    };
    let ([low, high], outside) = logarithm(x);
    let [y_low, y_high] = widened(y);
    let ((low, low_unsure), (high, high_unsure)) = (half(low, y_low), half(high, y_high));
    (narrowed([low, high]), outside | joined([low_unsure, high_unsure]))
}

/// The hyperbolic tangent, by the formula for a sum, like the definition.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn tanh(x: __m512) -> (__m512, __mmask16) {
    let size = _mm512_abs_ps(x);
    // Smaller sizes and NaN are computed as they are defined: a result may be a subnormal number or a signed
    // zero.
    let inside = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_set1_ps(1e-30), size);
    let half = |a: Wide| {
        let shift = splat(SHIFT + 1023.0);
        let shifted = fma(a, splat(2.0 / LN_2), shift);
        let z = fma(minus(shifted, shift), splat(-0.5 * LN_2), a);
        let power = _mm512_castsi512_pd(_mm512_slli_epi64::<52>(_mm512_castpd_si512(shifted)));
        let z2 = times(z, z);
        let tanh = fma(times(z, z2), polynomial(z2, &TANH_TAIL), z);
        let (difference, sum) = (minus(power, splat(1.0)), plus(power, splat(1.0)));
        quotient(fma(tanh, sum, difference), fma(tanh, difference, sum))
    };
    let [low, high] = widened(_mm512_min_ps(size, _mm512_set1_ps(10.0)));
    let (y, unsure) = rounded([half(low), half(high)], !inside);
    let sign = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(i32::MIN));
    (_mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(y), sign)), unsure)
}

/// `a / b` within 2^-41.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn quotient(a: Wide, b: Wide) -> Wide {
    let inverse = _mm512_rcp14_pd(b);
    let error = _mm512_fnmadd_pd(b, inverse, splat(1.0));
    let quotient = times(a, inverse);
    fma(quotient, fma(error, error, error), quotient)
}
