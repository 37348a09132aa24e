//! Operations of arrays on the device: checked here, planned, ordered, submitted.
#![allow(unsafe_code)] // declares what a caller promises of memory that is copied in place

mod across;
mod at_once;
mod borrowed;
mod disjoint;
mod elements;
mod gather;
mod join;
mod launch;
mod map;
mod order;
mod peer;
mod product;
mod reduce;

use std::{ops::Range, sync::Arc};

pub(crate) use self::{
    disjoint::{addresses, are_disjoint},
    elements::{Elements, erased, typed},
    gather::{Sides, next_numbers},
    join::MAX_TOGETHER,
    order::{Called, Typed, outputs_of},
    product::Becomes,
};
use crate::{
    LayoutError, Result,
    allocation::{Allocation, AllocationAccess},
    backend::{CopyOp, Device, DownloadOp, FillOp, Stream, UploadOp},
    copy::{Class, Plan},
    layout::{Layout, Order},
    statistics::Work,
    stream::{Role, StreamCore},
};

impl<D: Device> StreamCore<D> {
    /// Copies elements to elements of the same shape. Does not synchronize.
    #[track_caller]
    pub(crate) fn copy(&self, dst: &Elements<'_, D>, src: &Elements<'_, D>) -> Result<()> {
        self.check_context("copy", [dst.allocation, src.allocation])?;
        self.check_disjoint(src, src.layout, dst, false)?;
        let plan = self.plan(dst.layout, src.layout, dst.item_bytes)?;
        if let Some(recorder) = self.recorder() {
            return recorder.copy(dst, src);
        }
        self.submit_copy(dst.touch(true), src.touch(false), &plan)
    }

    /// Fills with one element, given by its bytes. Does not synchronize.
    #[track_caller]
    pub(crate) fn fill(&self, dst: &Elements<'_, D>, item: &[u8]) -> Result<()> {
        self.check_context("fill", [dst.allocation])?;
        if dst.layout.is_empty() {
            return Ok(());
        }
        if !matches!(item.len(), 1 | 2 | 4 | 8 | 16) {
            return self.fill_by_copy(dst, item);
        }
        if let Some(recorder) = self.recorder() {
            return recorder.fill(dst, item);
        }
        let plan = self.plan(dst.layout, dst.layout, item.len())?;
        let op = FillOp { dst: dst.allocation.buffer(), plan: &plan, pattern: item, checked: true };
        let work = Work::Fill { len_bytes: plan.len_bytes() };
        self.submit(work, &[dst.touch(true)])?.begin().raw().fill(&op)
    }

    /// Devices fill with 1 to 16 bytes. An element of another size is copied to the device once and
    /// broadcast from there. A recording uploads it when the fill is recorded, and keeps it.
    #[track_caller]
    fn fill_by_copy(&self, dst: &Elements<'_, D>, item: &[u8]) -> Result<()> {
        let on = match &self.role {
            Role::Records(_, on) => on,
            Role::Runs | Role::Captures(_) => self,
        };
        let one = Allocation::new(on, item.len())?;
        let scalar = Layout::new(&[], &[], 0)?;
        let source = Elements { allocation: &one, layout: &scalar, item_bytes: item.len() };
        on.upload(&source, item, &scalar)?;
        one.share();
        let repeated = scalar.broadcast_to(dst.layout.shape())?;
        self.copy(dst, &Elements { layout: &repeated, ..source })
    }

    /// Copies host elements in C order straight from their memory. Does not synchronize.
    ///
    /// # Safety
    ///
    /// All elements are readable from `src` on, and stay readable and unchanged until a wait covers
    /// what was enqueued, also if this returns an error.
    #[track_caller]
    pub(crate) unsafe fn upload_direct(&self, dst: &Elements<'_, D>, src: *const u8) -> Result<()> {
        self.check_unrecorded("upload", [dst.allocation])?;
        let host = Layout::contiguous(dst.layout.shape(), Order::C)?;
        let plan = self.plan(dst.layout, &host, dst.item_bytes)?;
        let len_bytes = plan.len_bytes();
        // SAFETY: the elements are readable from `src` on, as the caller promises.
        if unsafe { self.upload_at_once(dst, src, &plan) }? {
            return Ok(());
        }
        match plan.class() {
            Class::Empty => Ok(()),
            Class::Linear => {
                let start = plan.dst_offset_bytes();
                self.submit_upload(dst.allocation, start..start + len_bytes, src)
            }
            _ => {
                let scratch = Allocation::new(self, len_bytes)?;
                self.submit_upload(&scratch, 0..len_bytes, src)?;
                self.submit_copy(dst.touch(true), AllocationAccess::whole(&scratch, false), &plan)
            }
        }
    }

