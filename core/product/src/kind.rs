//! The element types, and the numbers in which they are multiplied.

use devarray_function::{f32_to_bfloat, f32_to_half, half_to_f32};

use crate::machine::Compiled;

/// An element type, whose elements are computed as `Number`.
pub(crate) trait Kind: Copy + Send + Sync + 'static {
    type Bits: Copy + Send + Sync + 'static;
    type Number: Compiled;

    /// Whether an element is its number, bit for bit, except for NaNs.
    const IS_NUMBER: bool;

    fn load(bits: Self::Bits) -> Self::Number;

    /// Rounds once. Every NaN becomes the canonical one.
    fn store(number: Self::Number) -> Self::Bits;
}

macro_rules! kinds {
    ($($name:ident: $bits:ident as $number:ident, $is_number:literal, $load:expr, $store:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name;

        impl Kind for $name {
            type Bits = $bits;
            type Number = $number;
            const IS_NUMBER: bool = $is_number;

            #[inline(always)]
            fn load(bits: $bits) -> $number {
                $load(bits)
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "integers wrap in their type")]
            fn store(number: $number) -> $bits {
                $store(number) as $bits
            }
        }
    )*};
}

// The low bits of products and sums do not depend on the bits above, so signs do not matter.
kinds! {
    Whole8: u8 as u32, false, u32::from, u32::from;
    Whole16: u16 as u32, false, u32::from, u32::from;
    Whole32: u32 as u32, true, u32::from, u32::from;
    Whole64: u64 as u64, true, u64::from, u64::from;
    F16: u16 as f32, false, |bits: u16| half_to_f32(bits.into()), |number: f32| {
        if number.is_nan() { 0x7e00 } else { f32_to_half(number) }
    };
    BF16: u16 as f32, false, |bits: u16| f32::from_bits(u32::from(bits) << 16), f32_to_bfloat;
    F32: u32 as f32, true, f32::from_bits, |number: f32| {
        if number.is_nan() { 0x7fc0_0000 } else { number.to_bits() }
    };
    F64: u64 as f64, true, f64::from_bits, |number: f64| {
        if number.is_nan() { 0x7ff8_0000_0000_0000 } else { number.to_bits() }
    };
}

/// Evaluates the expression with `$kind` as the kind of a type that has products.
macro_rules! by_kind {
    ($element_type:expr, $kind:ident => $body:expr) => {{
        use devarray_function::ElementType;
        macro_rules! with {
            ($the:ident) => {{
                type $kind = $crate::kind::$the;
                $body
            }};
        }
        match $element_type {
            ElementType::Bool => panic!("bool has no products"),
            ElementType::I8 | ElementType::U8 => with!(Whole8),
            ElementType::I16 | ElementType::U16 => with!(Whole16),
            ElementType::I32 | ElementType::U32 => with!(Whole32),
            ElementType::I64 | ElementType::U64 => with!(Whole64),
            ElementType::F16 => with!(F16),
            ElementType::BF16 => with!(BF16),
            ElementType::F32 => with!(F32),
            ElementType::F64 => with!(F64),
        }
    }};
}

pub(crate) use by_kind;
