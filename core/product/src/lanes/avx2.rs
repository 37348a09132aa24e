//! Vectors of AVX2 with FMA.
#![allow(unsafe_code)] // reads and writes numbers that callers vouch for

use std::arch::x86_64::{
    __m256, __m256d, __m256i, _CMP_UNORD_Q, _mm256_add_epi32, _mm256_add_epi64, _mm256_blendv_pd,
    _mm256_blendv_ps, _mm256_castpd_si256, _mm256_castps_si256, _mm256_castsi256_pd, _mm256_castsi256_ps,
    _mm256_cmp_pd, _mm256_cmp_ps, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_loadu_pd, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_maskload_epi32, _mm256_maskload_epi64, _mm256_maskload_pd, _mm256_maskload_ps,
    _mm256_maskstore_epi32, _mm256_maskstore_epi64, _mm256_maskstore_pd, _mm256_maskstore_ps,
    _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_permute2f128_pd, _mm256_permute2f128_ps, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_set1_pd, _mm256_set1_ps, _mm256_setzero_ps, _mm256_shuffle_ps,
    _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_pd, _mm256_storeu_ps, _mm256_storeu_si256,
    _mm256_unpackhi_pd, _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpacklo_ps,
};

use super::lanes;

lanes! {
    F32x8: __m256 as f32, 8, [6, 2], "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    _mm256_set1_ps, _mm256_loadu_ps, |from, len| _mm256_maskload_ps(from, first8(len)),
    _mm256_storeu_ps, |to, len, x| _mm256_maskstore_ps(to, first8(len), x),
    _mm256_fmadd_ps,
    |x| _mm256_blendv_ps(x, _mm256_set1_ps(f32::NAN), _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x)), turned_32, |x| x, |x| x
}
lanes! {
    F64x4: __m256d as f64, 4, [6, 2], "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    _mm256_set1_pd, _mm256_loadu_pd, |from, len| _mm256_maskload_pd(from, first4(len)),
    _mm256_storeu_pd, |to, len, x| _mm256_maskstore_pd(to, first4(len), x),
    _mm256_fmadd_pd,
    |x| _mm256_blendv_pd(x, _mm256_set1_pd(f64::NAN), _mm256_cmp_pd::<_CMP_UNORD_Q>(x, x)), turned_64, |x| x, |x| x
}
lanes! {
    U32x8: __m256i as u32, 8, [6, 2], "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    |x: u32| _mm256_set1_epi32(x.cast_signed()), _mm256_loadu_si256,
    |from, len| _mm256_maskload_epi32(from, first8(len)),
    _mm256_storeu_si256, |to, len, x| _mm256_maskstore_epi32(to, first8(len), x),
    |a, b, y| _mm256_add_epi32(_mm256_mullo_epi32(a, b), y), |x| x, turned_32, _mm256_castsi256_ps, _mm256_castps_si256
}
lanes! {
    U64x4: __m256i as u64, 4, [6, 2], "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    |x: u64| _mm256_set1_epi64x(x.cast_signed()), _mm256_loadu_si256,
    |from, len| _mm256_maskload_epi64(from, first4(len)),
    _mm256_storeu_si256, |to, len, x| _mm256_maskstore_epi64(to, first4(len), x),
    wide_fma, |x| x, turned_64, _mm256_castsi256_pd, _mm256_castpd_si256
}

/// The mask of the first lanes of 8.
#[inline]
#[target_feature(enable = "avx2")]
fn first8(len: usize) -> __m256i {
    const MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let from = MASKS[8 - len..].as_ptr();
    // SAFETY: 8 of the 16 mask words remain, because there are at most 8 lanes
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// The mask of the first lanes of 4.
#[inline]
#[target_feature(enable = "avx2")]
fn first4(len: usize) -> __m256i {
    first8(2 * len)
}

/// `a * b + y` in 64 bits, made from 32-bit halves.
#[inline]
#[target_feature(enable = "avx2")]
fn wide_fma(a: __m256i, b: __m256i, y: __m256i) -> __m256i {
    let cross = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), b),
        _mm256_mul_epu32(a, _mm256_srli_epi64::<32>(b)),
    );
    _mm256_add_epi64(_mm256_add_epi64(y, _mm256_mul_epu32(a, b)), _mm256_slli_epi64::<32>(cross))
}

/// Transposes 8 rows of 8 numbers of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn turned_32(row: impl Fn(usize) -> __m256, mut each: impl FnMut(usize, __m256)) {
    let mut rows = [_mm256_setzero_ps(); 8];
    for (at, to) in rows.iter_mut().enumerate() {
        *to = row(at);
    }
    // Takes four rows: column j in the lower half, and column j + 4 in the upper half.
    let [upper, lower] = [0, 4].map(|first| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|row| rows[first + row]);
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab, cd),
            _mm256_shuffle_ps::<0xee>(ab, cd),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
        ]
    });
    let mut all = rows;
    for column in 0..4 {
        let turned = [
            _mm256_permute2f128_ps::<0x20>(upper[column], lower[column]),
            _mm256_permute2f128_ps::<0x31>(upper[column], lower[column]),
        ];
        for (half, turned) in turned.into_iter().enumerate() {
            all[4 * half + column] = turned;
        }
    }
    for (at, row) in all.into_iter().enumerate() {
        each(at, row);
    }
}

/// Transposes 4 rows of 4 numbers of 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn turned_64(row: impl Fn(usize) -> __m256d, mut each: impl FnMut(usize, __m256d)) {
    let (a, b, c, d) = (row(0), row(1), row(2), row(3));
    let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
    let turned = [
        _mm256_permute2f128_pd::<0x20>(ab, cd),
        _mm256_permute2f128_pd::<0x20>(ab_high, cd_high),
        _mm256_permute2f128_pd::<0x31>(ab, cd),
        _mm256_permute2f128_pd::<0x31>(ab_high, cd_high),
    ];
    for (at, row) in turned.into_iter().enumerate() {
        each(at, row);
    }
}
