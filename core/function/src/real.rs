//! Functions written once for numbers of the host and for expressions.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Expression, elementary::Elementary};
use devarray_layout::Bool;

/// Emits elementary functions as methods.
macro_rules! one_argument {
    ($($(#[$doc:meta])* $method:ident $function:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        fn $method(self) -> Self {
            self.elementary(Elementary::$function, self)
        }
    )*};
}

/// Emits elementary functions of two arguments as methods.
macro_rules! two_arguments {
    ($($(#[$doc:meta])* $method:ident $function:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        fn $method(self, other: Self) -> Self {
            self.elementary(Elementary::$function, other)
        }
    )*};
}

/// A floating-point number: `f32` or `f64` on the host, or an [`Expression`] of one in a function
/// that is being recorded. Both give the same bits, except for a NaN.
///
/// ```
/// use devarray::{Array, Context, function::Real};
/// use devarray_mock::MockDevice;
///
/// fn gelu<R: Real>(x: R) -> R {
///     let c = R::constant;
///     c(0.5) * x * (c(1.0) + (c(0.797_884_560_8) * (x + c(0.044_715) * x * x * x)).tanh())
/// }
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = [-3.0_f32, -0.5, 0.0, 1.0, 10.0];
/// let on_device = Array::from_slice(&stream, &[5], &x)?.map(&stream, gelu)?;
/// assert_eq!(on_device.to_vec(&stream)?, x.map(gelu));
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// For a number of the host, methods of the standard library take precedence (`x.exp()`), and their
/// bits differ between systems. A function that is generic over `Real`, like the one above, uses
/// the methods of this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no floating-point number that functions are written for",
    note = "`f32`, `f64` and expressions of them are"
)]
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The result of comparisons: `bool`, or an expression of one.
    type Truth: Copy;

    /// A literal, rounded once to the type.
    fn constant(value: f64) -> Self;

    /// Whether this is less. False if one is NaN.
    fn less(self, other: Self) -> Self::Truth;

    /// Whether this is less or equal. False if one is NaN.
    fn less_equal(self, other: Self) -> Self::Truth;

    /// Whether both are equal. NaN equals nothing.
    fn equal(self, other: Self) -> Self::Truth;

    /// `yes` if the condition holds, otherwise `no`. Both are computed.
    fn select(condition: Self::Truth, yes: Self, no: Self) -> Self;

    /// `self * factor + summand`, rounded once.
    #[must_use]
    fn mul_add(self, factor: Self, summand: Self) -> Self;

    /// This without its sign.
    #[must_use]
    fn abs(self) -> Self;

    /// The square root, exactly rounded.
    #[must_use]
    fn sqrt(self) -> Self;

    /// The greatest integer that is not greater.
    #[must_use]
    fn floor(self) -> Self;

    /// The least integer that is not less.
    #[must_use]
    fn ceil(self) -> Self;

    /// The integer part.
    #[must_use]
    fn trunc(self) -> Self;

    /// The nearest integer, ties to the even one.
    #[must_use]
    fn round_ties_even(self) -> Self;

    /// The lesser; NaN if one is NaN, and −0 is less than +0.
    #[must_use]
    fn minimum(self, other: Self) -> Self;

    /// The greater; NaN if one is NaN, and −0 is less than +0.
    #[must_use]
    fn maximum(self, other: Self) -> Self;

    /// An elementary function. `other` is the second argument of a function that has two.
    #[must_use]
    fn elementary(self, function: Elementary, other: Self) -> Self;

    /// `1 / x`
    #[must_use]
    fn reciprocal(self) -> Self {
        Self::constant(1.0) / self
    }

    /// `1 / (1 + exp(-x))`
    #[must_use]
    fn sigmoid(self) -> Self {
        let one = Self::constant(1.0);
        one / (one + (-self).exp())
    }

    one_argument! {
        /// The cube root.
        cbrt Cbrt;
        /// e to this power.
        exp Exp;
        /// 2 to this power.
        exp2 Exp2;
        /// e to this power, minus 1, exact near 0.
        exp_m1 Expm1;
        /// The natural logarithm.
        ln Log;
        /// The logarithm of base 2.
        log2 Log2;
        /// The logarithm of base 10.
        log10 Log10;
        /// The natural logarithm of 1 plus this, exact near 0.
        ln_1p Log1p;
        /// The sine, of radians.
        sin Sin;
        /// The cosine, of radians.
        cos Cos;
        /// The tangent, of radians.
        tan Tan;
        /// The arc sine.
        asin Asin;
        /// The arc cosine.
        acos Acos;
        /// The arc tangent.
        atan Atan;
        /// The hyperbolic sine.
        sinh Sinh;
        /// The hyperbolic cosine.
        cosh Cosh;
        /// The hyperbolic tangent.
        tanh Tanh;
        /// The inverse of the hyperbolic sine.
        asinh Asinh;
        /// The inverse of the hyperbolic cosine.
        acosh Acosh;
        /// The inverse of the hyperbolic tangent.
        atanh Atanh;
        /// The error function.
        erf Erf;
        /// 1 minus the error function, exact where that is small.
        erfc Erfc;
    }

    two_arguments! {
        /// The angle of the point (`other`, this).
        atan2 Atan2;
        /// `sqrt(x * x + y * y)` without overflow on the way.
        hypot Hypot;
        /// This to a power.
        pow Pow;
    }
}

