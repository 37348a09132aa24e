//! The memory that the device keeps for later.

use devarray::{
    Result,
    backend::{PoolControl, PoolStatistics},
};

use super::HostDevice;

impl PoolControl for HostDevice {
    fn pool_statistics(&self) -> Result<PoolStatistics> {
        Ok(self.shared.room.statistics())
    }

    fn reset_pool_peaks(&self) -> Result<()> {
        self.shared.room.reset_peaks();
        Ok(())
    }

    fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()> {
        self.shared.room.set_threshold(len_bytes);
        Ok(())
    }

    fn trim_pool(&self, keep_bytes: usize) -> Result<()> {
        self.shared.room.trim(keep_bytes);
        Ok(())
    }
}
