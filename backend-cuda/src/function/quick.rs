//! Divisions of `f32` by what many elements are divided by, without a division: exactly rounded all the same.
//!
//! With the inverse rounded to nearest, one correction makes the quotient right to the last place, and a second one rounds
//! it exactly, unless something underflows or overflows on the way (Markstein, "Computation of elementary functions on the
//! IBM RISC System/6000 processor", 1990). So the operands are looked at: the divisor once, what is divided each time. Where
//! they are out of range the thread divides the plain way. The plain way takes a branch for a 0, which images are full of.

use devarray::function::primitive::{Constant, Instruction};

use super::text::{Bank, Reg, Text};

/// Divisors from 2^-60 to 2^30, and what is divided: 0, or from 2^-95 to below 2^60. Quotients are from 2^-125 to 2^120, and
/// the last place of a remainder is at least 2^-143.
const DIVISORS: [u32; 2] = [0x2180_0000, 0x4e80_0000];
const DIVIDENDS: [u32; 2] = [0x1000_0000, 0x5d80_0000];

/// Whether a divisor may be in range. It is positive, so that the sign of a quotient of 0 comes out right.
pub(super) fn may_divide(divisor: Instruction) -> bool {
    match divisor {
        // Positive numbers are in the order of their bits.
        Instruction::Constant(Constant::F32(bits)) => (DIVISORS[0]..=DIVISORS[1]).contains(&bits),
        _ => true,
    }
}

/// The inverse of a divisor; `sound` becomes false if that is out of range.
pub(super) fn inverse(text: &mut Text, divisor: Reg, sound: Option<Reg>) -> Reg {
    if let Some(sound) = sound {
        let [low, high] = DIVISORS;
        let above = text.set(Bank::Predicate, "setp.ge.f32", format_args!("{divisor}, 0f{low:08X}"));
        let below = text.set(Bank::Predicate, "setp.le.f32", format_args!("{divisor}, 0f{high:08X}"));
        text.line(format_args!("and.pred {sound}, {sound}, {above}"));
        text.line(format_args!("and.pred {sound}, {sound}, {below}"));
    }
    text.set(Bank::F32, "rcp.rn.f32", format_args!("{divisor}"))
}

/// The quotient; `sound` becomes false if it may not be exact.
pub(super) fn divide(text: &mut Text, number: Reg, divisor: Reg, inverse: Reg, sound: Reg) -> Reg {
    let [low, high] = DIVIDENDS;
    let size = text.set(Bank::F32, "abs.f32", format_args!("{number}"));
    let above = text.set(Bank::Predicate, "setp.ge.f32", format_args!("{size}, 0f{low:08X}"));
    let zero = text.set(Bank::Predicate, "setp.eq.f32", format_args!("{number}, 0f00000000"));
    let inside = text.set(Bank::Predicate, "or.pred", format_args!("{above}, {zero}"));
    let below = text.set(Bank::Predicate, "setp.lt.f32", format_args!("{size}, 0f{high:08X}"));
    text.line(format_args!("and.pred {sound}, {sound}, {inside}"));
    text.line(format_args!("and.pred {sound}, {sound}, {below}"));
    let minus = text.set(Bank::F32, "neg.f32", format_args!("{number}"));
    let mut quotient = text.set(Bank::F32, "mul.rn.f32", format_args!("{number}, {inverse}"));
    for _ in 0..2 {
        // In this order of signs a quotient of 0 keeps its own.
        let excess = text.set(Bank::F32, "fma.rn.f32", format_args!("{quotient}, {divisor}, {minus}"));
        let lack = text.set(Bank::F32, "neg.f32", format_args!("{excess}"));
        quotient = text.set(Bank::F32, "fma.rn.f32", format_args!("{lack}, {inverse}, {quotient}"));
    }
    quotient
}
