//! Copies between borrowed host memory and the device, through staging memory.
//!
//! A large copy is cut into pieces. Any free thread copies a piece between the slice and its slot;
//! the device copies it between its slot and device memory. Only the calling thread submits and
//! waits for the device, in an order that follows from the sizes alone, so the operations on the
//! device do not depend on the threads.
//!
//! # Where an upload lies on its way
//!
//! A piece that is written to memory, and read from there by the device, passes through memory
//! three times, which limits the speed with many threads. So an upload has few slots and fills them
//! through the caches, from which the device then reads. The device reads at full speed only if
//! neighbouring data lie in the caches of several processors; one processor alone serves a fraction
//! of the speed of a link. Hence all threads work at one piece, and different threads write
//! neighbouring pages. A share consists of whole pages, because processors read ahead to the end of
//! a page: shares of 4 KiB are faster than shares of 1 or 16 KiB.
//!
//! When there are few threads, their own stores limit them, not memory. They store past the caches,
//! which saves reading each line first, and each thread writes contiguous data. Uploads of a few
//! MiB do the same with any number of threads, and each thread takes a piece.
#![allow(unsafe_code)] // lends the caller's slice to threads that are done with it before the call returns

mod pieces;

use std::collections::VecDeque;

use self::pieces::Pieces;
use super::Elements;
use crate::{
    LayoutError, Result,
    allocation::{Allocation, AllocationAccess},
    backend::{Device, FetchOp, FetchSource, Fetches as _, Quiesced},
    copy::{Class, Plan},
    layout::{Layout, check_inside},
    staging::{BusySlot, Copier, LentSlot, Slot, SlotInCopy, Staging},
    statistics::Work,
    stream::StreamCore,
};

/// The most pieces between slice and slots at a time, if one thread copies each. They keep the
/// threads busy, even when one of them is slow.
const PIECES_AT_WORK: usize = 24;

/// The most pieces at the beginning of an upload. Each piece that is submitted allows one more.
/// Handing out a piece costs some microseconds, and the link waits for the first.
const PIECES_AT_FIRST: usize = 8;

/// The most pieces if all threads work at the oldest: when it is done, they have another.
const SHARED_PIECES_AT_WORK: usize = 4;

/// The number of pieces of one download between device and slots at a time.
const DOWNLOADS_IN_FLIGHT: usize = 8;

/// The bytes between slots of one size and device at a time, of all uploads of one stream: few
/// enough to stay in the caches, and enough to keep the link busy while the caller waits for the
/// threads.
const UPLOADED_IN_FLIGHT_BYTES: usize = 8 << 20;

/// The smallest copy, in bytes, for which a thread is woken: it takes some tens of microseconds.
const MIN_SHARED_BYTES: usize = 2 << 20;

/// The smallest upload, in bytes, whose pieces all threads fill together. Pieces of a smaller
/// upload are so small that sharing each costs more than it gains.
const MIN_TOGETHER_BYTES: usize = 8 << 20;

/// The threads that pack the pieces of an upload.
fn packed_by(len_bytes: usize, threads: usize) -> Copier {
    /// With six threads, both ways are equally fast.
    const MANY_THREADS: usize = 8;
    match len_bytes {
        _ if len_bytes < MIN_SHARED_BYTES => Copier::Caller,
        _ if len_bytes < MIN_TOGETHER_BYTES => Copier::Thread,
        _ if threads >= MANY_THREADS => Copier::Pages,
        _ => Copier::Parts,
    }
}

/// The number of pieces of an upload between slice and slots at a time: at first, and at most. It
/// does not depend on the threads, because the device sees it.
fn packed_at_once(len_bytes: usize) -> (usize, usize) {
    if len_bytes < MIN_TOGETHER_BYTES {
        (PIECES_AT_FIRST, PIECES_AT_WORK)
    } else {
        (SHARED_PIECES_AT_WORK, SHARED_PIECES_AT_WORK)
    }
}

/// The threads that unpack the pieces of a download.
fn unpacked_by(len_bytes: usize) -> Copier {
    if len_bytes < MIN_SHARED_BYTES { Copier::Caller } else { Copier::Thread }
}

