//! Divides `f32` by a divisor that many elements share, without a division instruction, and still
//! exactly rounded.
//!
//! The dividend times the inverse, rounded to nearest, is within 1.5 ulp of the quotient. One correction by
//! the remainder then rounds it exactly, unless something underflows or overflows on the way (Markstein,
//! "Computation of elementary functions on the IBM RISC System/6000 processor", 1990, proves it from a
//! quotient within 1 ulp; the test below tries all pairs for which it could go wrong). So the operands are
//! checked: the divisor once, each dividend at its division. If one is out of range, the thread divides the
//! plain way. A dividend of 0 is in range, because the plain way takes a branch for it, and images are full
//! of zeros.

use devarray::function::primitive::{Constant, Instruction, Unary};

use super::text::{Bank, Reg, Text};

/// Ranges of divisors, from 2^-60 to 2^30, and of dividends: 0, or from 2^-95 to below 2^65.
/// Quotients are from 2^-125 to 2^125, and the last place of a remainder is at least 2^-143.
const DIVISORS: [u32; 2] = [0x2180_0000, 0x4e80_0000];
const DIVIDENDS: [u32; 2] = [0x1000_0000, 0x6000_0000];

/// The extreme operands of all divisions so far, for one check of their ranges at the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reciprocals {
    /// The largest divisor, as the distance of its bits from the low end of the range. A divisor
    /// below that end, a negative divisor and a NaN are farther away than the high end.
    divisors: Reg,
    /// The sum of the absolute values of dividends: it is at least each of them, and NaN if one is.
    sum: Reg,
    /// The smallest dividend, in an order of bits that starts at the smallest number of the range
    /// and ends with 0, and after it the numbers below the range.
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

/// Whether a reciprocal rounds exactly for any elements: for an integer divided by a
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
    let near = text.set(Bank::F32, "mul.rn.f32", format_args!("{number}, {inverse}"));
    // In this order of signs a quotient of 0 keeps its own.
    let excess = text.set(Bank::F32, "fma.rn.f32", format_args!("{near}, {divisor}, {minus}"));
    let lack = text.set(Bank::F32, "neg.f32", format_args!("{excess}"));
    text.set(Bank::F32, "fma.rn.f32", format_args!("{lack}, {inverse}, {near}"))
}

impl Reciprocals {
    /// Before the first division.
    pub(super) fn begin(text: &mut Text) -> Self {
        Self {
            divisors: text.set32("mov.b32", format_args!("0")),
            sum: text.set(Bank::F32, "mov.f32", format_args!("0f00000000")),
            smallest: text.set32("mov.b32", format_args!("0")),
        }
    }

    /// Whether the divisors of all inverses so far were in range.
    pub(super) fn divisors_are_in_range(self, text: &mut Text) -> Reg {
        let [low, high] = DIVISORS;
        text.test("setp.le.u32", format_args!("{}, {:#x}", self.divisors, high - low))
    }

    /// Whether all dividends so far were in range: then no quotient is NaN.
    pub(super) fn numbers_are_in_range(self, text: &mut Text) -> Reg {
        let [low, high] = DIVIDENDS;
        let Self { sum, smallest, .. } = self;
        let below = text.test("setp.lt.f32", format_args!("{sum}, 0f{high:08X}"));
        let limit = (2 * low).wrapping_neg();
        let beyond = limit + 1;
        let smallest = text.set32("selp.b32", format_args!("{smallest}, {beyond:#x}, {below}"));
        text.test("setp.le.u32", format_args!("{smallest}, {limit:#x}"))
    }

