//! A limit on the memory of a context's arrays.

use crate::{Error, backend::MemoryInfo};

/// The most memory of the device that the arrays of a context may take together.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// All memory that there is.
    Unlimited,
    /// This many bytes.
    Bytes(usize),
    /// This fraction of the device's bytes, clamped to 0..=1.
    Fraction(f64),
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a limit need not be exact to the byte, and a cast to an integer saturates"
)]
pub(super) fn part_of(total_bytes: usize, fraction: f64) -> usize {
    (total_bytes as f64 * fraction.clamp(0.0, 1.0)) as usize
}

/// The error of an allocation that exceeds the limit.
#[cold]
pub(crate) fn limited(
    backend: &'static str,
    operation: &'static str,
    requested_bytes: usize,
    (held_bytes, limit_bytes): (usize, usize),
) -> Error {
    let room = MemoryInfo::new(limit_bytes.saturating_sub(held_bytes), limit_bytes);
    let mut error = Error::out_of_memory(backend, operation, requested_bytes, Some(room));
    if let Error::OutOfMemory { limited, .. } = &mut error {
        *limited = true;
    }
    error
}
