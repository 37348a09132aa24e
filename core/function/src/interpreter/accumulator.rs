//! Elements in the form in which reductions combine them.

use std::cmp::Ordering;

use bytemuck::{Pod, Zeroable};

use crate::halves::half_to_f32;

/// A type whose elements are compared.
pub(super) trait Ordered: Pod {
    fn is_nan(self) -> bool;

    /// The order without NaN, in which −0 is less than +0.
    fn order(self, other: Self) -> Ordering;

    /// The order without NaN, in which zeros are equal.
    fn order_of_values(self, other: Self) -> Ordering;
}

/// A type whose elements are added and multiplied; integers wrap.
pub(super) trait Summed: Pod {
    const ZERO: Self;
    const ONE: Self;

    fn plus(self, other: Self) -> Self;

    fn times(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Ordered for $type {
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }

            #[inline(always)]
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }

            #[inline(always)]
            fn order_of_values(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 }

macro_rules! wrapping_sums {
    ($($type:ty)*) => {$(
        impl Summed for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )*};
}

wrapping_sums! { i64 u64 }

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Ordered for $type {
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }

            #[inline(always)]
            fn order(self, other: Self) -> Ordering {
                let by_sign = || other.is_sign_negative().cmp(&self.is_sign_negative());
                self.order_of_values(other).then_with(by_sign)
            }

            #[inline(always)]
            fn order_of_values(self, other: Self) -> Ordering {
                self.partial_cmp(&other).unwrap_or(Ordering::Equal)
            }
        }

        impl Summed for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}

floats! { f32 f64 }

/// The bits of an `f16` (`false`) or a `bf16` (`true`).
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Half<const BRAIN: bool>(u16);

impl<const BRAIN: bool> Half<BRAIN> {
    fn value(self) -> f32 {
        let bits = u32::from(self.0);
        if BRAIN { f32::from_bits(bits << 16) } else { half_to_f32(bits) }
    }
}

impl<const BRAIN: bool> Ordered for Half<BRAIN> {
    fn is_nan(self) -> bool {
        self.value().is_nan()
    }

    fn order(self, other: Self) -> Ordering {
        self.value().order(other.value())
    }

    fn order_of_values(self, other: Self) -> Ordering {
        self.value().order_of_values(other.value())
    }
}

/// The lesser, or the greater if `greater` is set; the first NaN if there is one.
#[inline(always)]
pub(super) fn extreme<T: Ordered>(greater: bool, a: T, b: T) -> T {
    if a.is_nan() {
        return a;
    }
    let wanted = if greater { Ordering::Greater } else { Ordering::Less };
    if b.is_nan() || b.order(a) == wanted { b } else { a }
}

/// Whether `later` replaces `earlier` as the extreme of an `argmin` or `argmax`.
#[inline(always)]
pub(super) fn takes_place<T: Ordered>(greater: bool, earlier: T, later: T) -> bool {
    let wanted = if greater { Ordering::Greater } else { Ordering::Less };
    !earlier.is_nan() && (later.is_nan() || later.order_of_values(earlier) == wanted)
}
