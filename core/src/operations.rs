//! What arrays ask of the device: checked here, planned, ordered, submitted.
#![allow(unsafe_code)] // moves a caller's slice to and from staging memory by checked plans

mod across;

use std::{collections::VecDeque, ops::Range};

use crate::{
    LayoutError, Result,
    allocation::Allocation,
    backend::{CopyOp, Device, DownloadOp, FillOp, Stream, UploadOp},
    copy::{Class, Plan, execute},
    layout::{Layout, NdLayout, Order},
    order::{Footprint, Touch},
    staging::{BusySlot, LentSlot, SLOT_BYTES},
    statistics::Work,
    stream::StreamCore,
};

/// Pieces of a download in flight: one is unpacked on the host while the device works on the next.
const DOWNLOADS_IN_FLIGHT: usize = 2;

/// Elements of one allocation. The layout is known to lie inside it.
#[derive(Debug)]
pub(crate) struct Elements<'a, D: Device> {
    pub(crate) allocation: &'a Allocation<D>,
    pub(crate) layout: &'a Layout,
    pub(crate) item_bytes: usize,
}

impl<'a, D: Device> Elements<'a, D> {
    pub(crate) fn touch(&self, write: bool) -> Touch<'a, D> {
        let footprint = Footprint::of(self.layout, self.item_bytes);
        Touch { allocation: self.allocation, footprint, write }
    }
}

impl<D: Device> StreamCore<D> {
    /// Copies elements to elements of the same shape. Does not synchronize.
    #[track_caller]
    pub(crate) fn copy(&self, dst: &Elements<'_, D>, src: &Elements<'_, D>) -> Result<()> {
        self.check_context("copy", [&dst.allocation.core, &src.allocation.core])?;
        let plan = self.plan(dst.layout, src.layout, dst.item_bytes)?;
        self.submit_copy(dst.touch(true), src.touch(false), &plan)
    }

    /// Repeats one element, given in bytes. Does not synchronize.
    #[track_caller]
    pub(crate) fn fill(&self, dst: &Elements<'_, D>, item: &[u8]) -> Result<()> {
        self.check_context("fill", [&dst.allocation.core])?;
        if dst.layout.is_empty() {
            return Ok(());
        }
        if !matches!(item.len(), 1 | 2 | 4 | 8 | 16) {
            return self.fill_by_copy(dst, item);
        }
        let plan = self.plan(dst.layout, dst.layout, item.len())?;
        let _submission = self.admit(Work::Fill { len_bytes: plan.len_bytes() }, &[dst.touch(true)])?;
        self.raw.fill(&FillOp { dst: dst.allocation.buffer(), plan: &plan, pattern: item })
    }

    /// Devices fill with 1 to 16 bytes. Any other element is put on the device once and broadcast from there.
    #[track_caller]
    fn fill_by_copy(&self, dst: &Elements<'_, D>, item: &[u8]) -> Result<()> {
        let one = Allocation::new(self, item.len())?;
        let scalar = Layout::new(&[], &[], 0)?;
        let source = Elements { allocation: &one, layout: &scalar, item_bytes: item.len() };
        self.upload(&source, item, &scalar)?;
        let repeated = scalar.broadcast_to(dst.layout.shape())?;
        self.copy(dst, &Elements { layout: &repeated, ..source })
    }

    /// Copies host elements of the same shape to the device. Does not synchronize: the slice is free on return (see
    /// [staging](crate::manual::_3_host_memory) for when it may wait).
    #[track_caller]
    pub(crate) fn upload(&self, dst: &Elements<'_, D>, src: &[u8], src_layout: &Layout) -> Result<()> {
        self.check_context("upload", [&dst.allocation.core])?;
        check_inside(src_layout, dst.item_bytes, src.len())?;
        let plan = self.plan(dst.layout, src_layout, dst.item_bytes)?;
        for block in plan.blocks(SLOT_BYTES) {
            let mut slot = self.core.staging.acquire(&self.core, block.len_bytes())?;
            let staged = slot.bytes_mut(block.len_bytes());
            // SAFETY: the source layout lies inside `src`, the packed side inside the block's length, and the slot is
            // memory of its own.
            unsafe { execute(&block.pack(), src.as_ptr(), staged.as_mut_ptr()) };
            let slot = slot.lend();
            let enqueued = self.upload_block(dst, &block, &slot);
            // Also after an error: part of the block may be under way.
            self.core.staging.give_back_busy(slot.until_now(self)?);
            enqueued?;
        }
        Ok(())
    }

