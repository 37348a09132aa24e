//! Divides `f32` by a divisor that many elements share, without an instruction that divides, and
//! exactly rounded all the same.
//!
//! With the inverse rounded to nearest, one correction makes the quotient right to the last place,
//! and a second one rounds it exactly, unless something underflows or overflows on the way
//! (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).
//! So the operands are checked: the divisor once, each dividend at its division. If one is out of
//! range, the thread divides the plain way. A dividend of 0 is in range, because the plain way
//! takes a branch for it, and images are full of zeros.

use devarray::function::primitive::{Constant, Instruction, Unary};

use super::text::{Bank, Reg, Text};

/// Ranges of divisors, from 2^-60 to 2^30, and of dividends: 0, or from 2^-95 to below 2^65.
/// Quotients are from 2^-125 to 2^125, and the last place of a remainder is at least 2^-143.
const DIVISORS: [u32; 2] = [0x2180_0000, 0x4e80_0000];
const DIVIDENDS: [u32; 2] = [0x1000_0000, 0x6000_0000];

/// What is known of the divisions so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quick {
    /// Whether divisors were in range.
    divisors: Reg,
    /// The sum of the absolute values of dividends: it is at least each of them, and NaN if one is.
    sum: Reg,
    /// The smallest dividend, in an order of bits that starts at the smallest number of the range
    /// and ends with 0, then the numbers below the range.
    smallest: Reg,
}

/// Whether a divisor may be in range. It is positive, so that a quotient of 0 has the right sign.
pub(super) fn may_divide(divisor: Instruction) -> bool {
    match divisor {
        // Positive numbers are in the order of their bits.
        Instruction::Constant(Constant::F32(bits)) => (DIVISORS[0]..=DIVISORS[1]).contains(&bits),
        _ => true,
    }
}

/// Whether a dividend is always in range: an integer is.
pub(super) fn is_in_range(number: Instruction) -> bool {
    matches!(number, Instruction::Unary(Unary::SignedToF32 | Unary::UnsignedToF32, _))
}

/// Whether the quick way rounds exactly whatever the elements are: for an integer divided by a
/// constant in range.
pub(super) fn is_always_exact(number: Instruction, divisor: Instruction) -> bool {
    is_in_range(number) && matches!(divisor, Instruction::Constant(_)) && may_divide(divisor)
}

/// The inverse of a constant.
pub(super) fn inverse_of(text: &mut Text, bits: u32) -> Reg {
    let inverse = f32::from_bits(bits).recip().to_bits();
    text.set(Bank::F32, "mov.f32", format_args!("0f{inverse:08X}"))
}

/// The quotient by the divisor with this inverse, if both operands are in range.
pub(super) fn quotient(text: &mut Text, number: Reg, divisor: Reg, inverse: Reg) -> Reg {
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

impl Quick {
    /// Before the first division.
    pub(super) fn begin(text: &mut Text) -> Self {
        Self {
            divisors: text.test("mov.pred", format_args!("1")),
            sum: text.set(Bank::F32, "mov.f32", format_args!("0f00000000")),
            smallest: text.set32("mov.b32", format_args!("0")),
        }
    }

    /// Whether the divisors of all inverses so far were in range.
    pub(super) fn divisors_are_in_range(self) -> Reg {
        self.divisors
    }

    /// Whether all dividends so far were in range: then no quotient is NaN.
    pub(super) fn numbers_are_in_range(self, text: &mut Text) -> Reg {
        let [low, high] = DIVIDENDS;
        let Self { sum, smallest, .. } = self;
        let below = text.test("setp.lt.f32", format_args!("{sum}, 0f{high:08X}"));
        let limit = (2 * low).wrapping_neg();
        let above = text.test("setp.le.u32", format_args!("{smallest}, {limit:#x}"));
        text.test("and.pred", format_args!("{below}, {above}"))
    }

    /// The inverse of a divisor. Its range is checked, unless `instruction` is a constant.
    pub(super) fn inverse(self, text: &mut Text, divisor: Reg, instruction: Instruction) -> Reg {
        if let Instruction::Constant(Constant::F32(bits)) = instruction {
            return inverse_of(text, bits);
        }
        let ([low, high], divisors) = (DIVISORS, self.divisors);
        let above = text.test("setp.ge.f32", format_args!("{divisor}, 0f{low:08X}"));
        let below = text.test("setp.le.f32", format_args!("{divisor}, 0f{high:08X}"));
        text.line(format_args!("and.pred {divisors}, {divisors}, {above}"));
        text.line(format_args!("and.pred {divisors}, {divisors}, {below}"));
        text.set(Bank::F32, "rcp.rn.f32", format_args!("{divisor}"))
    }

    /// The quotient by the divisor with this inverse. The range of the dividend is checked unless
    /// it `is_in_range`.
    pub(super) fn divide(
        self,
        text: &mut Text,
        (number, is_in_range): (Reg, bool),
        divisor: Reg,
        inverse: Reg,
    ) -> Reg {
        if !is_in_range {
            let Self { sum, smallest, .. } = self;
            let size = text.set(Bank::F32, "abs.f32", format_args!("{number}"));
            text.line(format_args!("add.rn.f32 {sum}, {sum}, {size}"));
            // Without the sign, and shifted so that 0 is the first value that is still allowed.
            let bits = text.set32("mov.b32", format_args!("{number}"));
            let shift = (2 * DIVIDENDS[0]).wrapping_neg();
            let shifted = text.set32("mad.lo.u32", format_args!("{bits}, 2, {shift:#x}"));
            text.line(format_args!("max.u32 {smallest}, {smallest}, {shifted}"));
        }
        quotient(text, number, divisor, inverse)
    }
}