/// The smallest upload, in bytes, that may be cut in the order of the host. Below it, the
/// additional copies on the device cost more than they save.
const MIN_TURNED_BYTES: usize = 64 << 10;

/// The length of contiguous bytes on the host from which on a copy is as fast as memory.
const LONG_RUN_BYTES: usize = 256;

/// The plan that is cut into pieces: the upload's own, or the reversed plan, which has the host's
/// order.
struct Cut {
    plan: Plan,
    in_host_order: bool,
}

impl Cut {
    /// Chooses the order of the host if the device's order makes runs on the host short. The device
    /// then does the transpose, many times faster.
    fn of(plan: Plan) -> Self {
        let runs = plan.run_bytes();
        if plan.len_bytes() >= MIN_TURNED_BYTES && runs < LONG_RUN_BYTES {
            let runs = plan.pack().run_bytes();
            if runs < LONG_RUN_BYTES
                && let Some(back) = plan.reversed()
                && back.unpack().run_bytes() > runs
                && back.reversed().is_some()
            {
                return Self { plan: back, in_host_order: true };
            }
        }
        Self { plan, in_host_order: false }
    }

    /// The two copies of a piece: from the slice to a slot, and from the slot to the device.
    fn halves(&self, block: &Plan) -> Result<(Plan, Plan), LayoutError> {
        if !self.in_host_order {
            return Ok((block.pack(), block.unpack()));
        }
        // Neither side reaches a byte twice: `of` checked this for the whole plan.
        let reversed = |plan: Plan| plan.reversed().ok_or(LayoutError::AliasedDestination);
        Ok((reversed(block.unpack())?, reversed(block.pack())?))
    }
}

/// Pieces that threads copy between slice and slots, each with the plan of its second copy, oldest
/// first. Dropping them gives the slots back, and no thread uses the slice any more.
type AtWork<'a, D> = VecDeque<(SlotInCopy<'a, D>, Plan)>;

/// Pieces of a download that the device copies to slots, oldest first. Dropping them gives the
/// slots back as busy ones.
struct InFlight<'a, D: Device> {
    pieces: VecDeque<(BusySlot<D>, Plan)>,
    staging: &'a Staging<D>,
}

impl<D: Device> Drop for InFlight<'_, D> {
    fn drop(&mut self) {
        for (slot, _) in self.pieces.drain(..) {
            self.staging.give_back_busy(slot);
        }
    }
}

impl<D: Device> StreamCore<D> {
    /// Copies host elements of the same shape to the device. Does not synchronize: the slice is
    /// free on return (see [staging](crate::manual::_3_host_memory) for when it may wait).
    #[track_caller]
    pub(crate) fn upload(&self, dst: &Elements<'_, D>, src: &[u8], src_layout: &Layout) -> Result<()> {
        self.check_unrecorded("upload", [dst.allocation])?;
        check_inside(src_layout, dst.item_bytes, src.len())?;
        let plan = self.plan(dst.layout, src_layout, dst.item_bytes)?;
        // SAFETY: the source layout lies inside `src`.
        if unsafe { self.upload_at_once(dst, src.as_ptr(), &plan) }? {
            return Ok(());
        }
        let by = packed_by(plan.len_bytes(), self.core.staging.copy_pool.most());
        let cut = Cut::of(plan);
        let (mut now_at_work, most_at_work) = packed_at_once(cut.plan.len_bytes());
        let mut at_work = AtWork::with_capacity(most_at_work);
        let mut pieces = Pieces::new(&cut.plan);
        while let Some(block) = pieces.next() {
            let (to_slot, to_device) = cut.halves(&block)?;
            if at_work.len() == now_at_work {
                self.upload_oldest(dst, &mut at_work)?;
                now_at_work = most_at_work.min(now_at_work + 1);
            }
            let slot = loop {
                let (lane, len_bytes) = (self.lane.index, pieces.slot_bytes());
                match self.core.staging.acquire_within(&*self.core, lane, UPLOADED_IN_FLIGHT_BYTES, len_bytes)
                {
                    // The slots of this copy itself may be all there are.
                    Err(error) if error.is_retryable() && !at_work.is_empty() => {
                        self.upload_oldest(dst, &mut at_work)?;
                    }
                    acquired => break acquired?,
                }
            };
            // SAFETY: the source layout lies inside `src`, which is borrowed until this returns; by
            // then all that is in `at_work` is finished or dropped.
            let in_copy = unsafe { self.core.staging.pack(slot, to_slot, src.as_ptr(), by) };
            at_work.push_back((in_copy, to_device));
        }
        while !at_work.is_empty() {
            self.upload_oldest(dst, &mut at_work)?;
        }
        Ok(())
    }

