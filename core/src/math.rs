//! The elementwise functions as plain calls, under NumPy's names, for programs that need no closure.
//!
//! Each takes arrays, views and numbers of one type, broadcasts them together as NumPy does, and
//! returns a new array. Its twin that ends in `_into` writes existing elements, of any strides.
//! Nothing is lazy: a call is one launch. A closure that combines several functions is one pass,
//! where several calls are several passes: see [`Operands::map`].
//!
//! ```
//! use devarray::{Array, Context, math};
//! use devarray_mock::MockDevice;
//!
//! let stream = Context::new(MockDevice::new())?.stream()?;
//! let x = Array::from_slice(&stream, &[3], &[1.0_f32, 2.0, 3.0])?;
//! let mut sum = math::add(&stream, &x, 10.0)?;
//! assert_eq!(sum.to_vec(&stream)?, [11.0, 12.0, 13.0]);
//!
//! math::maximum_into(&stream, &x, &x.flip(&[0])?, &mut sum)?;
//! assert_eq!(sum.to_vec(&stream)?, [3.0, 2.0, 3.0]);
//! # Ok::<(), devarray::Error>(())
//! ```
//!
//! None of them synchronizes. Each fails if the shapes do not fit, memory runs out, an array
//! belongs to another context, or the device reports an error.

mod compositions;
mod differences;
mod nan;
mod ordered;
mod sparse;
mod triangles;

pub use compositions::{dot, linspace, log_softmax, log_softmax_into, norm, softmax, softmax_into};
pub use differences::diff;
pub use nan::{log_sum_exp, nan_max, nan_mean, nan_min, nan_sum};
pub use ordered::{Payload, Payloads, is_in, quantiles, sort_by_key};
pub use sparse::csr_dot;
pub use triangles::{eye, tril, triu};

use crate::{
    Array, Bool, Result,
    array::AsArrayViewMut,
    backend::Compute,
    function::{Bits, Computable, Float, Number, Operand, Operands, Signed, WholeNumber},
    stream::StreamHandle,
};

/// Emits calls that take arguments of one type.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident $into:ident ($($x:ident),+) $bound:ident -> $result:ty: $value:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// Does not synchronize.
        ///
        /// # Errors
        ///
        /// The errors of [`Operands::map`].
        #[track_caller]
        pub fn $name<'a, T: $bound, D: Compute>(
            stream: &StreamHandle<D>,
            $($x: impl Operand<'a, D, Item = T>,)+
        ) -> Result<Array<$result, D>> {
            ($($x,)+).map(stream, |($($x,)+)| $value)
        }

        #[doc = concat!("Like [`", stringify!($name), "`], into elements that exist.")]
        ///
        /// Does not synchronize.
        ///
        /// # Errors
        ///
        /// The errors of [`Operands::map_into`].
        #[track_caller]
        pub fn $into<'a, T: $bound, D: Compute>(
            stream: &StreamHandle<D>,
            $($x: impl Operand<'a, D, Item = T>,)+
            result: &mut impl AsArrayViewMut<$result, D>,
        ) -> Result<()> {
            ($($x,)+).map_into(stream, result, |($($x,)+)| $value)
        }
    )*};
}

