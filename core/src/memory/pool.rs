//! The pool from which a device allocates.

use crate::{
    Context, Result,
    backend::{PoolControl, PoolStatistics},
};

impl<D: PoolControl> Context<D> {
    /// The state of the device's pool, which all contexts of the process share. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported): the device has no such pool. Any other
    /// device error.
    #[doc(alias = "used_bytes")]
    #[doc(alias = "total_bytes")]
    pub fn pool_statistics(&self) -> Result<PoolStatistics> {
        self.0.device.pool_statistics()
    }

    /// Resets the peaks of the pool to its present state. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`pool_statistics`](Self::pool_statistics).
    pub fn reset_pool_peaks(&self) -> Result<()> {
        self.0.device.reset_pool_peaks()
    }

    /// Lets the pool keep `len_bytes` bytes that nobody uses; it gives the rest back when something
    /// waits for the device. Without a threshold the pool keeps all. Memory that is kept can be
    /// allocated again at once. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`pool_statistics`](Self::pool_statistics); the threshold stays as it was.
    pub fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()> {
        self.0.device.set_pool_release_threshold(len_bytes)
    }

    /// Gives memory that nobody uses back to the system, until the pool holds no more than
    /// `keep_bytes`. Memory whose free is not finished stays: wait for it first. May block for as
    /// long as the driver takes.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// drop(Array::<u8, _>::zeros(&stream, &[1000])?);
    /// stream.synchronize()?;
    /// assert!(context.pool_statistics()?.reserved_bytes >= 1000); // kept for the next
    /// context.trim_pool(0)?;
    /// assert_eq!(context.pool_statistics()?.reserved_bytes, 0);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`pool_statistics`](Self::pool_statistics).
    #[doc(alias = "free_all_blocks")]
    pub fn trim_pool(&self, keep_bytes: usize) -> Result<()> {
        self.0.device.trim_pool(keep_bytes)
    }
}
