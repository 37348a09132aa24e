//! Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! SC11) in expressions.

use crate::function::Expression;

const ROUNDS: usize = 10;
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// The golden ratio and √3 − 1, which are added to the key after each round.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// Four random words for a counter and a key, the least significant words first.
///
/// ```
/// use devarray::{Array, Context, function::Operands, random::philox4x32};
/// use devarray_mock::MockDevice;
///
/// let stream = Context::new(MockDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2], &[0_u32, u32::MAX])?;
/// let first = x.map(&stream, |x| philox4x32([x; 4], [x; 2])[0])?;
/// assert_eq!(first.to_vec(&stream)?, [0x6627_e8d5, 0x408f_276d]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[must_use]
pub fn philox4x32(counter: [Expression<u32>; 4], key: [Expression<u32>; 2]) -> [Expression<u32>; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    for round in 0..ROUNDS {
        if round > 0 {
            (k, l) = (k + WEYL[0], l + WEYL[1]);
        }
        let high = [a.multiply_high(MULTIPLIERS[0]), c.multiply_high(MULTIPLIERS[1])];
        let low = [a * MULTIPLIERS[0], c * MULTIPLIERS[1]];
        (a, b, c, d) = (high[1] ^ b ^ k, low[1], high[0] ^ d ^ l, low[0]);
    }
    [a, b, c, d]
}
