//! Elements and keys as unsigned numbers of their width.

use std::{
    fmt::Debug,
    ops::{BitAnd, BitOr, BitXor, Not},
};

use bytemuck::Pod;

/// The bits of an element, or the key that stands for it in the order.
pub(crate) trait Word:
    Pod
    + Ord
    + Send
    + Sync
    + Debug
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    const ZERO: Self;
    const MAX: Self;
    /// Only the highest bit is set.
    const TOP: Self;
    const BITS: u32;

    /// All ones if the highest bit is set, otherwise zero.
    fn filled(self) -> Self;

    fn wide(self) -> u64;

    /// The value, read as a signed number.
    fn signed(self) -> i64;

    /// Takes the low bits.
    fn narrow(wide: u64) -> Self;

    /// The bits from `shift` on, under a mask.
    fn digit(self, shift: u32, mask: usize) -> usize;

    /// Adds, which is the same for signed and unsigned integers.
    fn plus(self, other: Self) -> Self;

    fn minus(self, other: Self) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        #[allow(clippy::cast_possible_truncation, reason = "words are cut to their width, and digits by a mask")]
        impl Word for $word {
            const ZERO: Self = 0;
            const BITS: u32 = Self::BITS;
            const MAX: Self = Self::MAX;
            const TOP: Self = 1 << (Self::BITS - 1);

            #[inline(always)]
            fn filled(self) -> Self {
                (self.cast_signed() >> (Self::BITS - 1)).cast_unsigned()
            }

            #[inline(always)]
            fn wide(self) -> u64 {
                u64::from(self)
            }

            #[inline(always)]
            fn signed(self) -> i64 {
                i64::from(self.cast_signed())
            }

            #[inline(always)]
            fn narrow(wide: u64) -> Self {
                wide as Self
            }

            #[inline(always)]
            fn digit(self, shift: u32, mask: usize) -> usize {
                (self >> shift) as usize & mask
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}

words!(u8, u16, u32, u64);