    /// Waits for the threads, not for the device.
    #[track_caller]
    fn upload_oldest(&self, dst: &Elements<'_, D>, at_work: &mut AtWork<'_, D>) -> Result<()> {
        let Some((in_copy, to_device)) = at_work.pop_front() else { return Ok(()) };
        self.upload_slot(dst, &to_device, in_copy.finish())
    }

    /// Copies a slot to the device, as the plan says.
    #[track_caller]
    pub(super) fn upload_slot(&self, dst: &Elements<'_, D>, plan: &Plan, slot: Slot<D>) -> Result<()> {
        let slot = slot.lend();
        let enqueued = self.upload_block(dst, plan, &slot);
        // The slot is marked busy also after an error: part of the block may be under way.
        self.core.staging.give_back_busy(self.in_use(slot)?);
        enqueued
    }

    #[track_caller]
    fn upload_block(&self, dst: &Elements<'_, D>, plan: &Plan, slot: &LentSlot<D>) -> Result<()> {
        if matches!(plan.class(), Class::Linear) {
            return self.submit_upload(dst.allocation, plan.dst_span(), slot.as_ptr());
        }
        let len_bytes = plan.len_bytes();
        let scratch = Allocation::new(self, len_bytes)?;
        self.submit_upload(&scratch, 0..len_bytes, slot.as_ptr())?;
        self.submit_copy(dst.touch(true), AllocationAccess::whole(&scratch, false), plan)
    }

    /// Copies elements to host elements of the same shape. Blocks until they are there.
    ///
    /// If it fails, the slice may be partly written.
    #[track_caller]
    pub(crate) fn download(&self, src: &Elements<'_, D>, dst: &mut [u8], dst_layout: &Layout) -> Result<()> {
        self.check_unrecorded("download", [src.allocation])?;
        check_inside(dst_layout, src.item_bytes, dst.len())?;
        let plan = self.plan(dst_layout, src.layout, src.item_bytes)?;
        if self.fetch_plan(src, &plan, dst)? {
            return Ok(());
        }
        self.download_plan(src, &plan, dst)
    }

    /// Fetches a few bytes that are contiguous on both sides, if the backend has a quicker way for
    /// them. Blocks until they are there; returns whether it could.
    #[track_caller]
    fn fetch_plan(&self, src: &Elements<'_, D>, plan: &Plan, dst: &mut [u8]) -> Result<bool> {
        let len_bytes = plan.len_bytes();
        if len_bytes > self.raw.most_fetched_bytes() || !matches!(plan.class(), Class::Linear) {
            return Ok(false);
        }
        let start = plan.src_offset_bytes();
        let touch = AllocationAccess::of_bytes(src.allocation, start..start + len_bytes, false);
        let op = FetchOp { source: FetchSource::Bytes(src.allocation.buffer(), start), len_bytes };
        let dst = &mut dst[plan.dst_offset_bytes()..][..len_bytes];
        self.fetch(&op, Work::Download { len_bytes }, &[touch], dst).map(|()| true)
    }

