//! Rust's operators on expressions.

use std::{
    cmp::Ordering,
    ops::{
        Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
        MulAssign, Neg, Not, Rem, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
    },
};

use super::{Expression, IntoExpression};
use crate::{BinaryOperation, Bits, Float, Number, Signed, UnaryOperation, WholeNumber};
use devarray_layout::Bool;

/// Emits an operator between two expressions, and between an expression and a literal.
macro_rules! operator {
    ($($trait:ident $method:ident $assign:ident $assigned:ident $operation:ident $bound:ident $right:ident;)*) => {$(
        impl<T: $bound, R: $right<T>> $trait<R> for Expression<T> {
            type Output = Self;

            fn $method(self, right: R) -> Self {
                self.binary(BinaryOperation::$operation, right)
            }
        }

        impl<T: $bound, R: $right<T>> $assign<R> for Expression<T> {
            fn $assigned(&mut self, right: R) {
                *self = self.binary(BinaryOperation::$operation, right);
            }
        }
    )*};
}

operator! {
    Add add AddAssign add_assign Add Number IntoExpression;
    Sub sub SubAssign sub_assign Subtract Number IntoExpression;
    Mul mul MulAssign mul_assign Multiply Number IntoExpression;
    Div div DivAssign div_assign Divide Number Divisor;
    BitAnd bitand BitAndAssign bitand_assign And Bits IntoExpression;
    BitOr bitor BitOrAssign bitor_assign Or Bits IntoExpression;
    BitXor bitxor BitXorAssign bitxor_assign Xor Bits IntoExpression;
    Shl shl ShlAssign shl_assign ShiftLeft WholeNumber IntoExpression;
    Shr shr ShrAssign shr_assign ShiftRight WholeNumber IntoExpression;
}

/// The right side of `/`: the side of an operator, but only next to floats.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not divide an `Expression<{T}>`",
    note = "`/` is the quotient of floats: integers have `floor_divide`, `remainder` and `fmod`, or are made floats by `cast`",
    note = "a literal has the type of the expression; beside floats it may also be an `f64` or an `i32`"
)]
#[expect(unnameable_types, reason = "there for what the compiler says")]
pub trait Divisor<T>: IntoExpression<T> {}

impl<T: Float, R: IntoExpression<T>> Divisor<T> for R {}

/// The right side of Rust's comparisons next to an expression. No type implements it: the trait
/// exists for the compiler's message.
#[diagnostic::on_unimplemented(
    message = "Rust's comparison cannot answer for the elements of an `Expression<{T}>`",
    label = "write `x.gt(y)`, `x.ge(y)`, `x.lt(y)`, `x.le(y)`, `x.eq(y)` or `x.ne(y)`",
    note = "the closure runs once, before there are elements, so Rust's `>` and `if` cannot ask for them",
    note = "`x.gt(y)` is an `Expression<Bool>`, and `x.gt(y).select(a, b)` chooses for each element; combine with `&`, `|` and `!`"
)]
#[expect(unnameable_types, reason = "there for what the compiler says")]
pub trait ComparedByRust<T> {}

impl<T, R: ComparedByRust<T>> PartialEq<R> for Expression<T> {
    fn eq(&self, _: &R) -> bool {
        false
    }
}

impl<T, R: ComparedByRust<T>> PartialOrd<R> for Expression<T> {
    fn partial_cmp(&self, _: &R) -> Option<Ordering> {
        None
    }
}

/// The right side of `%` next to an expression. No type implements it: the trait exists for the
/// compiler's message.
#[diagnostic::on_unimplemented(
    message = "`%` of an `Expression<{T}>` could mean two things",
    label = "write `x.fmod(y)` or `x.remainder(y)`",
    note = "`fmod` has the sign of the dividend, as Rust's `%`; `remainder` has the sign of the divisor, as NumPy's"
)]
#[expect(unnameable_types, reason = "there for what the compiler says")]
pub trait DivisorOfRemainder<T> {}

impl<T: Number, R: DivisorOfRemainder<T>> Rem<R> for Expression<T> {
    type Output = Self;

    fn rem(self, _: R) -> Self {
        self
    }
}

impl<T: Signed> Neg for Expression<T> {
    type Output = Self;

    fn neg(self) -> Self {
        self.unary(UnaryOperation::Negate)
    }
}

impl<T: Bits> Not for Expression<T> {
    type Output = Self;

    fn not(self) -> Self {
        self.unary(UnaryOperation::Not)
    }
}

/// Emits a literal on the left of an operator.
macro_rules! literal_first {
    ($($type:ty: $($trait:ident $method:ident),*;)*) => {$($(
        impl $trait<Expression<$type>> for $type {
            type Output = Expression<$type>;

            fn $method(self, right: Expression<$type>) -> Expression<$type> {
                Expression::constant(self).$method(right)
            }
        }
    )*)*};
}

literal_first! {
    Bool: BitAnd bitand, BitOr bitor, BitXor bitxor;
    i8: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    u8: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    i16: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    u16: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    i32: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    u32: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    i64: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    u64: Add add, Sub sub, Mul mul, BitAnd bitand, BitOr bitor, BitXor bitxor, Shl shl, Shr shr;
    f32: Add add, Sub sub, Mul mul, Div div;
    f64: Add add, Sub sub, Mul mul, Div div;
}

#[cfg(feature = "half")]
literal_first! {
    half::f16: Add add, Sub sub, Mul mul, Div div;
    half::bf16: Add add, Sub sub, Mul mul, Div div;
}

/// Emits a literal of another type on the left of an expression of floats.
macro_rules! number_first {
    ($($type:ty, $float:ty: $($trait:ident $method:ident),*;)*) => {$($(
        impl $trait<Expression<$float>> for $type {
            type Output = Expression<$float>;

            fn $method(self, right: Expression<$float>) -> Expression<$float> {
                right.lit(self).$method(right)
            }
        }
    )*)*};
}

number_first! {
    i32, f32: Add add, Sub sub, Mul mul, Div div;
    i32, f64: Add add, Sub sub, Mul mul, Div div;
}

#[cfg(feature = "half")]
number_first! {
    i32, half::f16: Add add, Sub sub, Mul mul, Div div;
    i32, half::bf16: Add add, Sub sub, Mul mul, Div div;
    f64, half::f16: Add add, Sub sub, Mul mul, Div div;
    f64, half::bf16: Add add, Sub sub, Mul mul, Div div;
}
