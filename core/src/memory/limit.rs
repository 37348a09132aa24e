//! A limit on the memory of a context's arrays.

use crate::{
    Context, Error, Result,
    backend::{Device, MemoryInfo},
    lock::lock,
};

/// Most memory of the device that arrays of a context may take together.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum MemoryLimit {
    /// As much as there is.
    Unlimited,
    /// This many bytes.
    Bytes(usize),
    /// This fraction of the device's bytes, clamped to 0..=1.
    Fraction(f64),
}

impl<D: Device> Context<D> {
    /// Limits the memory that arrays take. Memory already over the limit stays. An allocation that
    /// would exceed it is refused, after the same attempts to make room as when the device is full.
    /// Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context, Error, memory::MemoryLimit};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// context.set_memory_limit(MemoryLimit::Bytes(1000))?;
    /// let kept = Array::<u8, _>::zeros(&stream, &[600])?;
    /// let refused = Array::<u8, _>::zeros(&stream, &[500]).unwrap_err();
    /// assert!(matches!(refused, Error::OutOfMemory { limited: true, free_bytes: Some(400), .. }));
    ///
    /// context.set_memory_limit(MemoryLimit::Fraction(0.5))?;
    /// Array::<u8, _>::zeros(&stream, &[500])?;
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// For a fraction, the device could not tell its number of bytes; the limit stays as it was.
    #[doc(alias = "set_limit")]
    pub fn set_memory_limit(&self, limit: MemoryLimit) -> Result<()> {
        let limit_bytes = match limit {
            MemoryLimit::Unlimited => usize::MAX,
            MemoryLimit::Bytes(bytes) => bytes,
            MemoryLimit::Fraction(fraction) => part_of(self.0.device.memory()?.total_bytes, fraction),
        };
        lock(&self.0.tracker).ledger.limit_bytes = limit_bytes;
        Ok(())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a limit need not be exact to the byte, and a cast to an integer saturates"
)]
fn part_of(total_bytes: usize, fraction: f64) -> usize {
    (total_bytes as f64 * fraction.clamp(0.0, 1.0)) as usize
}

/// The error of an allocation over a limit.
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
