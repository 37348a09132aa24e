//! Rust's operators on expressions.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Expression, IntoExpression};
use crate::{
    Bool,
    function::{BinaryOperation, Bits, Float, Number, Signed, UnaryOperation, WholeNumber},
};

/// An operator between two expressions, and between an expression and a literal.
macro_rules! operator {
    ($($trait:ident $method:ident $operation:ident $bound:ident;)*) => {$(
        impl<T: $bound, R: IntoExpression<T>> $trait<R> for Expression<T> {
            type Output = Self;

            fn $method(self, right: R) -> Self {
                self.binary(BinaryOperation::$operation, right)
            }
        }
    )*};
}

operator! {
    Add add Add Number;
    Sub sub Subtract Number;
    Mul mul Multiply Number;
    Div div Divide Float;
    BitAnd bitand And Bits;
    BitOr bitor Or Bits;
    BitXor bitxor Xor Bits;
    Shl shl ShiftLeft WholeNumber;
    Shr shr ShiftRight WholeNumber;
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

/// A literal on the left of an operator.
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