    /// Copies elements in C order straight to host memory. Does not synchronize.
    ///
    /// # Safety
    ///
    /// All elements are writable from `dst` on, and nobody else uses them until a wait covers what
    /// was enqueued, also if this returns an error.
    #[track_caller]
    pub(crate) unsafe fn download_direct(&self, src: &Elements<'_, D>, dst: *mut u8) -> Result<()> {
        self.check_unrecorded("download", [src.allocation])?;
        let host = Layout::contiguous(src.layout.shape(), Order::C)?;
        let plan = self.plan(&host, src.layout, src.item_bytes)?;
        let len_bytes = plan.len_bytes();
        // SAFETY: the elements are writable from `dst` on, as the caller promises.
        if unsafe { self.download_at_once(src, dst, &plan) }?.is_some() {
            return Ok(());
        }
        match plan.class() {
            Class::Empty => Ok(()),
            Class::Linear => {
                let start = plan.src_offset_bytes();
                self.submit_download(src.allocation, start..start + len_bytes, dst)
            }
            _ => {
                let scratch = Allocation::new(self, len_bytes)?;
                self.submit_copy(AllocationAccess::whole(&scratch, true), src.touch(false), &plan)?;
                self.submit_download(&scratch, 0..len_bytes, dst)
            }
        }
    }

    #[track_caller]
    fn plan(&self, dst: &Layout, src: &Layout, item_bytes: usize) -> Result<Plan> {
        Ok(Plan::new(dst, src, item_bytes, &self.core.device.info().capabilities)?)
    }

    #[track_caller]
    fn submit_copy(
        &self,
        dst: AllocationAccess<'_, D>,
        src: AllocationAccess<'_, D>,
        plan: &Plan,
    ) -> Result<()> {
        if plan.len_bytes() == 0 {
            return Ok(());
        }
        let op = CopyOp { dst: dst.allocation.buffer(), src: src.allocation.buffer(), plan, checked: true };
        self.submit(Work::Copy { len_bytes: plan.len_bytes() }, &[dst, src])?.begin().raw().copy(&op)
    }

    #[track_caller]
    fn submit_upload(&self, dst: &Arc<Allocation<D>>, range: Range<usize>, src: *const u8) -> Result<()> {
        let touch = AllocationAccess::of_bytes(dst, range.clone(), true);
        let (dst, dst_offset_bytes, len_bytes) = (dst.buffer(), range.start, range.len());
        let op = UploadOp { dst, dst_offset_bytes, src, len_bytes, checked: true };
        self.submit(Work::Upload { len_bytes }, &[touch])?.begin().raw().upload(&op)
    }

    #[track_caller]
    fn submit_download(&self, src: &Arc<Allocation<D>>, range: Range<usize>, dst: *mut u8) -> Result<()> {
        let touch = AllocationAccess::of_bytes(src, range.clone(), false);
        let (src, src_offset_bytes, len_bytes) = (src.buffer(), range.start, range.len());
        let op = DownloadOp { src, src_offset_bytes, dst, len_bytes, checked: true };
        self.submit(Work::Download { len_bytes }, &[touch])?.begin().raw().download(&op)
    }
}

/// Returns an error if there are more elements than any memory has. Only a layout that repeats
/// elements has that many, and no device would ever finish.
pub(crate) fn check_len(shape: &[usize]) -> Result<(), LayoutError> {
    const MOST: u64 = 1 << 48;
    let len = shape.iter().try_fold(1_u64, |len, &extent| len.checked_mul(extent as u64));
    len.filter(|&len| len <= MOST).map(drop).ok_or(LayoutError::Overflow)
}
