//! Reciprocals and quotients of `f64` for results of `f32`. The first guess comes from the bits of
//! an `f32`, without a division.

use crate::arithmetic::{Arithmetic, Bits, Float, Value};

/// The bits of `1 / d`, within 5.1 %, are this number minus the bits of −d as an `f32`.
const GUESS: u32 = 0xfef1_27ea;

/// `1 / d`, given `-d`, within 2^-23, where `|d|` is from 2^-125 to 2^125.
#[inline(always)]
fn rough_reciprocal<A: Arithmetic>(minus_d: A::F64) -> A::F64 {
    let minus_d = A::narrow(minus_d);
    let one = minus_d.constant(1.0);
    let bits = minus_d.bits();
    let guess = A::F32::of_bits(bits.constant(GUESS).minus(bits));
    let error = minus_d.fma(guess, one);
    let better = guess.fma(error.fma(error, error), guess);
    A::widen(better.fma(minus_d.fma(better, one), better))
}

/// `1 / d` within 0.6 ulp, where `|d|` is from 2^-125 to 2^125.
#[inline(always)]
pub(super) fn reciprocal<A: Arithmetic>(d: A::F64) -> A::F64 {
    let minus_d = -d;
    let rough = rough_reciprocal::<A>(minus_d);
    let error = minus_d.fma_plus(rough, 1.0);
    rough.fma(error.fma(error, error), rough)
}

/// `n / d` within 1.1 ulp, where `|d|` is from 2^-125 to 2^125.
#[inline(always)]
pub(super) fn quotient<A: Arithmetic>(n: A::F64, d: A::F64) -> A::F64 {
    let minus_d = -d;
    let rough = rough_reciprocal::<A>(minus_d);
    let error = minus_d.fma_plus(rough, 1.0);
    let quotient = n * rough;
    quotient.fma(error.fma(error, error), quotient)
}
