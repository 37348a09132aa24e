//! Loops that convert like Rust's `as`, and between halves and the `f32` in which halves are
//! computed.
#![allow(unsafe_code)] // kernels read and write the elements that the caller of a kernel vouches for

use std::marker::PhantomData;

use bytemuck::Pod;

use super::{
    kernels::{by_integer, by_width, kernel},
    machine::{Call, Compiled, Kernel, Machine},
    raw::map1,
};
use crate::{
    ElementType,
    halves::{f32_to_half, half_to_f32},
};

/// Converts like Rust's `as`.
trait As<R>: Pod {
    fn convert(self) -> R;
}

macro_rules! as_casts {
    ($($from:ident => $($to:ident)*;)*) => {$($(
        impl As<$to> for $from {
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                clippy::cast_lossless,
                clippy::unnecessary_cast,
                reason = "`as` is what is meant"
            )]
            fn convert(self) -> $to {
                self as $to
            }
        }
    )*)*};
}

as_casts! {
    i8 => u8 u16 u32 u64 f32 f64;
    u8 => u8 u16 u32 u64 f32 f64;
    i16 => u8 u16 u32 u64 f32 f64;
    u16 => u8 u16 u32 u64 f32 f64;
    i32 => u8 u16 u32 u64 f32 f64;
    u32 => u8 u16 u32 u64 f32 f64;
    i64 => u8 u16 u32 u64 f32 f64;
    u64 => u8 u16 u32 u64 f32 f64;
    f32 => i8 u8 i16 u16 i32 u32 i64 u64 f64;
    f64 => i8 u8 i16 u16 i32 u32 i64 u64 f32;
}

kernel! { Cast [A: As<R>, R: Pod] [A R] call => map1(call.operand(0), call.out(), |a: A| a.convert()) }

/// Rounds to an odd `f32`. Rounding that to a narrower type has the effect of rounding once.
trait ToOdd: Pod {
    /// The nearest `f32`, and whether its magnitude is below the number's, or above it.
    fn near(self) -> (f32, bool, bool);
}

macro_rules! to_odd {
    ($($from:ident $wide:ident;)*) => {$(
        impl ToOdd for $from {
            #[inline(always)]
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                clippy::cast_lossless,
                clippy::unnecessary_cast,
                reason = "the rounding is looked at"
            )]
            fn near(self) -> (f32, bool, bool) {
                let near = self as f32;
                // Halves as large as the least integer do not occur, because an `f32` holds it.
                let (size, back) = ((self as $wide).magnitude(), (near as $wide).magnitude());
                (near, back < size, back > size)
            }
        }
    )*};
}

trait Magnitude {
    type Size: PartialOrd;

    fn magnitude(self) -> Self::Size;
}

impl Magnitude for f64 {
    type Size = Self;

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
}

impl Magnitude for i128 {
    type Size = u128;

    #[inline(always)]
    fn magnitude(self) -> u128 {
        self.unsigned_abs()
    }
}

to_odd! {
    i32 f64;
    u32 f64;
    f64 f64;
    i64 i128;
    u64 i128;
}

kernel! { Odd [A: ToOdd] [A] call => map1(call.operand(0), call.out(), |a: A| {
    let (near, below, above) = a.near();
    let bits = near.to_bits();
    let next = if below { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f32::from_bits(if bits & 1 == 0 && (below | above) { next } else { bits })
}) }

/// Converts between types that are neither halves nor bool; `None` if the bits stay the same.
pub(super) fn cast(machine: Machine, from: ElementType, to: ElementType) -> Option<Compiled> {
    use ElementType::{F32, F64};
    Some(match (from, to) {
        (F32, F32) | (F64, F64) => return None,
        (F32, F64) => machine.compiled::<Cast<f32, f64>>(),
        (F64, F32) => machine.compiled::<Cast<f64, f32>>(),
        (F32, _) => by_integer!(to, R => machine.compiled::<Cast<f32, R>>()),
        (F64, _) => by_integer!(to, R => machine.compiled::<Cast<f64, R>>()),
        (_, F32) => by_integer!(from, A => machine.compiled::<Cast<A, f32>>()),
        (_, F64) => by_integer!(from, A => machine.compiled::<Cast<A, f64>>()),
        _ if from.len_bytes() == to.len_bytes() => return None,
        _ => by_integer!(from, A => by_width!(to, R => machine.compiled::<Cast<A, R>>())),
    })
}

/// Converts a wide number to an `f32` that rounds to halves like the number itself.
pub(super) fn to_odd(machine: Machine, from: ElementType) -> Compiled {
    match from {
        ElementType::F64 => machine.compiled::<Odd<f64>>(),
        ElementType::I32 => machine.compiled::<Odd<i32>>(),
        ElementType::U32 => machine.compiled::<Odd<u32>>(),
        ElementType::I64 => machine.compiled::<Odd<i64>>(),
        _ => machine.compiled::<Odd<u64>>(),
    }
}

/// The three conversions of a half type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Half {
    /// From its bits to `f32`.
    Widen,
    /// Rounds an `f32` to its bits, with the canonical NaN.
    Narrow,
    /// Rounds an `f32` to the half type, and keeps it as `f32`.
    Round,
}

