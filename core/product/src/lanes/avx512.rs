//! Vectors of AVX-512.

use std::arch::x86_64::{
    __m512, __m512d, __m512i, _CMP_UNORD_Q, _mm512_add_epi32, _mm512_add_epi64, _mm512_castpd_ps,
    _mm512_castpd_si512, _mm512_castps_pd, _mm512_castps_si512, _mm512_castsi512_pd, _mm512_castsi512_ps,
    _mm512_cmp_pd_mask, _mm512_cmp_ps_mask, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_pd,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mask_blend_pd, _mm512_mask_blend_ps,
    _mm512_mask_storeu_epi32, _mm512_mask_storeu_epi64, _mm512_mask_storeu_pd, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_epi32, _mm512_maskz_loadu_epi64, _mm512_maskz_loadu_pd, _mm512_maskz_loadu_ps,
    _mm512_mullo_epi32, _mm512_mullo_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set1_pd,
    _mm512_set1_ps, _mm512_setzero_pd, _mm512_setzero_ps, _mm512_shuffle_f32x4, _mm512_shuffle_f64x2,
    _mm512_storeu_pd, _mm512_storeu_ps, _mm512_storeu_si512, _mm512_unpackhi_pd, _mm512_unpackhi_ps,
    _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

use super::lanes;

/// The mask of the first lanes of 16.
#[inline(always)]
fn first16(len: usize) -> u16 {
    u16::MAX >> (16 - len)
}

/// The mask of the first lanes of 8.
#[inline(always)]
fn first8(len: usize) -> u8 {
    u8::MAX >> (8 - len)
}

lanes! {
    F32x16: __m512 as f32, 16, [8, 3], "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    _mm512_set1_ps, _mm512_loadu_ps, |from, len| _mm512_maskz_loadu_ps(first16(len), from),
    _mm512_storeu_ps, |to, len, x| _mm512_mask_storeu_ps(to, first16(len), x),
    _mm512_fmadd_ps,
    |x| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x), x, _mm512_set1_ps(f32::NAN)),
    turned_32, |x| x, |x| x
}
lanes! {
    F64x8: __m512d as f64, 8, [8, 3], "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    _mm512_set1_pd, _mm512_loadu_pd, |from, len| _mm512_maskz_loadu_pd(first8(len), from),
    _mm512_storeu_pd, |to, len, x| _mm512_mask_storeu_pd(to, first8(len), x),
    _mm512_fmadd_pd,
    |x| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x, x), x, _mm512_set1_pd(f64::NAN)),
    turned_64, |x| x, |x| x
}
lanes! {
    U32x16: __m512i as u32, 16, [8, 3], "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    |x: u32| _mm512_set1_epi32(x.cast_signed()), _mm512_loadu_si512,
    |from, len| _mm512_maskz_loadu_epi32(first16(len), from),
    _mm512_storeu_si512, |to, len, x| _mm512_mask_storeu_epi32(to, first16(len), x),
    |a, b, y| _mm512_add_epi32(_mm512_mullo_epi32(a, b), y), |x| x, turned_32, _mm512_castsi512_ps, _mm512_castps_si512
}
lanes! {
    U64x8: __m512i as u64, 8, [8, 3], "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
    |x: u64| _mm512_set1_epi64(x.cast_signed()), _mm512_loadu_si512,
    |from, len| _mm512_maskz_loadu_epi64(first8(len), from),
    _mm512_storeu_si512, |to, len, x| _mm512_mask_storeu_epi64(to, first8(len), x),
    |a, b, y| _mm512_add_epi64(_mm512_mullo_epi64(a, b), y), |x| x, turned_64, _mm512_castsi512_pd, _mm512_castpd_si512
}

/// Transposes 16 rows of 16 numbers of 32 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn turned_32(row: impl Fn(usize) -> __m512, mut each: impl FnMut(usize, __m512)) {
    let mut rows = [_mm512_setzero_ps(); 16];
    for (at, to) in rows.iter_mut().enumerate() {
        *to = row(at);
    }
    // First, squares of 4 x 4 are transposed in each quarter of 4 registers: number q * 4 + j has, of four
    // rows, column j of each quarter.
    let mut quarters = rows;
    for four in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|row| rows[4 * four + row]);
        let pairs = |x: __m512, y: __m512, high: bool| {
            let turned = if high { _mm512_unpackhi_ps(x, y) } else { _mm512_unpacklo_ps(x, y) };
            _mm512_castps_pd(turned)
        };
        let (ab, cd) = (pairs(a, b, false), pairs(c, d, false));
        let (ab_high, cd_high) = (pairs(a, b, true), pairs(c, d, true));
        let turned = [
            _mm512_unpacklo_pd(ab, cd),
            _mm512_unpackhi_pd(ab, cd),
            _mm512_unpacklo_pd(ab_high, cd_high),
            _mm512_unpackhi_pd(ab_high, cd_high),
        ];
        for (column, turned) in turned.into_iter().enumerate() {
            quarters[4 * four + column] = _mm512_castpd_ps(turned);
        }
    }
    // Then the squares of quarters are transposed.
    let mut all = rows;
    for column in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|four| quarters[4 * four + column]);
        let (ab, cd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0x88>(c, d));
        let (ab_odd, cd_odd) = (_mm512_shuffle_f32x4::<0xdd>(a, b), _mm512_shuffle_f32x4::<0xdd>(c, d));
        let turned = [
            _mm512_shuffle_f32x4::<0x88>(ab, cd),
            _mm512_shuffle_f32x4::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_f32x4::<0xdd>(ab, cd),
            _mm512_shuffle_f32x4::<0xdd>(ab_odd, cd_odd),
        ];
        for (quarter, turned) in turned.into_iter().enumerate() {
            all[4 * quarter + column] = turned;
        }
    }
    for (at, row) in all.into_iter().enumerate() {
        each(at, row);
    }
}

/// Transposes 8 rows of 8 numbers of 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn turned_64(row: impl Fn(usize) -> __m512d, mut each: impl FnMut(usize, __m512d)) {
    let mut rows = [_mm512_setzero_pd(); 8];
    for (at, to) in rows.iter_mut().enumerate() {
        *to = row(at);
    }
    // Takes rows in pairs: the even columns, and the odd columns.
    let even = [0, 2, 4, 6].map(|at| _mm512_unpacklo_pd(rows[at], rows[at + 1]));
    let odd = [0, 2, 4, 6].map(|at| _mm512_unpackhi_pd(rows[at], rows[at + 1]));
    let quarters = |[a, b, c, d]: [__m512d; 4]| {
        let (ab, cd) = (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0x88>(c, d));
        let (ab_odd, cd_odd) = (_mm512_shuffle_f64x2::<0xdd>(a, b), _mm512_shuffle_f64x2::<0xdd>(c, d));
        [
            _mm512_shuffle_f64x2::<0x88>(ab, cd),
            _mm512_shuffle_f64x2::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_f64x2::<0xdd>(ab, cd),
            _mm512_shuffle_f64x2::<0xdd>(ab_odd, cd_odd),
        ]
    };
    let (even, odd) = (quarters(even), quarters(odd));
    for quarter in 0..4 {
        each(2 * quarter, even[quarter]);
        each(2 * quarter + 1, odd[quarter]);
    }
}
