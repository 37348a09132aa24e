//! Turns a fill into the one driver call that executes it.
#![allow(unsafe_code)] // enqueues driver fills of the bytes that a plan names

use devarray::copy::{Class, Plan};

use crate::{
    driver::{Answer, INVALID_VALUE},
    kernels::{CopyKernels, Queue},
};

/// Enqueues the repetition of `pattern` over the destination of `plan` in the buffer at `dst`.
pub(super) fn enqueue(to: Queue<'_>, kernels: &CopyKernels, plan: &Plan, dst: u64, pattern: &[u8]) -> Answer {
    match (plan.class(), period(pattern)) {
        (Class::Empty, _) => Ok(()),
        (Class::Linear, period) if period.len() <= 4 => {
            linear(to, dst + plan.dst_offset_bytes() as u64, plan.len_bytes(), period)
        }
        _ => kernels.fill(to, plan, dst, pattern),
    }
}

/// Fills `len_bytes` bytes at `dst`, both multiples of the period's length, with a period of 1, 2
/// or 4 bytes.
fn linear(to: Queue<'_>, dst: u64, len_bytes: usize, period: &[u8]) -> Answer {
    let Queue { driver, stream, .. } = to;
    match *period {
        // SAFETY: the bytes lie inside a buffer that is alive in stream order.
        [a] => unsafe { driver.memset_d8_async(dst, a, len_bytes, stream) },
        [a, b] => {
            let value = u16::from_ne_bytes([a, b]);
            // SAFETY: as above; address and length are multiples of the element, and so of 2.
            unsafe { driver.memset_d16_async(dst, value, len_bytes / 2, stream) }
        }
        [a, b, c, d] => {
            let value = u32::from_ne_bytes([a, b, c, d]);
            // SAFETY: as above; address and length are multiples of the element, and so of 4.
            unsafe { driver.memset_d32_async(dst, value, len_bytes / 4, stream) }
        }
        _ => Err(INVALID_VALUE),
    }
}

/// The shortest start of `pattern`, halving, that repeats to all of it: most fills are zeros.
/// The pattern is not empty.
fn period(pattern: &[u8]) -> &[u8] {
    let half = pattern.len() / 2;
    let (left, right) = pattern.split_at(half);
    if left == right { period(left) } else { pattern }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_shortest_period() {
        assert_eq!(period(&[7]), [7]);
        assert_eq!(period(&[0; 16]), [0]);
        assert_eq!(period(&[1, 2, 1, 2]), [1, 2]);
        assert_eq!(period(&[1, 2, 1, 3]), [1, 2, 1, 3]);
        assert_eq!(period(&[1, 1, 2, 2, 1, 1, 2, 2]), [1, 1, 2, 2]);
        assert_eq!(period(&[1, 1, 1, 1, 1, 1, 1, 2]), [1, 1, 1, 1, 1, 1, 1, 2]);
    }
}