    /// Fetches a few bytes. Blocks until they are there.
    #[track_caller]
    pub(super) fn fetch(
        &self,
        op: &FetchOp<'_, D::Buffer>,
        work: Work,
        touches: &[AllocationAccess<'_, D>],
        dst: &mut [u8],
    ) -> Result<()> {
        let to = self.submit(work, touches)?.begin_noting(|to| to.position());
        let (begun, position) = (to.raw().fetch(op)?, to.end());
        self.core.program_waited(self.raw.fetched(begun, dst), &position).into_result()
    }

    /// Downloads by a plan, whose destination lies inside `dst` and reaches no element twice.
    #[track_caller]
    pub(super) fn download_plan(&self, src: &Elements<'_, D>, plan: &Plan, dst: &mut [u8]) -> Result<()> {
        // The pointer is made once, because threads use it while the next piece is handed out.
        let dst = dst.as_mut_ptr();
        // SAFETY: the destination lies inside the slice.
        if let Some(over) = unsafe { self.download_at_once(src, dst, plan) }? {
            return self.core.program_waited(Quiesced::Done, &over).into_result();
        }
        let pieces = VecDeque::with_capacity(DOWNLOADS_IN_FLIGHT);
        let in_flight = &mut InFlight { pieces, staging: &self.core.staging };
        let by = unpacked_by(plan.len_bytes());
        let mut at_work = AtWork::with_capacity(PIECES_AT_WORK);
        let mut pieces = Pieces::new(plan);
        // The position that the last wait covers.
        let mut last = None;
        while let Some(block) = pieces.next() {
            if in_flight.pieces.len() == DOWNLOADS_IN_FLIGHT {
                // SAFETY: the destination lies inside the slice, which is borrowed until this
                // returns; by then all that is in `at_work` is finished or dropped.
                unsafe { self.unpack_oldest(in_flight, &mut at_work, dst, by) }?;
            }
            if at_work.len() == PIECES_AT_WORK {
                self.finish_oldest(&mut at_work);
            }
            let slot = loop {
                match self.core.staging.acquire(&*self.core, pieces.slot_bytes()) {
                    // The slots of this copy itself may be all there are.
                    Err(error)
                        if error.is_retryable() && !(at_work.is_empty() && in_flight.pieces.is_empty()) =>
                    {
                        if at_work.is_empty() {
                            // SAFETY: as above.
                            unsafe { self.unpack_oldest(in_flight, &mut at_work, dst, by) }?;
                        }
                        self.finish_oldest(&mut at_work);
                    }
                    acquired => break acquired?,
                }
            };
            let slot = slot.lend();
            let enqueued = self.download_block(src, &block, &slot);
            // The slot is marked busy also after an error: part of the block may be under way.
            let slot = self.in_use(slot)?;
            last = Some(slot.position());
            in_flight.pieces.push_back((slot, block));
            enqueued?;
        }
        while !in_flight.pieces.is_empty() {
            // SAFETY: as above.
            unsafe { self.unpack_oldest(in_flight, &mut at_work, dst, by) }?;
        }
        while !at_work.is_empty() {
            self.finish_oldest(&mut at_work);
        }
        last.map_or(Ok(()), |last| self.core.program_waited(Quiesced::Done, &last).into_result())
    }

    #[track_caller]
    fn download_block(&self, src: &Elements<'_, D>, block: &Plan, slot: &LentSlot<D>) -> Result<()> {
        if let Some(range) = block.dense_src_range() {
            return self.submit_download(src.allocation, range, slot.as_ptr());
        }
        let scratch = Allocation::new(self, block.len_bytes())?;
        self.submit_copy(AllocationAccess::whole(&scratch, true), src.touch(false), &block.pack())?;
        self.submit_download(&scratch, 0..block.len_bytes(), slot.as_ptr())
    }

    /// Waits for the device, then lets threads copy the slot to `dst`.
    ///
    /// # Safety
    ///
    /// The destination of the piece, counted from `dst`, is writable, and nobody else uses it,
    /// until the entry of `at_work` is finished or dropped.
    unsafe fn unpack_oldest<'a>(
        &'a self,
        in_flight: &mut InFlight<'_, D>,
        at_work: &mut AtWork<'a, D>,
        dst: *mut u8,
        by: Copier,
    ) -> Result<()> {
        let Some((slot, block)) = in_flight.pieces.pop_front() else { return Ok(()) };
        let slot = slot.wait(&*self.core)?;
        // SAFETY: the caller's promise; a plan reaches no byte of its destination twice, so no two
        // pieces share one.
        let in_copy = unsafe { self.core.staging.unpack(slot, block.unpack(), dst, by) };
        at_work.push_back((in_copy, block));
        Ok(())
    }

    /// Waits for the threads.
    fn finish_oldest(&self, at_work: &mut AtWork<'_, D>) {
        if let Some((in_copy, _)) = at_work.pop_front() {
            self.core.staging.give_back(in_copy.finish());
        }
    }
}
