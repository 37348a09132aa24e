//! Division by multiplication, as the kernels do it.

use super::{super::params::FastDiv, Random};

const MAX: u64 = 1 << 31;

/// Divides like the kernel, in 32 bits.
fn check(n: u64, divisor: u64) {
    let by = FastDiv::new(u32::try_from(divisor).unwrap());
    let n = u32::try_from(n).unwrap();
    let high = u32::try_from((u64::from(n) * u64::from(by.multiplier)) >> 32).unwrap();
    let found = high.checked_add(n).expect("the sum must fit 32 bits") >> by.shift;
    assert_eq!(u64::from(found), u64::from(n) / divisor, "{n} / {divisor}");
    assert_eq!(by.divide(n), found);
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
    // A quotient can only be wrong next to a multiple of the divisor; the largest multiples are the
    // hardest.
    let mut divisors: Vec<u64> = (0..32).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    divisors.extend((0..20_000).map(|_| (random.next() >> 17) >> random.below(31)));
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
    assert_eq!(FastDiv::checked(MAX), Some(FastDiv::new(1 << 31)));
    assert_eq!([0, MAX + 1, 1 << 32].map(FastDiv::checked), [None; 3]);
}

/// The bound is real: beyond it the 32-bit sum no longer fits.
#[test]
fn is_wrong_beyond_its_dividends() {
    let by = FastDiv::new(7);
    let n = u32::MAX;
    let high = (u64::from(n) * u64::from(by.multiplier)) >> 32;
    assert!(u32::try_from(high + u64::from(n)).is_err());
}