macro_rules! on_the_host {
    ($($type:ident $evaluate:ident;)*) => {$(
        impl Real for $type {
            type Truth = bool;

            #[allow(clippy::cast_possible_truncation, reason = "rounded to the type, as said")]
            #[allow(clippy::unnecessary_cast, trivial_numeric_casts, reason = "not of the narrower type")]
            fn constant(value: f64) -> Self {
                value as Self
            }

            fn less(self, other: Self) -> bool {
                self < other
            }

            fn less_equal(self, other: Self) -> bool {
                self <= other
            }

            fn equal(self, other: Self) -> bool {
                self == other
            }

            fn select(condition: bool, yes: Self, no: Self) -> Self {
                if condition { yes } else { no }
            }

            fn mul_add(self, factor: Self, summand: Self) -> Self {
                $type::mul_add(self, factor, summand)
            }

            fn abs(self) -> Self {
                $type::abs(self)
            }

            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }

            fn floor(self) -> Self {
                $type::floor(self)
            }

            fn ceil(self) -> Self {
                $type::ceil(self)
            }

            fn trunc(self) -> Self {
                $type::trunc(self)
            }

            fn round_ties_even(self) -> Self {
                $type::round_ties_even(self)
            }

            fn minimum(self, other: Self) -> Self {
                let is_first = self < other || (self == other && self.is_sign_negative());
                if self.is_nan() || (is_first && !other.is_nan()) { self } else { other }
            }

            fn maximum(self, other: Self) -> Self {
                let is_first = self > other || (self == other && self.is_sign_positive());
                if self.is_nan() || (is_first && !other.is_nan()) { self } else { other }
            }

            fn elementary(self, function: Elementary, other: Self) -> Self {
                function.$evaluate(self, other)
            }
        }
    )*};
}

on_the_host! {
    f32 of_f32;
    f64 of_f64;
}

macro_rules! in_expressions {
    ($($type:ident)*) => {$(
        impl Real for Expression<$type> {
            type Truth = Expression<Bool>;

            fn constant(value: f64) -> Self {
                Self::constant(<$type as Real>::constant(value))
            }

            fn less(self, other: Self) -> Expression<Bool> {
                self.less(other)
            }

            fn less_equal(self, other: Self) -> Expression<Bool> {
                self.less_equal(other)
            }

            fn equal(self, other: Self) -> Expression<Bool> {
                self.equal(other)
            }

            fn select(condition: Expression<Bool>, yes: Self, no: Self) -> Self {
                condition.select(yes, no)
            }

            fn mul_add(self, factor: Self, summand: Self) -> Self {
                self.mul_add(factor, summand)
            }

            fn abs(self) -> Self {
                self.abs()
            }

            fn sqrt(self) -> Self {
                self.sqrt()
            }

            fn floor(self) -> Self {
                self.floor()
            }

            fn ceil(self) -> Self {
                self.ceil()
            }

            fn trunc(self) -> Self {
                self.trunc()
            }

            fn round_ties_even(self) -> Self {
                self.round_ties_even()
            }

            fn minimum(self, other: Self) -> Self {
                self.minimum(other)
            }

            fn maximum(self, other: Self) -> Self {
                self.maximum(other)
            }

            fn elementary(self, function: Elementary, other: Self) -> Self {
                self.of_elementary(function, other)
            }
        }
    )*};
}

in_expressions! { f32 f64 }
