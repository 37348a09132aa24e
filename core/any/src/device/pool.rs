//! The pool of device memory.

use devarray::{
    Result,
    backend::{PoolControl, PoolStatistics},
};

use super::AnyDevice;

impl PoolControl for AnyDevice {
    #[inline]
    fn pool_statistics(&self) -> Result<PoolStatistics> {
        on_each!((Self, self, device) => device.pool_statistics())
    }

    #[inline]
    fn reset_pool_peaks(&self) -> Result<()> {
        on_each!((Self, self, device) => device.reset_pool_peaks())
    }

    #[inline]
    fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()> {
        on_each!((Self, self, device) => device.set_pool_release_threshold(len_bytes))
    }

    #[inline]
    fn trim_pool(&self, keep_bytes: usize) -> Result<()> {
        on_each!((Self, self, device) => device.trim_pool(keep_bytes))
    }
}
