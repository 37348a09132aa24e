//! Division by a number known at launch.

/// `n / divisor` for both below 2^31, as a multiplication: Granlund and Montgomery, "Division by Invariant Integers
/// using Multiplication", 1994, section 4, without the correction that only larger numbers need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct FastDiv {
    /// What is divided by; 0 in a parameter that is not used.
    pub(super) divisor: u32,
    multiplier: u32,
    shift: u32,
}

impl FastDiv {
    /// Stands for "not used".
    pub(super) const NONE: Self = Self { divisor: 0, multiplier: 0, shift: 0 };

    /// Division by `divisor`, which is from 1 to 2^31.
    pub(super) fn new(divisor: u32) -> Self {
        debug_assert!((1..=1 << 31).contains(&divisor), "a divisor of 32-bit division");
        let shift = divisor.next_power_of_two().trailing_zeros();
        let over = (1_u64 << shift) - u64::from(divisor);
        // Below 2^32, because the power of two is less than twice the divisor.
        let multiplier = (over << 32) / u64::from(divisor) + 1;
        Self { divisor, multiplier: u32::try_from(multiplier).unwrap_or(u32::MAX), shift }
    }

    /// What the device computes.
    #[cfg(test)]
    pub(super) fn divide(self, n: u32) -> u32 {
        let high = (u64::from(n) * u64::from(self.multiplier)) >> 32;
        (u32::try_from(high).unwrap() + n) >> self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_exactly_at_the_ends_and_around_multiples() {
        let mut divisors: Vec<u32> = (1..200).collect();
        divisors.extend((2..31).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        for divisor in divisors {
            let by = FastDiv::new(divisor);
            for n in [0, 1, divisor - 1, divisor, divisor + 1, (1 << 31) - 1, (1 << 31) - 2] {
                assert_eq!(by.divide(n), n / divisor, "{n} / {divisor}");
            }
            for step in 1..50_u64 {
                let near = u32::try_from(u64::from(divisor) * step * 7_919 % (1 << 31)).unwrap();
                for n in [near.saturating_sub(1), near, near + 1] {
                    assert_eq!(by.divide(n), n / divisor, "{n} / {divisor}");
                }
            }
        }
    }
}