calls! {
    /// `x + y`
    add add_into (x, y) Number -> T: x + y;
    /// `x - y`
    #[doc(alias = "sub")]
    subtract subtract_into (x, y) Number -> T: x - y;
    /// `x * y`
    #[doc(alias = "mul")]
    multiply multiply_into (x, y) Number -> T: x * y;
    /// `x / y`
    #[doc(alias = "true_divide", alias = "div")]
    divide divide_into (x, y) Float -> T: x / y;
    /// The quotient, rounded down. For integers, `x // 0` is 0.
    floor_divide floor_divide_into (x, y) Number -> T: x.floor_divide(y);
    /// The remainder with the sign of the divisor. For integers, `x % 0` is 0.
    #[doc(alias = "mod")]
    remainder remainder_into (x, y) Number -> T: x.remainder(y);
    /// The remainder with the sign of the dividend. For integers, `fmod(x, 0)` is 0.
    fmod fmod_into (x, y) Number -> T: x.fmod(y);
    /// `x` to the power `y`. Integers wrap.
    #[doc(alias = "pow")]
    power power_into (x, y) Number -> T: x.pow(y);
    /// The lesser; NaN if one is NaN.
    minimum minimum_into (x, y) Number -> T: x.minimum(y);
    /// The greater; NaN if one is NaN.
    maximum maximum_into (x, y) Number -> T: x.maximum(y);
    /// The lesser; if one is NaN, the other.
    fmin fmin_into (x, y) Number -> T: x.fmin(y);
    /// The greater; if one is NaN, the other.
    fmax fmax_into (x, y) Number -> T: x.fmax(y);
    /// `minimum(maximum(x, low), high)`
    #[doc(alias = "clamp")]
    clip clip_into (x, low, high) Number -> T: x.clip(low, high);
    /// `x * y + z`, rounded once.
    fma fma_into (x, y, z) Float -> T: x.mul_add(y, z);
    /// The angle of the point (`x`, `y`).
    #[doc(alias = "arctan2")]
    atan2 atan2_into (y, x) Float -> T: y.atan2(x);
    /// `sqrt(x * x + y * y)` without overflow on the way.
    hypot hypot_into (x, y) Float -> T: x.hypot(y);
    /// `x` with the sign of `y`.
    copysign copysign_into (x, y) Float -> T: x.copysign(y);
    /// The next number of the type after `x` in the direction of `y`; `y` if both are equal, NaN if one is
    /// NaN.
    #[doc(alias = "nextafter")]
    next_after next_after_into (x, y) Float -> T: x.next_after(y);
    /// The logarithm of `exp(x) + exp(y)`, without overflow on the way. Equal infinities give that
    /// infinity.
    #[doc(alias = "logaddexp")]
    log_add_exp log_add_exp_into (x, y) Float -> T: x.log_add_exp(y);

    /// `-x`
    #[doc(alias = "negative", alias = "neg")]
    negate negate_into (x) Signed -> T: -x;
    /// Drops the sign. The least integer stays itself.
    #[doc(alias = "absolute", alias = "fabs")]
    abs abs_into (x) Number -> T: x.abs();
    /// −1, 0 or 1; NaN stays NaN.
    sign sign_into (x) Number -> T: x.sign();
    /// `x * x`
    square square_into (x) Number -> T: x.square();
    /// `1 / x`
    reciprocal reciprocal_into (x) Float -> T: x.reciprocal();
    /// The square root, exactly rounded.
    sqrt sqrt_into (x) Float -> T: x.sqrt();
    /// `1 / sqrt(x)`
    rsqrt rsqrt_into (x) Float -> T: x.rsqrt();
    /// The cube root.
    cbrt cbrt_into (x) Float -> T: x.cbrt();
    /// e to the power `x`.
    exp exp_into (x) Float -> T: x.exp();
    /// 2 to the power `x`.
    exp2 exp2_into (x) Float -> T: x.exp2();
    /// e to the power `x`, minus 1, exact near 0.
    expm1 expm1_into (x) Float -> T: x.expm1();
    /// The natural logarithm.
    #[doc(alias = "ln")]
    log log_into (x) Float -> T: x.ln();
    /// The logarithm of base 2.
    log2 log2_into (x) Float -> T: x.log2();
    /// The logarithm of base 10.
    log10 log10_into (x) Float -> T: x.log10();
    /// The natural logarithm of `1 + x`, exact near 0.
    log1p log1p_into (x) Float -> T: x.ln_1p();
    /// The sine, of radians.
    sin sin_into (x) Float -> T: x.sin();
    /// The cosine, of radians.
    cos cos_into (x) Float -> T: x.cos();
    /// The tangent, of radians.
    tan tan_into (x) Float -> T: x.tan();
    /// The arc sine.
    #[doc(alias = "arcsin")]
    asin asin_into (x) Float -> T: x.asin();
    /// The arc cosine.
    #[doc(alias = "arccos")]
    acos acos_into (x) Float -> T: x.acos();
    /// The arc tangent.
    #[doc(alias = "arctan")]
    atan atan_into (x) Float -> T: x.atan();
    /// The hyperbolic sine.
    sinh sinh_into (x) Float -> T: x.sinh();
    /// The hyperbolic cosine.
    cosh cosh_into (x) Float -> T: x.cosh();
    /// The hyperbolic tangent.
    tanh tanh_into (x) Float -> T: x.tanh();
    /// The inverse of the hyperbolic sine.
    #[doc(alias = "arcsinh")]
    asinh asinh_into (x) Float -> T: x.asinh();
    /// The inverse of the hyperbolic cosine.
    #[doc(alias = "arccosh")]
    acosh acosh_into (x) Float -> T: x.acosh();
    /// The inverse of the hyperbolic tangent.
    #[doc(alias = "arctanh")]
    atanh atanh_into (x) Float -> T: x.atanh();
    /// The error function.
    erf erf_into (x) Float -> T: x.erf();
    /// 1 minus the error function, exact where that is small.
    erfc erfc_into (x) Float -> T: x.erfc();
    /// `1 / (1 + exp(-x))`, rounded at each step: 0 where `exp(-x)` overflows.
    #[doc(alias = "expit")]
    sigmoid sigmoid_into (x) Float -> T: x.sigmoid();
    /// The greatest integer that is not greater.
    floor floor_into (x) Float -> T: x.floor();
    /// The least integer that is not less.
    ceil ceil_into (x) Float -> T: x.ceil();
    /// The integer part.
    #[doc(alias = "fix")]
    trunc trunc_into (x) Float -> T: x.trunc();
    /// The nearest integer, ties to the even one.
    #[doc(alias = "round")]
    rint rint_into (x) Float -> T: x.round_ties_even();

    /// `x & y`
    #[doc(alias = "logical_and")]
    bitwise_and bitwise_and_into (x, y) Bits -> T: x & y;
    /// `x | y`
    #[doc(alias = "logical_or")]
    bitwise_or bitwise_or_into (x, y) Bits -> T: x | y;
    /// `x ^ y`
    #[doc(alias = "logical_xor")]
    bitwise_xor bitwise_xor_into (x, y) Bits -> T: x ^ y;
    /// Every bit inverted.
    #[doc(alias = "bitwise_not", alias = "logical_not")]
    invert invert_into (x) Bits -> T: !x;
    /// `x << y`; 0 if `y` is negative or at least the width.
    left_shift left_shift_into (x, y) WholeNumber -> T: x << y;
    /// `x >> y`; 0 or −1 if `y` is negative or at least the width.
    right_shift right_shift_into (x, y) WholeNumber -> T: x >> y;
    /// The number of bits set, in two's complement.
    #[doc(alias = "popcount")]
    bitwise_count bitwise_count_into (x) WholeNumber -> T: x.count_ones();

    /// `x == y`
    #[doc(alias = "eq")]
    equal equal_into (x, y) Computable -> Bool: x.equal(y);
    /// `x != y`
    #[doc(alias = "ne")]
    not_equal not_equal_into (x, y) Computable -> Bool: x.not_equal(y);
    /// `x < y`
    #[doc(alias = "lt")]
    less less_into (x, y) Number -> Bool: x.less(y);
    /// `x <= y`
    #[doc(alias = "le")]
    less_equal less_equal_into (x, y) Number -> Bool: x.less_equal(y);
    /// `x > y`
    #[doc(alias = "gt")]
    greater greater_into (x, y) Number -> Bool: x.greater(y);
    /// `x >= y`
    #[doc(alias = "ge")]
    greater_equal greater_equal_into (x, y) Number -> Bool: x.greater_equal(y);
    /// Whether an element is NaN.
    #[doc(alias = "isnan")]
    is_nan is_nan_into (x) Float -> Bool: x.is_nan();
    /// Whether an element is infinite.
    #[doc(alias = "isinf")]
    is_infinite is_infinite_into (x) Float -> Bool: x.is_infinite();
    /// Whether an element is neither infinite nor NaN.
    #[doc(alias = "isfinite")]
    is_finite is_finite_into (x) Float -> Bool: x.is_finite();
    /// Whether the sign is set. Zeros have a sign too.
    #[doc(alias = "is_sign_negative")]
    signbit signbit_into (x) Float -> Bool: x.is_sign_negative();
}

/// `yes` where the condition is true, else `no`.
///
/// Does not synchronize.
///
/// # Errors
///
/// The errors of [`Operands::map`].
#[doc(alias = "where")]
#[track_caller]
pub fn select<'a, T: Computable, D: Compute>(
    stream: &StreamHandle<D>,
    condition: impl Operand<'a, D, Item = Bool>,
    yes: impl Operand<'a, D, Item = T>,
    no: impl Operand<'a, D, Item = T>,
) -> Result<Array<T, D>> {
    (condition, yes, no).map(stream, |(condition, yes, no)| condition.select(yes, no))
}

/// Converts the elements to another type, like Rust's `as`.
///
/// Does not synchronize.
///
/// # Errors
///
/// The errors of [`Operands::map`].
#[doc(alias = "astype")]
#[track_caller]
pub fn cast<'a, U: Computable, T: Computable, D: Compute>(
    stream: &StreamHandle<D>,
    x: impl Operand<'a, D, Item = T>,
) -> Result<Array<U, D>> {
    (x,).map(stream, |(x,)| x.cast())
}
