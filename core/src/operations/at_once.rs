//! Copies between host memory and the memory of a device that reaches host memory: one copy each
//! way.
#![allow(unsafe_code)] // lends memory of the host for the time of a call

use super::Elements;
use crate::{
    Result,
    backend::{CopyOp, Device, RunsAtOnce as _, Stream as _},
    copy::Plan,
    hazards::Position,
    statistics::Work,
    stream::StreamCore,
};

impl<D: Device> StreamCore<D> {
    /// Copies by the plan from host memory, if the stream copies inside the call. Returns whether
    /// it did.
    ///
    /// # Safety
    ///
    /// The source of the plan, counted from `src`, is readable during the call.
    #[track_caller]
    pub(super) unsafe fn upload_at_once(
        &self,
        dst: &Elements<'_, D>,
        src: *const u8,
        plan: &Plan,
    ) -> Result<bool> {
        let len_bytes = plan.len_bytes();
        if !self.raw.runs_at_once() || len_bytes == 0 {
            return Ok(false);
        }
        // SAFETY: the copy is over when the call returns, and only reads.
        let Some(host) = (unsafe { self.raw.over_host(src.cast_mut(), plan.src_span().end) }) else {
            return Ok(false);
        };
        let op = CopyOp { dst: dst.allocation.buffer(), src: &host, plan, checked: true };
        let work = Work::Upload { len_bytes };
        self.submit(work, &[dst.touch(true)])?.begin().raw().copy(&op).map(|()| true)
    }

    /// Copies by the plan to host memory, if the stream copies inside the call. Returns the position
    /// that is finished then; `None` if it did not copy.
    ///
    /// # Safety
    ///
    /// The destination of the plan, counted from `dst`, is writable, and nobody else uses it during
    /// the call.
    #[track_caller]
    pub(super) unsafe fn download_at_once(
        &self,
        src: &Elements<'_, D>,
        dst: *mut u8,
        plan: &Plan,
    ) -> Result<Option<Position>> {
        let len_bytes = plan.len_bytes();
        if !self.raw.runs_at_once() || len_bytes == 0 {
            return Ok(None);
        }
        // SAFETY: the copy is over when the call returns.
        let Some(host) = (unsafe { self.raw.over_host(dst, plan.dst_span().end) }) else {
            return Ok(None);
        };
        let op = CopyOp { dst: &host, src: src.allocation.buffer(), plan, checked: true };
        let to = self.submit(Work::Download { len_bytes }, &[src.touch(false)])?;
        let to = to.begin_noting(|to| to.position());
        to.raw().copy(&op)?;
        Ok(Some(to.end()))
    }
}
