//! One number for the results of all inputs, whatever order they come in.

/// The number that one result adds to the digest: its bits and its input's, stirred. A NaN counts
/// as 0x7fc00000.
#[inline(always)]
pub(crate) fn part(input: u32, result: f32) -> u64 {
    let result = if result.is_nan() { 0x7fc0_0000 } else { result.to_bits() };
    let both = (u64::from(input) << 32 | u64::from(result)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (both ^ (both >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
