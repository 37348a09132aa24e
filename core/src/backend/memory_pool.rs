//! The pool that device memory comes from.

use super::Device;
use crate::Result;

/// A pool of device memory at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Bytes that are allocated.
    pub used_bytes: usize,
    /// Bytes that the pool holds: allocated bytes, and bytes kept for later.
    pub reserved_bytes: usize,
    /// Most bytes that were allocated.
    pub peak_used_bytes: usize,
    /// Most bytes that the pool held.
    pub peak_reserved_bytes: usize,
}

impl PoolStatistics {
    /// The bytes used and held now, which are the peaks as well: raise those with the fields.
    #[must_use]
    pub const fn new(used_bytes: usize, reserved_bytes: usize) -> Self {
        Self { used_bytes, reserved_bytes, peak_used_bytes: used_bytes, peak_reserved_bytes: reserved_bytes }
    }
}

/// Asking and trimming the pool that [`Stream::alloc`](super::Stream::alloc) takes memory from: the
/// capability [`MemoryPool`](super::Capability::MemoryPool).
///
/// # For callers
///
/// Programs call [`Context::trim_pool`](crate::Context::trim_pool) and its neighbours.
///
/// # For backend authors
///
/// Nothing here takes memory that is allocated. A device that does not have the capability answers each
/// call with [`Unsupported`](crate::Error::Unsupported).
#[diagnostic::on_unimplemented(
    message = "the device `{Self}` has no pool to control",
    label = "not a `PoolControl`",
    note = "a backend that can implements `backend::PoolControl`; code that needs it takes `D: PoolControl`"
)]
pub trait PoolControl: Device {
    /// The memory of the pool. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any device error.
    fn pool_statistics(&self) -> Result<PoolStatistics>;

    /// Makes the peaks begin anew from the present values. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any device error.
    fn reset_pool_peaks(&self) -> Result<()>;

    /// Lets the pool keep `len_bytes` bytes when something waits for the device. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The threshold stays as it was.
    fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()>;

    /// Gives back memory that is not in use until the pool holds no more than `keep_bytes`, as far
    /// as it can.
    ///
    /// # Errors
    ///
    /// Any device error.
    fn trim_pool(&self, keep_bytes: usize) -> Result<()>;
}
