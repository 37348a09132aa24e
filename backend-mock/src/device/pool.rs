//! The simulated pool of device memory: it keeps freed memory up to a threshold, which every wait
//! applies.

use devarray::{
    Result,
    backend::{Capability, PoolControl, PoolStatistics},
};

use super::MockDevice;
use crate::{
    engine::{Engine, Memory},
    fault::Site,
};

impl MockDevice {
    fn with_pool<R>(&self, operation: &'static str, call: impl FnOnce(&mut Memory) -> R) -> Result<R> {
        self.check(operation, Capability::MemoryPool)?;
        let mut engine = self.shared().engine();
        engine.enter(Site::Pool)?;
        Ok(call(Engine::pool(&mut engine)))
    }
}

impl PoolControl for MockDevice {
    fn pool_statistics(&self) -> Result<PoolStatistics> {
        self.with_pool("pool_statistics", |pool| pool.pool())
    }

    fn reset_pool_peaks(&self) -> Result<()> {
        self.with_pool("reset_pool_peaks", Memory::reset_peaks)
    }

    fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()> {
        self.with_pool("set_pool_release_threshold", |pool| pool.set_threshold(len_bytes))
    }

    fn trim_pool(&self, keep_bytes: usize) -> Result<()> {
        self.with_pool("trim_pool", |pool| pool.trim(keep_bytes))
    }
}