    #[track_caller]
    fn upload_block(&self, dst: &Elements<'_, D>, block: &Plan, slot: &LentSlot<D>) -> Result<()> {
        if let Some(range) = block.dense_dst_range() {
            return self.submit_upload(dst.allocation, range, slot.as_ptr());
        }
        let scratch = Allocation::new(self, block.len_bytes())?;
        self.submit_upload(&scratch, 0..block.len_bytes(), slot.as_ptr())?;
        let whole =
            Touch { allocation: &scratch, footprint: Footprint::solid(0, block.len_bytes()), write: false };
        self.submit_copy(dst.touch(true), whole, &block.unpack())
    }

    /// Copies elements to host elements of the same shape. Blocks until they are there.
    ///
    /// If it fails, the slice may be partly written.
    #[track_caller]
    pub(crate) fn download(&self, src: &Elements<'_, D>, dst: &mut [u8], dst_layout: &Layout) -> Result<()> {
        self.check_context("download", [&src.allocation.core])?;
        check_inside(dst_layout, src.item_bytes, dst.len())?;
        let plan = self.plan(dst_layout, src.layout, src.item_bytes)?;
        self.download_plan(src, &plan, dst)
    }

    /// Downloads what a plan names, whose destination lies inside `dst`.
    #[track_caller]
    fn download_plan(&self, src: &Elements<'_, D>, plan: &Plan, dst: &mut [u8]) -> Result<()> {
        let mut in_flight: VecDeque<(BusySlot<D>, Plan)> = VecDeque::with_capacity(DOWNLOADS_IN_FLIGHT);
        let mut outcome = Ok(());
        for block in plan.blocks(SLOT_BYTES) {
            if in_flight.len() == DOWNLOADS_IN_FLIGHT {
                outcome = outcome.and_then(|()| self.unpack_next(&mut in_flight, dst));
            }
            if outcome.is_ok() {
                outcome = self.start_download(src, block, &mut in_flight);
            }
            if outcome.is_err() {
                break;
            }
        }
        while outcome.is_ok() && !in_flight.is_empty() {
            outcome = self.unpack_next(&mut in_flight, dst);
        }
        for (slot, _) in in_flight {
            self.core.staging.give_back_busy(slot);
        }
        outcome
    }

    /// Not in a closure: those hide from where the call came.
    #[track_caller]
    fn start_download(
        &self,
        src: &Elements<'_, D>,
        block: Plan,
        in_flight: &mut VecDeque<(BusySlot<D>, Plan)>,
    ) -> Result<()> {
        let slot = self.core.staging.acquire(&self.core, block.len_bytes())?.lend();
        let enqueued = self.download_block(src, &block, &slot);
        // Also after an error: part of the block may be under way.
        in_flight.push_back((slot.until_now(self)?, block));
        enqueued
    }

    #[track_caller]
    fn download_block(&self, src: &Elements<'_, D>, block: &Plan, slot: &LentSlot<D>) -> Result<()> {
        if let Some(range) = block.dense_src_range() {
            return self.submit_download(src.allocation, range, slot.as_ptr());
        }
        let scratch = Allocation::new(self, block.len_bytes())?;
        let whole =
            Touch { allocation: &scratch, footprint: Footprint::solid(0, block.len_bytes()), write: true };
        self.submit_copy(whole, src.touch(false), &block.pack())?;
        self.submit_download(&scratch, 0..block.len_bytes(), slot.as_ptr())
    }

    #[track_caller]
    fn unpack_next(&self, in_flight: &mut VecDeque<(BusySlot<D>, Plan)>, dst: &mut [u8]) -> Result<()> {
        let Some((slot, block)) = in_flight.pop_front() else { return Ok(()) };
        let slot = slot.wait(&self.core)?;
        let staged = slot.bytes(block.len_bytes());
        // SAFETY: the destination layout lies inside `dst` and reaches no element twice, the packed side lies inside
        // the block's length, and the slot is memory of its own.
        unsafe { execute(&block.unpack(), staged.as_ptr(), dst.as_mut_ptr()) };
        self.core.staging.give_back(slot);
        Ok(())
    }

