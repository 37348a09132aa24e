//! The functions of the language as methods of expressions.

use super::{Choice, Expression, IntoExpression};
use crate::{
    BinaryOperation, Computable, Float, Number, UnaryOperation, WholeNumber, composition::Composition,
};
use devarray_layout::Bool;

/// Emits methods of one argument.
macro_rules! of_one {
    ($bound:ident: $($(#[$doc:meta])* $method:ident $operation:ident;)*) => {
        impl<T: $bound> Expression<T> {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $method(self) -> Self {
                    self.unary(UnaryOperation::$operation)
                }
            )*
        }
    };
}

/// Emits methods of one argument that return a truth value.
macro_rules! questions {
    ($bound:ident: $($(#[$doc:meta])* $method:ident $operation:ident;)*) => {
        impl<T: $bound> Expression<T> {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $method(self) -> Expression<Bool> {
                    self.question(UnaryOperation::$operation)
                }
            )*
        }
    };
}

/// Emits methods of two arguments.
macro_rules! of_two {
    ($bound:ident: $($(#[$doc:meta])* $method:ident $operation:ident;)*) => {
        impl<T: $bound> Expression<T> {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $method(self, other: impl IntoExpression<T>) -> Self {
                    self.binary(BinaryOperation::$operation, other)
                }
            )*
        }
    };
}

/// Emits comparisons.
macro_rules! comparisons {
    ($bound:ident: $($(#[$doc:meta])* $method:ident $operation:ident;)*) => {
        impl<T: $bound> Expression<T> {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $method(self, other: impl IntoExpression<T>) -> Expression<Bool> {
                    self.comparison(BinaryOperation::$operation, other)
                }
            )*
        }
    };
}

of_one! { Number:
    /// `x * x`.
    square Square;
    /// Drops the sign. The least integer stays itself.
    #[doc(alias = "absolute")]
    abs Abs;
    /// −1, 0 or 1; NaN stays NaN, and zeros give +0.
    sign Sign;
}

of_one! { WholeNumber:
    /// The number of bits set, in two's complement.
    #[doc(alias = "popcount", alias = "bitwise_count")]
    count_ones BitwiseCount;
}

of_one! { Float:
    /// The square root, exactly rounded.
    sqrt Sqrt;
    /// `1 / x`.
    reciprocal Reciprocal;
    /// `1 / sqrt(x)`.
    rsqrt Rsqrt;
    /// The cube root.
    cbrt Cbrt;
    /// e to this power.
    exp Exp;
    /// 2 to this power.
    exp2 Exp2;
    /// e to this power, minus 1, exact near 0.
    expm1 Expm1;
    /// The natural logarithm.
    #[doc(alias = "log")]
    ln Log;
    /// The logarithm of base 2.
    log2 Log2;
    /// The logarithm of base 10.
    log10 Log10;
    /// The natural logarithm of 1 plus this, exact near 0.
    #[doc(alias = "log1p")]
    ln_1p Log1p;
    /// The sine, of radians.
    sin Sin;
    /// The cosine, of radians.
    cos Cos;
    /// The tangent, of radians.
    tan Tan;
    /// The arc sine.
    #[doc(alias = "arcsin")]
    asin Asin;
    /// The arc cosine.
    #[doc(alias = "arccos")]
    acos Acos;
    /// The arc tangent.
    #[doc(alias = "arctan")]
    atan Atan;
    /// The hyperbolic sine.
    sinh Sinh;
    /// The hyperbolic cosine.
    cosh Cosh;
    /// The hyperbolic tangent.
    tanh Tanh;
    /// The inverse of the hyperbolic sine.
    #[doc(alias = "arcsinh")]
    asinh Asinh;
    /// The inverse of the hyperbolic cosine.
    #[doc(alias = "arccosh")]
    acosh Acosh;
    /// The inverse of the hyperbolic tangent.
    #[doc(alias = "arctanh")]
    atanh Atanh;
    /// The error function.
    erf Erf;
    /// 1 minus the error function, exact where that is small.
    erfc Erfc;
    /// `1 / (1 + exp(-x))`, rounded at each step: 0 where `exp(-x)` overflows.
    #[doc(alias = "expit")]
    sigmoid Sigmoid;
    /// The greatest integer that is not greater.
    floor Floor;
    /// The least integer that is not less.
    ceil Ceil;
    /// The integer part.
    #[doc(alias = "fix")]
    trunc Trunc;
    /// The nearest integer, ties to the even one.
    #[doc(alias = "rint", alias = "around")]
    round_ties_even Rint;
}

of_two! { Number:
    /// The quotient, rounded down. For integers, `x // 0` is 0.
    floor_divide FloorDivide;
    /// The remainder with the sign of the divisor. For integers, `x % 0` is 0.
    #[doc(alias = "mod")]
    remainder Remainder;
    /// The remainder with the sign of the dividend. For integers, `fmod(x, 0)` is 0.
    fmod Fmod;
    /// This to a power. Integers wrap; a negative exponent gives 0, except with the bases 1 and −1,
    /// where the value is exact.
    #[doc(alias = "power")]
    pow Power;
    /// The lesser; NaN if one is NaN, and −0 is less than +0.
    minimum Minimum;
    /// The greater; NaN if one is NaN, and −0 is less than +0.
    maximum Maximum;
    /// The lesser; if one is NaN, the other.
    fmin Fmin;
    /// The greater; if one is NaN, the other.
    fmax Fmax;
}

of_two! { Float:
    /// The angle of the point (`other`, this).
    #[doc(alias = "arctan2")]
    atan2 Atan2;
    /// `sqrt(x * x + y * y)` without overflow on the way.
    hypot Hypot;
    /// This with the sign of another.
    copysign Copysign;
}

impl<T: Float> Expression<T> {
    /// The next number of the type in the direction of another. Infinity follows the greatest number.
    /// If both are equal, the result is the other; if one is NaN, it is NaN.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2], &[1.0_f32, 0.0])?;
    /// let next = x.map(&stream, |x| x.next_after(2.0))?;
    /// assert_eq!(next.to_vec(&stream)?, [1.0 + f32::EPSILON, f32::from_bits(1)]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "nextafter")]
    #[must_use]
    pub fn next_after(self, other: impl IntoExpression<T>) -> Self {
        self.composed(Composition::NextAfter, other)
    }

    /// The logarithm of `exp(x) + exp(y)`, without overflow on the way:
    /// `maximum(x, y) + log1p(exp(-abs(x - y)))`, rounded at each step; halves are computed in `f32` and
    /// rounded once. Equal infinities give that infinity. The result is NaN if one is NaN.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2], &[-2000.0_f64, f64::NEG_INFINITY])?;
    /// let sums = x.map(&stream, |x| x.log_add_exp(x))?;
    /// assert_eq!(sums.to_vec(&stream)?, [-2000.0 + 2.0_f64.ln(), f64::NEG_INFINITY]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "logaddexp")]
    #[must_use]
    pub fn log_add_exp(self, other: impl IntoExpression<T>) -> Self {
        self.composed(Composition::LogAddExp, other)
    }

    fn composed(self, which: Composition, other: impl IntoExpression<T>) -> Self {
        let other = other.into_expression();
        Self::applied([self.part(), other.part()], |builder, [x, y]| which.build(builder, x, y))
    }
}

impl<T: WholeNumber> Expression<T> {
    /// The high half of the exact product of unsigned integers. Signed integers are an error.
    #[doc(alias = "mulhi")]
    #[must_use]
    pub fn multiply_high(self, other: impl IntoExpression<T>) -> Self {
        self.binary(BinaryOperation::MultiplyHigh, other)
    }
}

comparisons! { Computable:
    /// Whether both are equal. NaN equals nothing.
    equal Equal;
    /// Whether they differ. NaN differs from everything.
    not_equal NotEqual;
}

comparisons! { Number:
    /// Whether this is less. False if one is NaN.
    less Less;
    /// Whether this is less or equal. False if one is NaN.
    less_equal LessEqual;
    /// Whether this is greater. False if one is NaN.
    greater Greater;
    /// Whether this is greater or equal. False if one is NaN.
    greater_equal GreaterEqual;
}

questions! { Float:
    /// Whether it is NaN.
    #[doc(alias = "isnan")]
    is_nan IsNan;
    /// Whether it is infinite.
    #[doc(alias = "isinf")]
    is_infinite IsInf;
    /// Whether an element is neither infinite nor NaN.
    #[doc(alias = "isfinite")]
    is_finite IsFinite;
    /// Whether the sign is set. Zeros have a sign too.
    #[doc(alias = "signbit")]
    is_sign_negative Signbit;
}

impl<T: Number> Expression<T> {
    /// `minimum(maximum(x, low), high)`.
    #[must_use]
    pub fn clip(self, low: impl IntoExpression<T>, high: impl IntoExpression<T>) -> Self {
        let (low, high) = (low.into_expression().part(), high.into_expression().part());
        Self::applied([self.part(), low, high], |builder, [x, low, high]| builder.clip(x, low, high))
    }
}

impl<T: Float> Expression<T> {
    /// `x * factor + summand`, rounded once. `x * factor + summand` itself rounds twice.
    #[doc(alias = "fma")]
    #[must_use]
    pub fn mul_add(self, factor: impl IntoExpression<T>, summand: impl IntoExpression<T>) -> Self {
        let (factor, summand) = (factor.into_expression().part(), summand.into_expression().part());
        Self::applied([self.part(), factor, summand], |builder, [a, b, c]| builder.fma(a, b, c))
    }
}

impl<T: Computable> Expression<T> {
    /// Casts like Rust's `as`. Floats to integers saturate, and NaN becomes 0; a cast to a narrower integer
    /// wraps; a cast to a float rounds to nearest, ties to even. `Bool` becomes 0 or 1, and a cast to
    /// `Bool` means "not 0".
    #[doc(alias = "astype")]
    #[must_use]
    pub fn cast<U: Computable>(self) -> Expression<U> {
        Expression::applied([self.part()], |builder, [a]| builder.cast(a, U::TYPE))
    }

    /// Takes the same bits as another type of the same width. `Bool`, or another width, is an error.
    #[must_use]
    pub fn bitcast<U: Computable>(self) -> Expression<U> {
        Expression::applied([self.part()], |builder, [a]| builder.bitcast(a, U::TYPE))
    }
}

impl Expression<Bool> {
    /// `yes` where this is true, otherwise `no`. Both are computed.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[3], &[-1.0_f32, 0.5, 3.0])?;
    /// let found = x.map(&stream, |x| (x.gt(0.0) & x.lt(1.0)).select(x, 0.0))?;
    /// assert_eq!(found.to_vec(&stream)?, [0.0, 0.5, 0.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "where")]
    #[must_use]
    pub fn select<T: Computable>(self, yes: impl Choice<T>, no: impl IntoExpression<T>) -> Expression<T> {
        let (yes, no) = (yes.chosen().part(), no.into_expression().part());
        Expression::applied([self.part(), yes, no], |builder, [c, a, b]| builder.select(c, a, b))
    }
}

impl Expression<i64> {
    /// The position of the element along an axis of the shape that the operands have together,
    /// counted from the front. In a function, and in a scan, that is the shape of the result. In a
    /// reduction it is the shape before anything is reduced: the reduced axes count as well, and
    /// the axes after them keep their numbers.
    ///
    /// ```
    /// use devarray::{Array, Context, function::{Expression, Operands, ReduceOperation, Reduction}};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2, 3], &[1_i64, 2, 3, 4, 5, 6])?;
    /// // Axis 0 is reduced, and axis 1 is still axis 1: each element times its column.
    /// let columns = Reduction::new(ReduceOperation::Sum).axes(&[0]);
    /// let sums: Array<i64, _> = (&x,).reduce(&stream, &columns, |(x,)| x * Expression::position(1))?;
    /// assert_eq!(sums.to_vec(&stream)?, [0, 7, 18]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn position(axis: usize) -> Self {
        Self::made(|builder| builder.position(axis))
    }
}