    /// The inverse of a divisor. Its range is checked, unless `instruction` is a constant.
    pub(super) fn inverse(self, text: &mut Text, divisor: Reg, instruction: Instruction) -> Reg {
        if let Instruction::Constant(Constant::F32(bits)) = instruction {
            return inverse_of(text, bits);
        }
        let bits = text.set32("mov.b32", format_args!("{divisor}"));
        let distance = text.set32("sub.u32", format_args!("{bits}, {:#x}", DIVISORS[0]));
        text.line(format_args!("max.u32 {0}, {0}, {distance}", self.divisors));
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
            // The sign is dropped, and the bits are shifted so that 0 is the first value that is
            // still allowed.
            let bits = text.set32("mov.b32", format_args!("{number}"));
            let shift = (2 * DIVIDENDS[0]).wrapping_neg();
            let shifted = text.set32("mad.lo.u32", format_args!("{bits}, 2, {shift:#x}"));
            text.line(format_args!("max.u32 {smallest}, {smallest}, {shifted}"));
        }
        quotient(text, number, divisor, inverse)
    }
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, reason = "24 bits are exact")]
mod tests {
    /// The step between tried divisors. A build without optimization tries every 509th.
    const STEP: usize = if cfg!(debug_assertions) { 509 } else { 1 };

    /// The inverse of an odd number modulo 2^64.
    fn inverse_of_odd(odd: u64) -> u64 {
        (0..6).fold(odd, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
    }

    /// Calls `each` with all significands of 24 bits of a dividend whose quotient by `divisor` is so
    /// near to a middle between two numbers that rounding could go wrong.
    ///
    /// Let `2^k n - M d = j`, where `M / 2^k` is the middle. Its distance from the quotient is `|j| / 2d`
    /// ulp. Before the last rounding the corrected quotient is off by at most 1.5 ulp times the relative
    /// errors of the inverse and of the remainder, 2^-24 each: 3 * 2^-24 ulp. So `|j| <= 6` is near.
    fn nearest_to_middles(divisor: u64, mut each: impl FnMut(u64)) {
        let zeros = divisor.trailing_zeros();
        let inverse = inverse_of_odd(divisor >> zeros);
        // With `k = 24` the quotient is at least 1, with `k = 25` it is below 1.
        for k in [24, 25] {
            for j in (-8_i64..=8).filter(|j| *j != 0 && j.trailing_zeros() >= zeros) {
                let period = 1_u64 << (k - zeros);
                let first = (-(j >> zeros)).cast_unsigned().wrapping_mul(inverse) % period;
                let middles = (first..1 << 25).step_by(usize::try_from(period).unwrap());
                for middle in middles.filter(|middle| *middle > 1 << 24 && middle % 2 == 1) {
                    let scaled = (middle * divisor).wrapping_add_signed(j);
                    assert_eq!(scaled % (1 << k), 0);
                    let dividend = scaled >> k;
                    if (1 << 23..1 << 24).contains(&dividend) && (dividend < divisor) == (k == 25) {
                        each(dividend);
                    }
                }
            }
        }
    }

    /// The quotient as [`super::quotient`] writes it.
    fn quotient(number: f32, divisor: f32, inverse: f32) -> f32 {
        let near = number * inverse;
        let excess = near.mul_add(divisor, -number);
        (-excess).mul_add(inverse, near)
    }

    /// The number of quotients tried, and the number of wrong ones. `inverse` gives the inverse of
    /// a divisor.
    fn tried(inverse: impl Fn(f32) -> f32) -> (usize, usize) {
        let (mut all, mut wrong) = (0, 0);
        for divisor in (1_u64 << 23..1 << 24).step_by(STEP) {
            let by = divisor as f32;
            nearest_to_middles(divisor, |dividend| {
                let number = dividend as f32;
                all += 1;
                wrong += usize::from(quotient(number, by, inverse(by)).to_bits() != (number / by).to_bits());
            });
        }
        (all, wrong)
    }

    #[test]
    fn quotients_are_exact() {
        let (all, wrong) = tried(f32::recip);
        assert!(all > 46_000_000 / STEP && wrong == 0, "{wrong} of {all}");
    }

    /// The twin: an inverse that is two places off.
    #[test]
    fn quotients_need_the_nearest_inverse() {
        let (_, wrong) = tried(|by| f32::from_bits(by.recip().to_bits() + 2));
        assert!(wrong > 0);
    }
}
