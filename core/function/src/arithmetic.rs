//! Arithmetic over two kinds of values: plain numbers of the host, and registers of a program under
//! construction.
//!
//! An elementary function is written once, generic over [`Arithmetic`]. Evaluated with [`Host`], it
//! computes the result. Evaluated with [`Traced`], it pushes the primitives that compute the same
//! bits. Nothing here branches on a value: [`Value::when`] computes both sides and selects one.

mod host;
mod traced;

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Sub};

pub(super) use host::{Host, Numbers};
pub(super) use traced::{Handle, Traced};

/// A family of values that compute with each other: truth values, bits and floats.
pub(super) trait Arithmetic: Copy {
    type Bool: Copy + BitAnd<Output = Self::Bool> + BitOr<Output = Self::Bool> + Not<Output = Self::Bool>;
    type B32: Bits<Self, Literal = u32>;
    type B64: Bits<Self, Literal = u64>;
    type F32: Float<Self, Literal = f32, Bits = Self::B32>;
    type F64: Float<Self, Literal = f64, Bits = Self::B64>;

    /// Whether arguments may need the rare part of a function, such as the sine of a huge number. A
    /// caller who knows that no argument needs it leaves the part out; the host does so for a block
    /// after looking at it. The bits are the same.
    const RARE: bool = true;

    /// Widens exactly.
    fn widen(x: Self::F32) -> Self::F64;
    /// Rounds to nearest even.
    fn narrow(x: Self::F64) -> Self::F32;
    /// Takes the low half.
    fn low(x: Self::B64) -> Self::B32;
    /// Extends by zeros.
    fn zero_extend(x: Self::B32) -> Self::B64;
    /// Converts a signed integer, exactly.
    fn signed_b32_to_f64(x: Self::B32) -> Self::F64;
    /// Converts a signed integer, rounded to nearest even.
    fn signed_to_f64(x: Self::B64) -> Self::F64;
    /// Converts an unsigned integer, rounded to nearest even.
    fn unsigned_to_f64(x: Self::B64) -> Self::F64;

    /// Takes the high half.
    #[inline(always)]
    fn high(x: Self::B64) -> Self::B32 {
        Self::low(x.shr(32))
    }
}

/// The operations of every value.
pub(super) trait Value<A: Arithmetic>: Copy {
    type Literal: Copy;

    /// A constant, in the program of `self`.
    fn constant(self, literal: Self::Literal) -> Self;
    /// `self` if `condition`, else `other`.
    fn when(self, condition: A::Bool, other: Self) -> Self;
    /// Whether both are the same number. False if one is NaN; −0 equals +0.
    fn same(self, other: Self) -> A::Bool;
    /// Like [`same`](Self::same), with a constant.
    #[inline(always)]
    fn is(self, literal: Self::Literal) -> A::Bool {
        self.same(self.constant(literal))
    }
}

/// Integers of one width, without a sign.
pub(super) trait Bits<A: Arithmetic>:
    Value<A>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + BitAnd<Self::Literal, Output = Self>
    + BitOr<Self::Literal, Output = Self>
    + BitXor<Self::Literal, Output = Self>
{
    /// Adds, and wraps.
    fn plus(self, other: Self) -> Self;
    /// Subtracts, and wraps.
    fn minus(self, other: Self) -> Self;
    /// Multiplies, and wraps.
    fn times(self, other: Self) -> Self;
    /// The high half of the unsigned product.
    fn times_high(self, other: Self) -> Self;
    /// Shifts left by a distance within the width.
    fn shift_left(self, distance: A::B32) -> Self;
    /// Shifts right by a distance within the width, zeros in.
    fn shift_right(self, distance: A::B32) -> Self;
    /// Shifts left by a constant.
    fn shl(self, distance: u32) -> Self;
    /// Shifts right by a constant, zeros in.
    fn shr(self, distance: u32) -> Self;
    /// Shifts right by a constant, copies of the sign bit in.
    fn shr_signed(self, distance: u32) -> Self;
    fn less_signed(self, other: Self) -> A::Bool;
    fn less_unsigned(self, other: Self) -> A::Bool;

    /// Wraps.
    #[inline(always)]
    fn plus_literal(self, literal: Self::Literal) -> Self {
        self.plus(self.constant(literal))
    }

    /// Wraps.
    #[inline(always)]
    fn minus_literal(self, literal: Self::Literal) -> Self {
        self.minus(self.constant(literal))
    }

    #[inline(always)]
    fn below(self, literal: Self::Literal) -> A::Bool {
        self.less_unsigned(self.constant(literal))
    }
}

/// Floats: IEEE 754, rounded to nearest even, never contracted.
pub(super) trait Float<A: Arithmetic>:
    Value<A>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Add<Self::Literal, Output = Self>
    + Sub<Self::Literal, Output = Self>
    + Mul<Self::Literal, Output = Self>
{
    type Bits: Bits<A>;

    /// The quotient, exactly rounded.
    fn over(self, other: Self) -> Self;
    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    fn magnitude(self) -> Self;
    fn square_root(self) -> Self;
    fn towards_zero(self) -> Self;
    fn less(self, other: Self) -> A::Bool;
    fn less_or_same(self, other: Self) -> A::Bool;
    fn bits(self) -> Self::Bits;
    fn of_bits(bits: Self::Bits) -> Self;

    #[inline(always)]
    fn below(self, literal: Self::Literal) -> A::Bool {
        self.less(self.constant(literal))
    }

    #[inline(always)]
    fn above(self, literal: Self::Literal) -> A::Bool {
        self.constant(literal).less(self)
    }

    /// `self * b + c` with a constant `b`.
    #[inline(always)]
    fn fma_by(self, b: Self::Literal, c: Self) -> Self {
        self.fma(self.constant(b), c)
    }

    /// `self * b + c` with a constant `c`.
    #[inline(always)]
    fn fma_plus(self, b: Self, c: Self::Literal) -> Self {
        self.fma(b, self.constant(c))
    }

    #[inline(always)]
    fn is_nan(self) -> A::Bool {
        !self.same(self)
    }
}

/// `c[0] + c[1] x + c[2] x² …` by Horner's rule, one `fma` a step.
#[inline(always)]
pub(super) fn polynomial<A: Arithmetic, const N: usize>(x: A::F64, c: &[f64; N]) -> A::F64 {
    let mut sum = x.constant(c[N - 1]);
    let mut at = N - 1;
    while at > 0 {
        at -= 1;
        sum = sum.fma_plus(x, c[at]);
    }
    sum
}
