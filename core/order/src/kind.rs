//! The key of each element type: unsigned numbers that compare like the elements.

use bytemuck::Pod;
use devarray_function::{f32_to_bfloat, f32_to_half, half_to_f32};

use crate::word::Word;

/// An element type.
pub(crate) trait Kind: Copy + Send + Sync + 'static {
    type Bits: Word;

    /// Whether equal elements have the same bits.
    const ONE_TO_ONE: bool;

    const HAS_NAN: bool = false;

    /// The key. Equal elements have equal keys, and a smaller key comes first. The largest word is
    /// the key of all NaNs; among floats, of nothing else.
    fn key(bits: Self::Bits) -> Self::Bits;

    /// An element that has the key. Among floats it is +0 and the canonical NaN.
    fn of_key(key: Self::Bits) -> Self::Bits;

    /// Like the key, but −0 is below +0. Different elements have different ranks, except that all
    /// NaNs have one.
    #[inline(always)]
    fn rank(bits: Self::Bits) -> Self::Bits {
        Self::key(bits)
    }

    /// The element with a rank.
    #[inline(always)]
    fn of_rank(rank: Self::Bits) -> Self::Bits {
        Self::of_key(rank)
    }

    #[inline(always)]
    fn is_nan(_bits: Self::Bits) -> bool {
        false
    }

    #[inline(always)]
    fn is_zero(bits: Self::Bits) -> bool {
        bits == Self::Bits::ZERO
    }
}

/// An integer type, or truth values, which count as 0 and 1.
pub(crate) trait WholeKind: Kind {
    /// The value. A larger `u64` becomes `i64::MAX`.
    fn value(bits: Self::Bits) -> i64;

    /// The element as a summand of 64 bits, signed or not.
    fn summand(bits: Self::Bits) -> u64;
}

/// A float type, whose elements are summed as `Sum`.
pub(crate) trait FloatKind: Kind {
    type Sum: Real;

    fn load(bits: Self::Bits) -> Self::Sum;

    /// Rounds once. Every NaN becomes the canonical one.
    fn store(value: Self::Sum) -> Self::Bits;
}

/// A type in which floats are computed.
pub(crate) trait Real:
    Pod
    + Send
    + Sync
    + PartialEq
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
{
    const ZERO: Self;
    /// The summand that changes nothing.
    const NOTHING: Self;

    fn of(value: f64) -> Self;

    fn is_infinite(self) -> bool;
}

macro_rules! reals {
    ($($real:ident),*) => {$(
        impl Real for $real {
            const ZERO: Self = 0.0;
            const NOTHING: Self = -0.0;

            #[allow(clippy::cast_possible_truncation, reason = "rounded once")]
            fn of(value: f64) -> Self {
                value as Self
            }

            fn is_infinite(self) -> bool {
                self.is_infinite()
            }
        }
    )*};
}

reals!(f32, f64);

/// Truth values: 0 is false, any other byte is true.
#[derive(Clone, Copy)]
pub(crate) struct Truth;

impl Kind for Truth {
    type Bits = u8;
    const ONE_TO_ONE: bool = false;

    #[inline(always)]
    fn key(bits: u8) -> u8 {
        u8::from(bits != 0)
    }

    #[inline(always)]
    fn of_key(key: u8) -> u8 {
        key
    }
}

impl WholeKind for Truth {
    #[inline(always)]
    fn value(bits: u8) -> i64 {
        Self::key(bits).into()
    }

    #[inline(always)]
    fn summand(bits: u8) -> u64 {
        Self::key(bits).into()
    }
}

/// Unsigned integers.
#[derive(Clone, Copy)]
pub(crate) struct Unsigned<W>(std::marker::PhantomData<W>);

impl<W: Word> Kind for Unsigned<W> {
    type Bits = W;
    const ONE_TO_ONE: bool = true;

    #[inline(always)]
    fn key(bits: W) -> W {
        bits
    }

    #[inline(always)]
    fn of_key(key: W) -> W {
        key
    }
}

impl<W: Word> WholeKind for Unsigned<W> {
    #[inline(always)]
    fn value(bits: W) -> i64 {
        i64::try_from(bits.wide()).unwrap_or(i64::MAX)
    }

    #[inline(always)]
    fn summand(bits: W) -> u64 {
        bits.wide()
    }
}

/// Signed integers.
#[derive(Clone, Copy)]
pub(crate) struct Signed<W>(std::marker::PhantomData<W>);

impl<W: Word> Kind for Signed<W> {
    type Bits = W;
    const ONE_TO_ONE: bool = true;

    #[inline(always)]
    fn key(bits: W) -> W {
        bits ^ W::TOP
    }

    #[inline(always)]
    fn of_key(key: W) -> W {
        key ^ W::TOP
    }
}

impl<W: Word> WholeKind for Signed<W> {
    #[inline(always)]
    fn value(bits: W) -> i64 {
        bits.signed()
    }

    #[inline(always)]
    fn summand(bits: W) -> u64 {
        bits.signed().cast_unsigned()
    }
}

