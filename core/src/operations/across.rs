//! Copies between two contexts: two devices, or two backends.

use std::{ptr, sync::Arc};

use super::Elements;
use crate::{LayoutError, Result, backend::Device, staging::SLOT_BYTES, stream::StreamCore};

impl<D: Device> StreamCore<D> {
    /// Copies elements of another context here, through host memory. `self` writes, `src_stream`
    /// reads. Blocks until the source was read.
    ///
    /// No lock of one context is held while a lock of the other is taken.
    #[track_caller]
    pub(crate) fn copy_across<S: Device>(
        &self,
        dst: &Elements<'_, D>,
        src_stream: &StreamCore<S>,
        src: &Elements<'_, S>,
    ) -> Result<()> {
        self.check_unrecorded("copy_across", [dst.allocation])?;
        src_stream.check_unrecorded("copy_across", [src.allocation])?;
        if src.item_bytes != dst.item_bytes {
            let reason = "source and destination differ in element size";
            return Err(LayoutError::ElementSize { item_bytes: src.item_bytes, reason }.into());
        }
        // The contexts may have different devices, whose addresses cannot be compared.
        if ptr::addr_eq(Arc::as_ptr(&self.core), Arc::as_ptr(&src_stream.core)) {
            self.check_disjoint(src, src.layout, dst, false)?;
        }
        let plan = self.plan(dst.layout, src.layout, dst.item_bytes)?;
        for block in plan.blocks(SLOT_BYTES) {
            let mut slot = self.core.staging.acquire(&*self.core, block.len_bytes())?;
            let pack = block.pack().within(&src_stream.core.device.info().capabilities);
            src_stream.download_plan(src, &pack, slot.bytes_mut(block.len_bytes()))?;
            self.upload_slot(dst, &block.unpack(), slot)?;
        }
        Ok(())
    }
}
