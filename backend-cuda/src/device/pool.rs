//! Questions and settings about the device's own pool.

use devarray::{
    Result,
    backend::{Capability, PoolControl, PoolStatistics},
};

use super::CudaDevice;
use crate::driver::sys::CUmemPool_attribute;

impl PoolControl for CudaDevice {
    fn pool_statistics(&self) -> Result<PoolStatistics> {
        let operation = "pool_statistics";
        self.check(operation, Capability::MemoryPool)?;
        self.open.streams.free_idle();
        let bytes = |attribute| self.context().pool_bytes(operation, attribute);
        let used_bytes = bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        let reserved_bytes = bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        let mut pool = PoolStatistics::new(used_bytes, reserved_bytes);
        pool.peak_used_bytes = bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?;
        pool.peak_reserved_bytes = bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?;
        Ok(pool)
    }

    fn reset_pool_peaks(&self) -> Result<()> {
        let operation = "reset_pool_peaks";
        self.check(operation, Capability::MemoryPool)?;
        self.open.streams.free_idle();
        // Only 0 may be written, which sets the mark to the bytes in use now (cuda.h,
        // `cuMemPoolSetAttribute`).
        self.context().set_pool_bytes(operation, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0)?;
        self.context().set_pool_bytes(operation, CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0)
    }

    fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()> {
        let operation = "set_pool_release_threshold";
        self.check(operation, Capability::MemoryPool)?;
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        self.context().set_pool_bytes(operation, attribute, len_bytes as u64)
    }

    fn trim_pool(&self, keep_bytes: usize) -> Result<()> {
        let operation = "trim_pool";
        self.check(operation, Capability::MemoryPool)?;
        self.open.streams.free_idle();
        self.context().trim_to(operation, keep_bytes)
    }
}