    /// Copies host elements in C order straight from their memory. Does not synchronize.
    ///
    /// # Safety
    ///
    /// All elements are readable from `src` on and stay so, unchanged, until a wait covers what was enqueued, also if
    /// this returns an error.
    #[track_caller]
    pub(crate) unsafe fn upload_direct(&self, dst: &Elements<'_, D>, src: *const u8) -> Result<()> {
        self.check_context("upload", [&dst.allocation.core])?;
        let host = Layout::contiguous(dst.layout.shape(), Order::C)?;
        let plan = self.plan(dst.layout, &host, dst.item_bytes)?;
        let len_bytes = plan.len_bytes();
        match plan.class() {
            Class::Empty => Ok(()),
            Class::Linear => {
                let start = plan.dst_offset_bytes();
                self.submit_upload(dst.allocation, start..start + len_bytes, src)
            }
            _ => {
                let scratch = Allocation::new(self, len_bytes)?;
                self.submit_upload(&scratch, 0..len_bytes, src)?;
                let whole = Footprint::solid(0, len_bytes);
                let whole = Touch { allocation: &scratch, footprint: whole, write: false };
                self.submit_copy(dst.touch(true), whole, &plan)
            }
        }
    }

    /// Copies elements in C order straight to host memory. Does not synchronize.
    ///
    /// # Safety
    ///
    /// All elements are writable from `dst` on and nobody else's until a wait covers what was enqueued, also if this
    /// returns an error.
    #[track_caller]
    pub(crate) unsafe fn download_direct(&self, src: &Elements<'_, D>, dst: *mut u8) -> Result<()> {
        self.check_context("download", [&src.allocation.core])?;
        let host = Layout::contiguous(src.layout.shape(), Order::C)?;
        let plan = self.plan(&host, src.layout, src.item_bytes)?;
        let len_bytes = plan.len_bytes();
        match plan.class() {
            Class::Empty => Ok(()),
            Class::Linear => {
                let start = plan.src_offset_bytes();
                self.submit_download(src.allocation, start..start + len_bytes, dst)
            }
            _ => {
                let scratch = Allocation::new(self, len_bytes)?;
                let whole = Footprint::solid(0, len_bytes);
                let whole = Touch { allocation: &scratch, footprint: whole, write: true };
                self.submit_copy(whole, src.touch(false), &plan)?;
                self.submit_download(&scratch, 0..len_bytes, dst)
            }
        }
    }

    fn plan(&self, dst: &Layout, src: &Layout, item_bytes: usize) -> Result<Plan> {
        Ok(Plan::new(dst, src, item_bytes, &self.core.device.info().capabilities)?)
    }

    #[track_caller]
    fn submit_copy(&self, dst: Touch<'_, D>, src: Touch<'_, D>, plan: &Plan) -> Result<()> {
        if plan.len_bytes() == 0 {
            return Ok(());
        }
        let op = CopyOp { dst: dst.allocation.buffer(), src: src.allocation.buffer(), plan };
        let _submission = self.admit(Work::Copy { len_bytes: plan.len_bytes() }, &[dst, src])?;
        self.raw.copy(&op)
    }

    #[track_caller]
    fn submit_upload(&self, dst: &Allocation<D>, range: Range<usize>, src: *const u8) -> Result<()> {
        let touch =
            Touch { allocation: dst, footprint: Footprint::solid(range.start, range.end), write: true };
        let (dst, dst_offset_bytes, len_bytes) = (dst.buffer(), range.start, range.len());
        let op = UploadOp { dst, dst_offset_bytes, src, len_bytes };
        let _submission = self.admit(Work::Upload { len_bytes }, &[touch])?;
        self.raw.upload(&op)
    }

    #[track_caller]
    fn submit_download(&self, src: &Allocation<D>, range: Range<usize>, dst: *mut u8) -> Result<()> {
        let touch =
            Touch { allocation: src, footprint: Footprint::solid(range.start, range.end), write: false };
        let (src, src_offset_bytes, len_bytes) = (src.buffer(), range.start, range.len());
        let op = DownloadOp { src, src_offset_bytes, dst, len_bytes };
        let _submission = self.admit(Work::Download { len_bytes }, &[touch])?;
        self.raw.download(&op)
    }
}

/// Refuses a layout that reaches outside memory of `len_bytes`.
pub(crate) fn check_inside(layout: &Layout, item_bytes: usize, len_bytes: usize) -> Result<(), LayoutError> {
    let (span, len) = (layout.span(), len_bytes / item_bytes);
    if span.end <= len || span.is_empty() {
        return Ok(());
    }
    Err(LayoutError::OutOfBounds { start: span.start, end: span.end, len })
}