macro_rules! half_kernels {
    ($($name:ident |$a:ident: $from:ident| $f:expr;)*) => {$(
        struct $name;

        impl Kernel for $name {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "halves have 16 bits")]
            unsafe fn run(call: &Call) {
                // SAFETY: as the caller promises
                let a = unsafe { call.operand(0) };
                // SAFETY: as the caller promises
                map1(a, unsafe { call.out() }, |$a: $from| $f);
            }
        }
    )*};
}

#[inline(always)]
fn rounded_to_brain(a: f32) -> u32 {
    let bits = a.to_bits();
    bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16
}

half_kernels! {
    WidenBrain |a: u16| f32::from_bits(u32::from(a) << 16);
    NarrowBrain |a: f32| if a.is_nan() { 0x7fc0_u16 } else { rounded_to_brain(a) as u16 };
    RoundBrain |a: f32| if a.is_nan() { a } else { f32::from_bits(rounded_to_brain(a) << 16) };
    WidenPlain |a: u16| half_to_f32(a.into());
    NarrowPlain |a: f32| if a.is_nan() { 0x7e00_u16 } else { f32_to_half(a) as u16 };
    RoundPlain |a: f32| half_to_f32(f32_to_half(a));
}

/// Converts `f16` by the processor's instructions, 8 elements at a time.
#[cfg(target_arch = "x86_64")]
mod f16c {
    use std::arch::x86_64::{
        _CMP_UNORD_Q, _mm_loadu_si128, _mm_storeu_si128, _mm256_blendv_ps, _mm256_cmp_ps, _mm256_cvtph_ps,
        _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
    };

    use super::Call;

    /// Runs whole groups, and the rest through the stack.
    macro_rules! groups {
        ($(#[$doc:meta])* $name:ident $from:ident $to:ident |$a:ident, $out:ident| $group:expr) => {
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// The conditions of a compiled kernel, on a processor with AVX2 and F16C.
            #[target_feature(enable = "avx2,f16c")]
            #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one promise for all elements")]
            pub(super) unsafe fn $name(call: &Call) {
                let (from, to) = (call.operands[0].cast::<$from>(), call.out.cast::<$to>());
                let whole = call.len / 8 * 8;
                for at in (0..whole).step_by(8) {
                    let ($a, $out) = (from.wrapping_add(at), to.wrapping_add(at));
                    // SAFETY: 8 elements are there, as the caller promises
                    unsafe { $group };
                }
                let rest = call.len - whole;
                if rest > 0 {
                    let (mut a, mut b) = ([0 as $from; 8], [0 as $to; 8]);
                    let ($a, $out) = (a.as_mut_ptr(), b.as_mut_ptr());
                    // SAFETY: as many elements are there; the arrays have 8
                    unsafe {
                        $a.cast::<u8>().copy_from_nonoverlapping(from.wrapping_add(whole).cast(), rest * size_of::<$from>());
                        $group;
                        to.wrapping_add(whole).cast::<u8>().copy_from_nonoverlapping($out.cast(), rest * size_of::<$to>());
                    }
                }
            }
        };
    }

    groups! {
        /// Converts to `f32`.
        widen u16 f32 |a, out| _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(a.cast())))
    }
    groups! {
        /// Rounds, with the canonical NaN.
        narrow f32 u16 |a, out| {
            let x = _mm256_loadu_ps(a);
            let x = _mm256_blendv_ps(x, _mm256_set1_ps(f32::NAN), _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
            _mm_storeu_si128(out.cast(), _mm256_cvtps_ph::<0>(x));
        }
    }
    groups! {
        /// Rounds, and keeps `f32`.
        round f32 f32 |a, out| {
            _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm256_cvtps_ph::<0>(_mm256_loadu_ps(a))))
        }
    }
}

pub(super) fn half(machine: Machine, half: Half, of: ElementType) -> Compiled {
    match half {
        Half::Widen if of == ElementType::BF16 => machine.compiled::<WidenBrain>(),
        Half::Narrow if of == ElementType::BF16 => machine.compiled::<NarrowBrain>(),
        Half::Round if of == ElementType::BF16 => machine.compiled::<RoundBrain>(),
        #[cfg(target_arch = "x86_64")]
        _ if machine != Machine::Plain => match half {
            Half::Widen => f16c::widen,
            Half::Narrow => f16c::narrow,
            Half::Round => f16c::round,
        },
        Half::Widen => machine.compiled::<WidenPlain>(),
        Half::Narrow => machine.compiled::<NarrowPlain>(),
        Half::Round => machine.compiled::<RoundPlain>(),
    }
}
