//! Last steps with AVX-512. Other machines take three passes over a block.
#![allow(unsafe_code)] // reads and writes the elements that the caller of a kernel vouches for

use std::arch::x86_64::{
    __m256i, __m512, _CMP_UNORD_Q, _mm512_add_epi32, _mm512_add_pd, _mm512_add_ps, _mm512_and_si512,
    _mm512_castps_si512, _mm512_castsi256_si512, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask,
    _mm512_cvtepi32_epi16, _mm512_cvtps_ph, _mm512_div_pd, _mm512_div_ps, _mm512_inserti64x4,
    _mm512_mask_blend_epi32, _mm512_mask_blend_pd, _mm512_mask_blend_ps, _mm512_mask_storeu_epi16,
    _mm512_mask_storeu_pd, _mm512_mask_storeu_ps, _mm512_maskz_loadu_pd, _mm512_maskz_loadu_ps,
    _mm512_mul_pd, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_pd, _mm512_set1_ps, _mm512_sqrt_pd,
    _mm512_sqrt_ps, _mm512_srli_epi32, _mm512_stream_pd, _mm512_stream_ps, _mm512_stream_si512,
    _mm512_sub_pd, _mm512_sub_ps,
};

use super::Last;
use crate::{
    BinaryOperation, ElementType,
    executor::machine::{Call, Compiled, LINE_BYTES},
};

/// The loops of a last step. Halves are rounded from `f32`.
pub(super) fn loops(last: Last, of: ElementType) -> Option<[Compiled; 2]> {
    use BinaryOperation as Op;
    macro_rules! loops {
        ($($last:pat => $code:expr;)*) => {
            match (last, of) {
                $(($last, ElementType::F64) =>
                    Some([last_f64::<{ $code }, false> as Compiled, last_f64::<{ $code }, true>]),
                ($last, ElementType::F32) =>
                    Some([last_f32::<{ $code }, false> as Compiled, last_f32::<{ $code }, true>]),
                ($last, ElementType::F16) => Some([
                    last_half::<{ $code }, false, false> as Compiled,
                    last_half::<{ $code }, false, true>,
                ]),
                ($last, ElementType::BF16) => Some([
                    last_half::<{ $code }, true, false> as Compiled,
                    last_half::<{ $code }, true, true>,
                ]),)*
                (Last::Whole(loops), ElementType::F32) => Some(loops),
                _ => None,
            }
        };
    }
    loops! {
        Last::Nothing => NOTHING;
        Last::Sqrt => SQRT;
        Last::Binary(Op::Add) => Op::Add as u8;
        Last::Binary(Op::Subtract) => Op::Subtract as u8;
        Last::Binary(Op::Multiply) => Op::Multiply as u8;
        Last::Binary(Op::Divide) => Op::Divide as u8;
    }
}

/// Codes beside the codes of operations of two operands.
const NOTHING: u8 = u8::MAX;
const SQRT: u8 = u8::MAX - 1;

macro_rules! last {
    ($name:ident $type:ident $mask:ident
        $load:ident $store:ident $stream:ident $splat:ident $unordered:ident $blend:ident
        $add:ident $subtract:ident $multiply:ident $divide:ident $sqrt:ident) => {
        /// # Safety
        ///
        /// The conditions of a kernel, on a processor with AVX-512.
        #[target_feature(enable = "avx512f,avx512dq")]
        unsafe fn $name<const OP: u8, const PAST: bool>(call: &Call) {
            use BinaryOperation as Op;
            const LANES: usize = LINE_BYTES / size_of::<$type>();
            let [a, b, _] = call.operands.map(|operand| operand.cast::<$type>());
            let out = call.out.cast::<$type>();
            let nan = $splat($type::NAN);
            let result = |at: usize, mask: $mask| {
                // SAFETY: the lanes of the mask may be read, as the caller promises
                let a = unsafe { $load(mask, a.wrapping_add(at)) };
                // SAFETY: as above; if there is one operand, the second is the first
                let b = || unsafe { $load(mask, b.wrapping_add(at)) };
                let result = match OP {
                    op if op == Op::Add as u8 => $add(a, b()),
                    op if op == Op::Subtract as u8 => $subtract(a, b()),
                    op if op == Op::Multiply as u8 => $multiply(a, b()),
                    op if op == Op::Divide as u8 => $divide(a, b()),
                    SQRT => $sqrt(a),
                    _ => a,
                };
                $blend($unordered::<_CMP_UNORD_Q>(result, result), result, nan)
            };
            let some = |at: usize, len: usize| {
                let mask = $mask::MAX >> (LANES - len);
                // SAFETY: the lanes of the mask may be written, as the caller promises
                unsafe { $store(out.wrapping_add(at), mask, result(at, mask)) };
            };
            // Whole lines are sent to memory.
            let is_past = PAST && out.addr() % size_of::<$type>() == 0;
            let ahead = out.addr().wrapping_neg() % LINE_BYTES / size_of::<$type>();
            let mut at = if is_past { ahead.min(call.len) } else { 0 };
            if at > 0 {
                some(0, at);
            }
            while at + LANES <= call.len {
                let result = result(at, $mask::MAX);
                let to = out.wrapping_add(at);
                if is_past {
                    // SAFETY: as above; a line begins there
                    unsafe { $stream(to, result) };
                } else {
                    // SAFETY: as above
                    unsafe { $store(to, $mask::MAX, result) };
                }
                at += LANES;
            }
            if at < call.len {
                some(at, call.len - at);
            }
        }
    };
}

