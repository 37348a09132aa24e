//! The last step of `f32` and `f64` with AVX-512: an operation, the one NaN that is stored, and the
//! store, which may go past the caches. Elsewhere these are three passes over a block.
#![allow(unsafe_code)] // reads and writes the elements that the caller of a kernel vouches for

use std::arch::x86_64::{
    _CMP_UNORD_Q, _mm512_add_pd, _mm512_add_ps, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask, _mm512_div_pd,
    _mm512_div_ps, _mm512_mask_blend_pd, _mm512_mask_blend_ps, _mm512_mask_storeu_pd, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_pd, _mm512_maskz_loadu_ps, _mm512_mul_pd, _mm512_mul_ps, _mm512_set1_pd,
    _mm512_set1_ps, _mm512_sqrt_pd, _mm512_sqrt_ps, _mm512_stream_pd, _mm512_stream_ps, _mm512_sub_pd,
    _mm512_sub_ps,
};

use super::{
    code::LINE_BYTES,
    machine::{Call, Compiled},
};
use crate::{BinaryOperation, ElementType};

/// What a last step computes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Last {
    /// Nothing: the operand is stored.
    Nothing,
    Sqrt,
    Binary(BinaryOperation),
}

/// Loops of a last step: one that stores as usual, and one that stores past the caches.
pub(super) fn loops(last: Last, of: ElementType) -> Option<[Compiled; 2]> {
    use BinaryOperation as Op;
    macro_rules! loops {
        ($($last:pat => $code:expr;)*) => {
            match (last, of) {
                $(($last, ElementType::F64) =>
                    Some([last_f64::<{ $code }, false> as Compiled, last_f64::<{ $code }, true>]),
                ($last, ElementType::F32) =>
                    Some([last_f32::<{ $code }, false> as Compiled, last_f32::<{ $code }, true>]),)*
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

/// Codes beside those of operations of two operands.
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
                // SAFETY: as above; of one operand the second is the first
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
            // Lines leave for the memory whole.
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
