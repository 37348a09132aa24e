//! Operations of integers in their own width. Everything wraps, and nothing traps.

use bytemuck::Pod;

use crate::{BinaryOperation, UnaryOperation};

/// An integer type. The operation is a constant, so that each loop has a single operation.
pub(super) trait Integer: Pod + Ord {
    fn unary<const OP: u8>(self) -> Self;

    fn binary<const OP: u8>(self, b: Self) -> Self;

    /// Divides towards zero. A divisor of 0 gives 0.
    fn divided(self, b: Self) -> Self;
}

macro_rules! integers {
    ($($type:ident $unsigned:ident $wide:ident $signed:literal;)*) => {$(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            clippy::cast_lossless,
            clippy::unnecessary_cast,
            trivial_numeric_casts,
            unused_comparisons,
            reason = "one source for all types"
        )]
        impl Integer for $type {
            #[inline(always)]
            fn unary<const OP: u8>(self) -> Self {
                use UnaryOperation as Op;
                match OP {
                    op if op == Op::Negate as u8 => self.wrapping_neg(),
                    op if op == Op::Not as u8 => !self,
                    op if op == Op::Abs as u8 => if self < 0 { self.wrapping_neg() } else { self },
                    op if op == Op::Sign as u8 => {
                        (self > 0) as $type - if $signed { (self < 0) as $type } else { 0 }
                    }
                    op if op == Op::Square as u8 => self.wrapping_mul(self),
                    op if op == Op::BitwiseCount as u8 => self.count_ones() as $type,
                    _ => self,
                }
            }

            #[inline(always)]
            fn binary<const OP: u8>(self, b: Self) -> Self {
                use BinaryOperation as Op;
                let a = self;
                match OP {
                    op if op == Op::Add as u8 => a.wrapping_add(b),
                    op if op == Op::Subtract as u8 => a.wrapping_sub(b),
                    op if op == Op::Multiply as u8 => a.wrapping_mul(b),
                    op if op == Op::FloorDivide as u8 => {
                        let quotient = a.divided(b);
                        let rest = a.wrapping_sub(quotient.wrapping_mul(b));
                        // If remainder and divisor differ in sign, the floor is one lower.
                        let below = $signed && b != 0 && rest != 0 && (rest ^ b) < 0;
                        quotient.wrapping_sub(below as $type)
                    }
                    op if op == Op::Remainder as u8 => {
                        let rest = a.wrapping_sub(a.divided(b).wrapping_mul(b));
                        let moved = $signed && rest != 0 && (rest ^ b) < 0;
                        if b == 0 { 0 } else { rest.wrapping_add(if moved { b } else { 0 }) }
                    }
                    op if op == Op::Fmod as u8 => {
                        let rest = a.wrapping_sub(a.divided(b).wrapping_mul(b));
                        if b == 0 { 0 } else { rest }
                    }
                    op if op == Op::Power as u8 => {
                        if $signed && b < 0 {
                            // 1 divided by a power is 0, unless the base is 1 or −1.
                            return match a.magnitude() {
                                1 if a == 1 || b & 1 == 0 => 1,
                                1 => a,
                                _ => 0,
                            };
                        }
                        let (mut result, mut power, mut left) = (1 as $type, a, b as $unsigned);
                        while left != 0 {
                            if left & 1 == 1 {
                                result = result.wrapping_mul(power);
                            }
                            power = power.wrapping_mul(power);
                            left >>= 1;
                        }
                        result
                    }
                    op if op == Op::Minimum as u8 || op == Op::Fmin as u8 => if a < b { a } else { b },
                    op if op == Op::Maximum as u8 || op == Op::Fmax as u8 => if a < b { b } else { a },
                    op if op == Op::MultiplyHigh as u8 => {
                        if $unsigned::BITS == 64 {
                            (((a as $unsigned as u128) * (b as $unsigned as u128)) >> 64) as $type
                        } else {
                            (((a as $unsigned as u64) * (b as $unsigned as u64)) >> $unsigned::BITS) as $type
                        }
                    }
                    op if op == Op::And as u8 => a & b,
                    op if op == Op::Or as u8 => a | b,
                    op if op == Op::Xor as u8 => a ^ b,
                    // A negative distance exceeds the width, too.
                    op if op == Op::ShiftLeft as u8 => {
                        let shifted = a.wrapping_shl(b as u32);
                        if (b as $unsigned) < $unsigned::BITS as $unsigned { shifted } else { 0 }
                    }
                    op if op == Op::ShiftRight as u8 => {
                        let inside = (b as $unsigned) < $unsigned::BITS as $unsigned;
                        let most = ($unsigned::BITS - 1) as $type;
                        let shifted = a.wrapping_shr((if inside { b } else { most }) as u32);
                        if inside || $signed { shifted } else { 0 }
                    }
                    _ => a,
                }
            }

            #[inline(always)]
            fn divided(self, b: Self) -> Self {
                // The quotient is computed in floats that hold both numbers exactly, and twice as
                // many bits. It is then never rounded up to the next integer, and vectors have
                // instructions for it. Division by −1 is a negation, which wraps.
                let quotient = if $unsigned::BITS < 64 {
                    (self as $wide / b as $wide) as $type
                } else {
                    self.wrapping_div(if b == 0 { 1 } else { b })
                };
                if $signed && b.wrapping_add(1) == 0 {
                    self.wrapping_neg()
                } else if b == 0 {
                    0
                } else {
                    quotient
                }
            }
        }
    )*};
}

/// The magnitude, which is 1 for 1 and −1.
trait Magnitude {
    fn magnitude(self) -> u64;
}

macro_rules! magnitudes {
    ($($type:ident)*) => {$(
        impl Magnitude for $type {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "one source for all types")]
            fn magnitude(self) -> u64 {
                self.abs_diff(0) as u64
            }
        }
    )*};
}

magnitudes! { i8 u8 i16 u16 i32 u32 i64 u64 }

integers! {
    i8 u8 f32 true;
    u8 u8 f32 false;
    i16 u16 f32 true;
    u16 u16 f32 false;
    i32 u32 f64 true;
    u32 u32 f64 false;
    i64 u64 f64 true;
    u64 u64 f64 false;
}
