//! Functions of one `f32`: computed in `f64`, rounded once, and correctly rounded for every input.
//!
//! Very rarely, the error of `f64` puts a value on the wrong side of the midpoint of two `f32`.
//! Trying all 2^32 inputs finds these inputs. A change in the last bits of coefficients may remove
//! them all; otherwise they are listed with their results. `core/prove` proves it.

mod bits;
mod division;
mod error_function;
mod exponential;
mod hyperbolic;
mod inverse_hyperbolic;
mod inverse_trigonometric;
mod logarithm;
mod power;
mod trigonometric;

use super::root;
use crate::arithmetic::{Arithmetic, Float, Value};
use bits::SIGN;

pub(super) use error_function::{erf, erfc};
pub(super) use exponential::{exp, exp2, expm1};
pub(super) use hyperbolic::{cosh, sinh, tanh};
pub(super) use inverse_hyperbolic::{acosh, asinh, atanh};
pub(super) use inverse_trigonometric::{acos, asin, atan, atan2};
pub(super) use logarithm::{log, log1p, log2, log10};
pub(super) use power::pow;
pub(super) use trigonometric::HUGE;
pub(super) use trigonometric::{cos, sin, tan};

/// Inputs that `f64` would round to the wrong side, and the right results, by their bits.
type Hard = [(u32, u32)];

const HARD_CBRT: &Hard = &[];

/// `y`, unless the input is in the list; then the result there.
#[inline(always)]
fn mended<A: Arithmetic>(x: A::F32, y: A::F32, hard: &Hard) -> A::F32 {
    let (x, mut y) = (x.bits(), y.bits());
    for &(input, result) in hard {
        y = y.constant(result).when(x.is(input), y);
    }
    A::F32::of_bits(y)
}

/// The result of an odd function: the sign of `x` on the function of `|x|`, which is `y` or the
/// result in the list.
#[inline(always)]
fn mended_odd<A: Arithmetic>(x: A::F32, y: A::F32, hard: &Hard) -> A::F32 {
    let sign = x.bits() & SIGN;
    let (x, mut y) = (x.bits() & !SIGN, y.bits() & !SIGN);
    for &(input, result) in hard {
        y = y.constant(result).when(x.is(input), y);
    }
    A::F32::of_bits(y | sign)
}

#[inline(always)]
pub(super) fn cbrt<A: Arithmetic>(x: A::F32) -> A::F32 {
    mended_odd::<A>(x, A::narrow(root::cbrt::<A>(A::widen(x))), HARD_CBRT)
}

#[inline(always)]
pub(super) fn hypot<A: Arithmetic>(x: A::F32, y: A::F32) -> A::F32 {
    A::narrow(root::hypot_of_f32::<A>(A::widen(x), A::widen(y)))
}
