//! Division by an extent without dividing: a multiplication and a shift, computed once a copy.
//!
//! Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994, figure 4.1, with the
//! sum in 32 bits, which is exact for the dividends used here.

/// Dividends and divisors of [`Divider`] are at most this.
pub(crate) const MAX: u64 = 1 << 31;

/// `n / divisor` is `(high half of n * magic + n) >> shift`, for every `n` below 2^31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Divider {
    pub(crate) magic: u32,
    pub(crate) shift: u32,
}

impl Divider {
    /// `None` unless `divisor` is 1 to 2^31.
    pub(crate) fn new(divisor: u64) -> Option<Self> {
        if divisor == 0 || divisor > MAX {
            return None;
        }
        // The smallest shift with 2^shift >= divisor, so 2^shift < 2 * divisor.
        let shift = divisor.next_power_of_two().trailing_zeros();
        // Below 2^32: (2^shift - divisor) / divisor is at most (divisor - 2) / divisor, or 0, and divisor is at most
        // 2^31, so the quotient is at most 2^32 - 4.
        let magic = (((1_u64 << shift) - divisor) << 32) / divisor + 1;
        Some(Self { magic: u32::try_from(magic).ok()?, shift })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel computes it, in 32 bits.
    fn quotient(n: u32, by: Divider) -> u32 {
        let high = (u64::from(n) * u64::from(by.magic)) >> 32;
        u32::try_from(high).unwrap().checked_add(n).expect("the sum must fit 32 bits") >> by.shift
    }

    fn check(n: u64, divisor: u64) {
        let n32 = u32::try_from(n).unwrap();
        let found = quotient(n32, Divider::new(divisor).unwrap());
        assert_eq!(u64::from(found), n / divisor, "{n} / {divisor}");
    }

    #[test]
    fn equals_division_for_small_numbers() {
        for divisor in 1..=700 {
            for n in 0..=5_000 {
                check(n, divisor);
            }
        }
    }

    #[test]
    fn equals_division_at_every_edge() {
        // A quotient can only be wrong beside a multiple of the divisor; the largest multiples are the hardest.
        let mut divisors: Vec<u64> = (0..32).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]).collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            divisors.push((state >> 33) >> (state % 31));
        }
        for divisor in divisors.into_iter().filter(|divisor| (1..=MAX).contains(divisor)) {
            let last = (MAX - 1) / divisor * divisor;
            for multiple in [0, divisor, last / divisor / 2 * divisor, last.saturating_sub(divisor), last] {
                for n in [multiple.saturating_sub(1), multiple, multiple + 1] {
                    if n < MAX {
                        check(n, divisor);
                    }
                }
            }
            check(MAX - 1, divisor);
        }
    }

    #[test]
    fn refuses_what_it_cannot_divide_by() {
        assert_eq!(Divider::new(0), None);
        assert_eq!(Divider::new(MAX + 1), None);
    }

    /// The bound is real: beyond it the 32-bit sum no longer fits.
    #[test]
    fn is_wrong_beyond_its_dividends() {
        let by = Divider::new(7).unwrap();
        let n = u32::MAX;
        let high = (u64::from(n) * u64::from(by.magic)) >> 32;
        assert!(u32::try_from(high + u64::from(n)).is_err());
    }
}