last! {
    last_f32 f32 u16
    _mm512_maskz_loadu_ps _mm512_mask_storeu_ps _mm512_stream_ps _mm512_set1_ps _mm512_cmp_ps_mask
    _mm512_mask_blend_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_sqrt_ps
}
last! {
    last_f64 f64 u8
    _mm512_maskz_loadu_pd _mm512_mask_storeu_pd _mm512_stream_pd _mm512_set1_pd _mm512_cmp_pd_mask
    _mm512_mask_blend_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_sqrt_pd
}

/// The last step of halves (`f16`, or `bf16` if `BRAIN`): computes in `f32`, and rounds when it
/// stores.
///
/// # Safety
///
/// The conditions of a kernel, on a processor with AVX-512.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
#[expect(clippy::cast_possible_truncation, reason = "a half of the mask at a time")]
unsafe fn last_half<const OP: u8, const BRAIN: bool, const PAST: bool>(call: &Call) {
    const LANES: usize = LINE_BYTES / size_of::<u16>();
    let [a, b, _] = call.operands.map(|operand| operand.cast::<f32>());
    let out = call.out.cast::<i16>();
    let is_past = PAST && out.addr().is_multiple_of(size_of::<u16>());
    let ahead = out.addr().wrapping_neg() % LINE_BYTES / size_of::<u16>();
    let mut most = if is_past && ahead > 0 { ahead } else { LANES };
    let mut at = 0;
    while at < call.len {
        let len = most.min(call.len - at);
        let mask = u32::MAX >> (LANES - len);
        // The lanes of the mask, and where each half begins.
        let [low, high] = [(mask & 0xffff, at), (mask >> 16, at + LANES / 2)].map(|(mask, at)| {
            let load = |from: *const f32| {
                // SAFETY: the lanes of the mask may be read, as the caller promises
                unsafe { _mm512_maskz_loadu_ps(mask as u16, from.wrapping_add(at)) }
            };
            narrowed::<BRAIN>(computed::<OP>(load(a), || load(b)))
        });
        let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let to = out.wrapping_add(at);
        if is_past && len == LANES {
            // SAFETY: these elements may be written, as the caller promises; a line begins there
            unsafe { _mm512_stream_si512(to.cast(), both) };
        } else {
            // SAFETY: the lanes of the mask may be written, as the caller promises
            unsafe { _mm512_mask_storeu_epi16(to, mask, both) };
        }
        at += len;
        most = LANES;
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn computed<const OP: u8>(a: __m512, b: impl Fn() -> __m512) -> __m512 {
    use BinaryOperation as Op;
    match OP {
        op if op == Op::Add as u8 => _mm512_add_ps(a, b()),
        op if op == Op::Subtract as u8 => _mm512_sub_ps(a, b()),
        op if op == Op::Multiply as u8 => _mm512_mul_ps(a, b()),
        op if op == Op::Divide as u8 => _mm512_div_ps(a, b()),
        SQRT => _mm512_sqrt_ps(a),
        _ => a,
    }
}

/// Rounds to nearest, ties to even, with the canonical NaN.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn narrowed<const BRAIN: bool>(x: __m512) -> __m256i {
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
    if !BRAIN {
        return _mm512_cvtps_ph::<0>(_mm512_mask_blend_ps(nan, x, _mm512_set1_ps(f32::NAN)));
    }
    let bits = _mm512_castps_si512(x);
    let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let nearest = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    let stored = _mm512_mask_blend_epi32(nan, _mm512_srli_epi32::<16>(nearest), _mm512_set1_epi32(0x7fc0));
    _mm512_cvtepi32_epi16(stored)
}