macro_rules! floats {
    ($($name:ident: $bits:ident, $infinity:literal, $nan:literal, $sum:ident, $load:expr, $store:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl Kind for $name {
            type Bits = $bits;
            const ONE_TO_ONE: bool = false;
            const HAS_NAN: bool = true;

            #[inline(always)]
            fn key(bits: $bits) -> $bits {
                let rank = Self::rank(bits);
                if rank == !<$bits>::TOP { <$bits>::TOP } else { rank }
            }

            #[inline(always)]
            fn of_key(key: $bits) -> $bits {
                if key == <$bits>::MAX { $nan } else { key ^ (!key.filled() | <$bits>::TOP) }
            }

            #[inline(always)]
            fn rank(bits: $bits) -> $bits {
                if Self::is_nan(bits) { <$bits>::MAX } else { bits ^ (bits.filled() | <$bits>::TOP) }
            }

            #[inline(always)]
            fn is_nan(bits: $bits) -> bool {
                bits & !<$bits>::TOP > $infinity
            }

            #[inline(always)]
            fn is_zero(bits: $bits) -> bool {
                bits & !<$bits>::TOP == 0
            }
        }

        impl FloatKind for $name {
            type Sum = $sum;

            #[inline(always)]
            fn load(bits: $bits) -> $sum {
                $load(bits)
            }

            #[inline(always)]
            fn store(value: $sum) -> $bits {
                if value.is_nan() { $nan } else { $store(value) }
            }
        }
    )*};
}

#[allow(clippy::cast_possible_truncation, reason = "a half has 16 bits")]
fn half(value: f32) -> u16 {
    f32_to_half(value) as u16
}

#[allow(clippy::cast_possible_truncation, reason = "a half has 16 bits")]
fn bfloat(value: f32) -> u16 {
    f32_to_bfloat(value) as u16
}

floats! {
    F16: u16, 0x7c00, 0x7e00, f32, |bits: u16| half_to_f32(bits.into()), half;
    BF16: u16, 0x7f80, 0x7fc0, f32, |bits: u16| f32::from_bits(u32::from(bits) << 16), bfloat;
    F32: u32, 0x7f80_0000, 0x7fc0_0000, f32, f32::from_bits, f32::to_bits;
    F64: u64, 0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000, f64, f64::from_bits, f64::to_bits;
}

/// Evaluates the first expression with `$whole` as the kind of an integer type or of truth values, or
/// the second with `$float` as the kind of a float type.
macro_rules! by_class {
    ($element_type:expr, $whole:ident => $of_whole:expr, $float:ident => $of_float:expr) => {{
        use devarray_function::ElementType;
        macro_rules! whole {
            ($the:ty) => {{
                type $whole = $the;
                $of_whole
            }};
        }
        macro_rules! float {
            ($the:ty) => {{
                type $float = $the;
                $of_float
            }};
        }
        match $element_type {
            ElementType::Bool => whole!($crate::kind::Truth),
            ElementType::I8 => whole!($crate::kind::Signed<u8>),
            ElementType::U8 => whole!($crate::kind::Unsigned<u8>),
            ElementType::I16 => whole!($crate::kind::Signed<u16>),
            ElementType::U16 => whole!($crate::kind::Unsigned<u16>),
            ElementType::I32 => whole!($crate::kind::Signed<u32>),
            ElementType::U32 => whole!($crate::kind::Unsigned<u32>),
            ElementType::I64 => whole!($crate::kind::Signed<u64>),
            ElementType::U64 => whole!($crate::kind::Unsigned<u64>),
            ElementType::F16 => float!($crate::kind::F16),
            ElementType::BF16 => float!($crate::kind::BF16),
            ElementType::F32 => float!($crate::kind::F32),
            ElementType::F64 => float!($crate::kind::F64),
        }
    }};
}

/// Evaluates the expression with `$kind` as the kind of an element type.
macro_rules! by_kind {
    ($element_type:expr, $kind:ident => $body:expr) => {
        $crate::kind::by_class!($element_type, $kind => $body, $kind => $body)
    };
}

/// Evaluates the expression with `$kind` as the kind of a type of indices.
macro_rules! by_index {
    ($element_type:expr, $kind:ident => $body:expr) => {{
        use devarray_function::ElementType;
        macro_rules! with {
            ($the:ty) => {{
                type $kind = $the;
                $body
            }};
        }
        match $element_type {
            ElementType::I32 => with!($crate::kind::Signed<u32>),
            ElementType::U32 => with!($crate::kind::Unsigned<u32>),
            _ => with!($crate::kind::Signed<u64>),
        }
    }};
}

/// Evaluates the expression with `$word` as the word of a number of bytes.
macro_rules! by_width {
    ($len_bytes:expr, $word:ident => $body:expr) => {{
        macro_rules! with {
            ($the:ty) => {{
                type $word = $the;
                $body
            }};
        }
        match $len_bytes {
            1 => with!(u8),
            2 => with!(u16),
            4 => with!(u32),
            _ => with!(u64),
        }
    }};
}

pub(crate) use {by_class, by_index, by_kind, by_width};
