//! Numbers next to expressions.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Shl, Shr, Sub};

use super::{Expression, IntoExpression};
use crate::{
    Bits, Computable, Float, FunctionError, Number, TakesLiteral, WholeNumber,
    literal::{float_bits, integer_bits},
};
use devarray_layout::Bool;

impl<T: Computable> IntoExpression<T> for Expression<T> {
    fn into_expression(self) -> Self {
        self
    }
}

impl IntoExpression<Bool> for bool {
    fn into_expression(self) -> Expression<Bool> {
        Expression::constant(self.into())
    }
}

impl<T: TakesLiteral> IntoExpression<T> for f64 {
    fn into_expression(self) -> Expression<T> {
        lit(self).into_expression()
    }
}

impl<T: TakesLiteral> IntoExpression<T> for i32 {
    fn into_expression(self) -> Expression<T> {
        lit(self).into_expression()
    }
}

/// Numbers next to expressions of their own type.
macro_rules! of_its_own {
    ($($type:ty),*) => {$(
        impl IntoExpression<$type> for $type {
            fn into_expression(self) -> Expression<$type> {
                Expression::constant(self)
            }
        }
    )*};
}

of_its_own!(Bool, i8, u8, i16, u16, i32, u32, i64, u64, f32);

#[cfg(feature = "half")]
of_its_own!(half::f16, half::bf16);

/// The first value that [`select`](Expression::select) chooses from. It determines the type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be chosen for an `Expression<{T}>`",
    note = "the first value of `select` is an expression, or a number of its type; where the type is a parameter, `lit(0.5)` with `devarray::function::lit`"
)]
pub trait Choice<T> {
    /// Makes the expression.
    fn chosen(self) -> Expression<T>;
}

impl<T: Computable> Choice<T> for T {
    fn chosen(self) -> Expression<T> {
        Expression::constant(self)
    }
}

impl<T: Computable> Choice<T> for Expression<T> {
    fn chosen(self) -> Self {
        self
    }
}

impl<T: Computable> Choice<T> for Lit {
    fn chosen(self) -> Expression<T> {
        self.into_expression()
    }
}

impl Choice<Bool> for bool {
    fn chosen(self) -> Expression<Bool> {
        self.into_expression()
    }
}

/// A number that takes the type of the expression beside it, on either side. Made by [`lit`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lit(Written);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Written {
    Integer(i128),
    Float(f64),
}

/// Makes a literal of the type of the expression next to it, even if that type is a parameter.
///
/// An integer must be exact in that type. A float is rounded to it once, must not overflow it, and
/// cannot stand next to integers. Otherwise the function is an error.
///
/// ```
/// use devarray::{Array, Compute, Context, Result, StreamHandle, function::{Number, lit}};
///
/// fn odd<T: Number, D: Compute>(stream: &StreamHandle<D>, x: &Array<T, D>) -> Result<Array<T, D>> {
///     x.map(stream, |x| lit(2) * x + lit(1))
/// }
///
/// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2], &[3_u8, 4])?;
/// assert_eq!(odd(&stream, &x)?.to_vec(&stream)?, [7, 9]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[must_use]
pub fn lit(value: impl Into<Lit>) -> Lit {
    value.into()
}

macro_rules! from_integers {
    ($($type:ty),*) => {$(
        impl From<$type> for Lit {
            fn from(value: $type) -> Self {
                Self(Written::Integer(value.into()))
            }
        }
    )*};
}

from_integers!(i8, u8, i16, u16, i32, u32, i64, u64);

impl From<f32> for Lit {
    fn from(value: f32) -> Self {
        Self(Written::Float(value.into()))
    }
}

impl From<f64> for Lit {
    fn from(value: f64) -> Self {
        Self(Written::Float(value))
    }
}

impl Lit {
    fn bits<T: Computable>(self) -> Result<u64, FunctionError> {
        match self.0 {
            Written::Integer(value) => integer_bits(value, T::TYPE),
            Written::Float(value) => float_bits(value, T::TYPE),
        }
    }
}

impl<T: Computable> IntoExpression<T> for Lit {
    fn into_expression(self) -> Expression<T> {
        Expression::made(|builder| builder.constant(T::TYPE, self.bits::<T>()?))
    }
}

impl<T: Computable> Expression<T> {
    /// Makes a literal of this expression's type, like [`lit`].
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2], &[2.0_f32, 4.0])?;
    /// let found = x.map(&stream, |x| x.lit(1) / x)?;
    /// assert_eq!(found.to_vec(&stream)?, [0.5, 0.25]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn lit(self, value: impl Into<Lit>) -> Self {
        lit(value).into_expression()
    }
}

/// The trait that a number's type would need to stand on the left of expressions of another type.
/// No type implements it: the trait exists for the compiler's message.
#[diagnostic::on_unimplemented(
    message = "a Rust number cannot stand on the left of an `Expression<{Self}>` here",
    label = "no number of that type",
    note = "on the left, a literal has the type of the expression: `2.0 * x` beside an `Expression<f32>`",
    note = "where the type is a parameter, write the literal on the right, `x * 2.0`, or `lit(2.0) * x` with `devarray::function::lit`"
)]
#[expect(unnameable_types, reason = "there for what the compiler says")]
pub trait NumberFirst: Computable {}

/// Emits operators with a [`Lit`] on the left, and the refusal of other numbers there.
macro_rules! literal_first {
    ($($trait:ident $method:ident $bound:ident: $($refused:ty),*;)*) => {$(
        impl<T: $bound> $trait<Expression<T>> for Lit {
            type Output = Expression<T>;

            fn $method(self, right: Expression<T>) -> Expression<T> {
                let left: Expression<T> = self.into_expression();
                left.$method(right)
            }
        }

        $(
            impl<T: NumberFirst> $trait<Expression<T>> for $refused {
                type Output = Expression<T>;

                fn $method(self, _: Expression<T>) -> Expression<T> {
                    lit(self).into_expression()
                }
            }
        )*
    )*};
}

literal_first! {
    Add add Number: f64, i32;
    Sub sub Number: f64, i32;
    Mul mul Number: f64, i32;
    Div div Float: f64, i32;
    BitAnd bitand Bits: i32;
    BitOr bitor Bits: i32;
    BitXor bitxor Bits: i32;
    Shl shl WholeNumber: i32;
    Shr shr WholeNumber: i32;
}
