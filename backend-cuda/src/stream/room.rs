//! Memory of the device: how much is free, and what is given back when there is no room.
#![allow(unsafe_code)] // waits for streams that are alive

use std::num::NonZeroUsize;

use devarray::{Result, backend::MemoryInfo};

use super::{Streams, free_idle, workspace};
use crate::{
    context::Context,
    driver::{
        Answer, Driver, OUT_OF_MEMORY, out_of_memory,
        sys::{CUdeviceptr, CUmemPool_attribute},
    },
};

/// `context` is the context of the streams.
impl Streams {
    /// Waits for the streams that are open and gives memory the pool caches back to the device.
    ///
    /// Not for the whole context: other libraries of the process may have work of their own in it.
    pub(crate) fn reclaim(&self, context: &Context) {
        // A stream that captures runs nothing, and may not be waited for.
        for stream in self.open().iter().filter(|stream| !stream.captures()) {
            free_idle(stream);
            workspace::free(stream);
            context.release("reclaim memory", |driver| {
                // SAFETY: the stream is alive, and its context bound.
                unsafe { driver.stream_synchronize(stream.raw()) }
            });
        }
        if let Err(error) = context.trim_to("reclaim memory", 0) {
            context.driver().report(error);
        }
    }

    /// Returns to the pool the memory that streams keep for reuse. Does not synchronize.
    pub(crate) fn free_idle(&self) {
        self.open().iter().for_each(|stream| free_idle(stream));
    }

    /// Allocates memory of the device. Without room, tries again after giving unused memory back.
    pub(crate) fn alloc(
        &self,
        context: &Context,
        operation: &'static str,
        len_bytes: NonZeroUsize,
        alloc: impl Fn(&Driver, *mut CUdeviceptr) -> Answer,
    ) -> Result<CUdeviceptr> {
        let mut address = 0;
        let mut attempt = || context.bind().and_then(|driver| alloc(driver, &raw mut address));
        let allocated = attempt().or_else(|failure| {
            if failure != OUT_OF_MEMORY {
                return Err(failure);
            }
            self.reclaim(context);
            attempt()
        });
        allocated.map(|()| address).map_err(|failure| match failure {
            OUT_OF_MEMORY => {
                let room = self.memory(context, operation).ok();
                let room = room.map(|memory| (memory.free_bytes, memory.total_bytes));
                out_of_memory(operation, len_bytes.get(), room)
            }
            _ => context.error(operation, failure),
        })
    }

    /// Memory of the device. Memory cached by the pool counts as free, since any allocation here
    /// can use it.
    pub(crate) fn memory(&self, context: &Context, operation: &'static str) -> Result<MemoryInfo> {
        self.free_idle();
        let (free, total) = context.free_bytes(operation)?;
        let reserved =
            context.pool_bytes(operation, CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        let used = context.pool_bytes(operation, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        Ok(MemoryInfo::new(free.saturating_add(reserved.saturating_sub(used)).min(total), total))
    }
}
