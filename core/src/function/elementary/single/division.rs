//! Reciprocals and quotients of `f64` for results of `f32`: a first guess from the bits of an `f32`, which no processor
//! divides for.

use crate::function::arithmetic::{Arithmetic, Bits, Float, Value};

/// Less the bits of a number of `f32`, the bits of its reciprocal within 5.1 %.
const GUESS: u32 = 0x7ef1_27ea;

/// `1 / d` within 2^-23, where `|d|` is from 2^-125 to 2^125.
#[inline(always)]
fn rough_reciprocal<A: Arithmetic>(d: A::F64) -> A::F64 {
    let d = A::narrow(d);
    let one = d.constant(1.0);
    let guess = A::F32::of_bits(d.bits().constant(GUESS).minus(d.bits()));
    let error = (-d).fma(guess, one);
    let better = guess.fma(error.fma(error, error), guess);
    A::widen(better.fma((-d).fma(better, one), better))
}

/// `1 / d` within 0.6 ulp, where `|d|` is from 2^-125 to 2^125.
#[inline(always)]
pub(super) fn reciprocal<A: Arithmetic>(d: A::F64) -> A::F64 {
    let rough = rough_reciprocal::<A>(d);
    let error = (-d).fma_plus(rough, 1.0);
    rough.fma(error.fma(error, error), rough)
}

/// `n / d` within 1.1 ulp, where `|d|` is from 2^-125 to 2^125.
#[inline(always)]
pub(super) fn quotient<A: Arithmetic>(n: A::F64, d: A::F64) -> A::F64 {
    let rough = rough_reciprocal::<A>(d);
    let error = (-d).fma_plus(rough, 1.0);
    let quotient = n * rough;
    quotient.fma(error.fma(error, error), quotient)
}
