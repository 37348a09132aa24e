//! Functions by their names in Rust's standard library, with Rust's meaning, where the names differ
//! from the language's.

use super::{Expression, IntoExpression, lit};
use crate::{BinaryOperation, Computable, ElementType, Float, Number, Signed, WholeNumber};
use devarray_layout::Bool;

impl<T: Computable> Expression<T> {
    /// Whether both are equal: [`equal`](Self::equal).
    #[must_use]
    pub fn eq(self, other: impl IntoExpression<T>) -> Expression<Bool> {
        self.equal(other)
    }

    /// Whether they differ: [`not_equal`](Self::not_equal).
    #[must_use]
    pub fn ne(self, other: impl IntoExpression<T>) -> Expression<Bool> {
        self.not_equal(other)
    }
}

impl<T: Number> Expression<T> {
    /// Whether this is less: [`less`](Self::less).
    #[must_use]
    pub fn lt(self, other: impl IntoExpression<T>) -> Expression<Bool> {
        self.less(other)
    }

    /// Whether this is less or equal: [`less_equal`](Self::less_equal).
    #[must_use]
    pub fn le(self, other: impl IntoExpression<T>) -> Expression<Bool> {
        self.less_equal(other)
    }

    /// Whether this is greater: [`greater`](Self::greater).
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2], &[-1.0_f32, 2.0])?;
    /// let found = x.map(&stream, |x| x.gt(0.0).select(x, x * 0.5))?;
    /// assert_eq!(found.to_vec(&stream)?, [-0.5, 2.0]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn gt(self, other: impl IntoExpression<T>) -> Expression<Bool> {
        self.greater(other)
    }

    /// Whether this is greater or equal: [`greater_equal`](Self::greater_equal).
    #[must_use]
    pub fn ge(self, other: impl IntoExpression<T>) -> Expression<Bool> {
        self.greater_equal(other)
    }

    /// Rust's `max` of floats: [`fmax`](Self::fmax), which hides NaN.
    #[deprecated(note = "write `maximum`, which is NaN if one is NaN, as NumPy's; or `fmax`, which is the \
                         other then, as Rust's `max` and this. The greatest element of an array is its \
                         method `max`")]
    #[must_use]
    pub fn max(self, other: impl IntoExpression<T>) -> Self {
        self.fmax(other)
    }

    /// Rust's `min` of floats: [`fmin`](Self::fmin), which hides NaN.
    #[deprecated(note = "write `minimum`, which is NaN if one is NaN, as NumPy's; or `fmin`, which is the \
                         other then, as Rust's `min` and this. The least element of an array is its \
                         method `min`")]
    #[must_use]
    pub fn min(self, other: impl IntoExpression<T>) -> Self {
        self.fmin(other)
    }

    /// `low` where this is less, `high` where it is greater, otherwise this: so NaN stays NaN and
    /// −0 stays −0. [`clip`](Self::clip) differs: with a bound of +0 it turns −0 into +0. Never
    /// panics.
    #[must_use]
    pub fn clamp(self, low: impl IntoExpression<T>, high: impl IntoExpression<T>) -> Self {
        let (low, high) = (low.into_expression(), high.into_expression());
        let above = self.less(low).select(low, self);
        above.greater(high).select(high, above)
    }

    /// The remainder that is not negative: the remainder of [`fmod`](Self::fmod), plus the divisor's
    /// magnitude if it is negative. For integers, the remainder by 0 is 0.
    #[must_use]
    pub fn rem_euclid(self, divisor: impl IntoExpression<T>) -> Self {
        let divisor = divisor.into_expression();
        let rest = self.fmod(divisor);
        rest.less(lit(0)).select(rest + divisor.abs(), rest)
    }
}

impl<T: Signed> Expression<T> {
    /// The sign. For integers it is [`sign`](Self::sign): −1, 0 or 1. For floats it is 1 with the
    /// sign of this, also for zeros; NaN for NaN.
    #[must_use]
    pub fn signum(self) -> Self {
        if !T::TYPE.is_float() {
            return self.sign();
        }
        let one = self.lit(1).binary(BinaryOperation::Copysign, self);
        self.equal(self).select(one, self)
    }
}

