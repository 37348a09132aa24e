//! The memory of a device and of its pool, in bytes.
#![allow(unsafe_code)] // calls the driver with the pool of an open device

use devarray::Result;

use crate::{context::Context, driver::sys::CUmemPool_attribute};

impl Context {
    /// Free bytes of the driver, without the pool's cache, and total bytes.
    pub(crate) fn free_bytes(&self, operation: &'static str) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        self.call(operation, |driver| {
            // SAFETY: the pointers are to locals of the right type, and the context is bound.
            unsafe { driver.mem_get_info(&raw mut free, &raw mut total) }
        })?;
        Ok((free, total))
    }

    pub(crate) fn pool_bytes(
        &self,
        operation: &'static str,
        attribute: CUmemPool_attribute,
    ) -> Result<usize> {
        let mut bytes = 0_u64;
        self.call(operation, |driver| {
            // SAFETY: every attribute asked for here is a `cuuint64_t`, and the pool is the
            // device's own.
            unsafe { driver.mem_pool_get_attribute(self.pool().raw(), attribute, (&raw mut bytes).cast()) }
        })?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Gives cached memory back to the device, until the pool holds at most `keep_bytes`.
    pub(crate) fn trim_to(&self, operation: &'static str, keep_bytes: usize) -> Result<()> {
        self.call(operation, |driver| {
            // SAFETY: the pool is the device's own; trimming takes nothing that is allocated.
            unsafe { driver.mem_pool_trim_to(self.pool().raw(), keep_bytes) }
        })
    }

    /// Sets an attribute that is a number of bytes.
    pub(crate) fn set_pool_bytes(
        &self,
        operation: &'static str,
        attribute: CUmemPool_attribute,
        len_bytes: u64,
    ) -> Result<()> {
        let mut value = len_bytes;
        self.call(operation, |driver| {
            // SAFETY: the attributes set here are `cuuint64_t`, and the pool is the device's own.
            unsafe { driver.mem_pool_set_attribute(self.pool().raw(), attribute, (&raw mut value).cast()) }
        })
    }
}