impl<T: WholeNumber> Expression<T> {
    /// `x + y`, which wraps.
    #[must_use]
    pub fn wrapping_add(self, other: impl IntoExpression<T>) -> Self {
        self + other.into_expression()
    }

    /// `x - y`, which wraps.
    #[must_use]
    pub fn wrapping_sub(self, other: impl IntoExpression<T>) -> Self {
        self - other.into_expression()
    }

    /// `x * y`, which wraps.
    #[must_use]
    pub fn wrapping_mul(self, other: impl IntoExpression<T>) -> Self {
        self * other.into_expression()
    }

    /// `0 - x`, which wraps.
    #[must_use]
    pub fn wrapping_neg(self) -> Self {
        self.lit(0) - self
    }
}

impl<T: Float> Expression<T> {
    /// `1 / x`: [`reciprocal`](Self::reciprocal).
    #[must_use]
    pub fn recip(self) -> Self {
        self.reciprocal()
    }

    /// This to a power: [`pow`](Self::pow).
    #[doc(alias = "float_power")]
    #[must_use]
    pub fn powf(self, exponent: impl IntoExpression<T>) -> Self {
        self.pow(exponent)
    }

    /// This to an integer power that is known when the function is recorded: `x * x` for 2,
    /// otherwise [`pow`](Self::pow) with the exponent as a literal, which must be exact in this
    /// type.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let x = Array::from_slice(&stream, &[2], &[2.0_f32, 4.0])?;
    /// assert_eq!(x.map(&stream, |x| x.powi(2))?.to_vec(&stream)?, [4.0, 16.0]);
    /// assert_eq!(x.map(&stream, |x| x.powi(-1))?.to_vec(&stream)?, [0.5, 0.25]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn powi(self, exponent: i32) -> Self {
        if exponent == 2 { self.square() } else { self.pow(lit(exponent)) }
    }

    /// e to this power, minus 1, exact near 0: [`expm1`](Self::expm1).
    #[must_use]
    pub fn exp_m1(self) -> Self {
        self.expm1()
    }

    /// The logarithm to a base: `ln(x) / ln(base)`. The natural logarithm, NumPy's `log`, is
    /// [`ln`](Self::ln).
    #[must_use]
    pub fn log(self, base: impl IntoExpression<T>) -> Self {
        self.ln() / base.into_expression().ln()
    }

    /// The sine and the cosine, of radians.
    #[must_use]
    pub fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }

    /// The part after the point: `x - trunc(x)`.
    #[must_use]
    pub fn fract(self) -> Self {
        self - self.trunc()
    }

    /// The nearest integer; halves go away from zero. NumPy's `round` is
    /// [`round_ties_even`](Self::round_ties_even).
    #[must_use]
    pub fn round(self) -> Self {
        let whole = self.trunc();
        let away = whole + self.lit(1).copysign(self);
        (self - whole).abs().greater_equal(0.5).select(away, whole)
    }

    /// Converts radians to degrees: multiplies by 180 / π, which is rounded to the type first.
    #[doc(alias = "rad2deg", alias = "degrees")]
    #[must_use]
    pub fn to_degrees(self) -> Self {
        self * (180.0 / std::f64::consts::PI)
    }

    /// Converts degrees to radians: multiplies by π / 180, which is rounded to the type first.
    #[doc(alias = "deg2rad", alias = "radians")]
    #[must_use]
    pub fn to_radians(self) -> Self {
        match T::TYPE {
            // In `f32` this is the quotient of two `f32`, as in Rust.
            ElementType::F32 => self * lit(std::f32::consts::PI / 180.0),
            _ => self * (std::f64::consts::PI / 180.0),
        }
    }

    /// Whether the sign is not set. Zeros have a sign too.
    #[must_use]
    pub fn is_sign_positive(self) -> Expression<Bool> {
        !self.is_sign_negative()
    }

    /// The quotient that belongs to the remainder [`rem_euclid`](Self::rem_euclid): `trunc(x / y)`,
    /// moved by one where [`fmod`](Self::fmod) is negative.
    #[must_use]
    pub fn div_euclid(self, divisor: impl IntoExpression<T>) -> Self {
        let divisor = divisor.into_expression();
        let quotient = (self / divisor).trunc();
        let next = divisor.greater(0.0).select(quotient - 1.0, quotient + 1.0);
        self.fmod(divisor).less(0.0).select(next, quotient)
    }
}
