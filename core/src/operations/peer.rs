//! Copies between two devices of one backend, in place.

use std::sync::Arc;

use super::Elements;
use crate::{
    Crossing, LayoutError, Result,
    allocation::AllocationAccess,
    backend::{CopyOp, Event, PeerAccess},
    hazards::Position,
    lock::lock,
    statistics::Work,
    stream::{StreamCore, Submission},
};

const OPERATION: &str = "copy_from_peer";

impl<D: PeerAccess> StreamCore<D> {
    /// Copies elements of another context here: in place if this device reaches the other's memory,
    /// else like [`copy_across`](Self::copy_across). `self` writes, `src_stream` reads.
    ///
    /// No lock of one context is held while a lock of the other is taken. Nothing that conflicts
    /// can come between, because the elements are borrowed until the end.
    #[track_caller]
    pub(crate) fn copy_from_peer(
        &self,
        dst: &Elements<'_, D>,
        src_stream: &Self,
        src: &Elements<'_, D>,
    ) -> Result<Crossing> {
        self.check_unrecorded(OPERATION, [dst.allocation])?;
        src_stream.check_unrecorded(OPERATION, [src.allocation])?;
        if src.item_bytes != dst.item_bytes {
            let reason = "source and destination differ in element size";
            return Err(LayoutError::ElementSize { item_bytes: src.item_bytes, reason }.into());
        }
        let (here, there) = (&self.core.device, &src_stream.core.device);
        if !here.reaches_peer(there) {
            self.copy_across(dst, src_stream, src)?;
            return Ok(Crossing::Staged);
        }
        // Devices that reach each other's memory share one address space.
        self.check_disjoint(src, src.layout, dst, false)?;
        let plan = self.plan(dst.layout, src.layout, dst.item_bytes)?;
        let len_bytes = plan.len_bytes();
        if len_bytes == 0 {
            return Ok(Crossing::InPlace);
        }
        let (reads, writes) = ([src.touch(false)], [dst.touch(true)]);
        let (written, position) = src_stream.ordered(&reads)?;
        // Waits of this context do not report errors of the other context's gathers.
        if lock(&src_stream.core.tracker).may_tell(&position) {
            src_stream.core.program_waited(written.synchronize(), &position).into_result()?;
        }

        let op =
            CopyOp { dst: dst.allocation.buffer(), src: src.allocation.buffer(), plan: &plan, checked: true };
        let to = self.submit(Work::CopyFromPeer { len_bytes }, &writes)?;
        to.device.wait_for_peer(to.raw, &written)?;
        let to = to.begin_noting(Submission::record);
        here.copy_from_peer(to.raw(), &op)?;
        let read = to.end();

        // From here on the source is in use, and its own context must learn it.
        read.and_then(|read| src_stream.note_reader(&read.event, &reads)).inspect_err(|_| {
            if !self.is_over_now() {
                src.allocation.keep_for_good();
            }
        })?;
        Ok(Crossing::InPlace)
    }

    /// Records an event after everything that conflicts with the accesses, and returns what it
    /// covers.
    #[track_caller]
    fn ordered(&self, touches: &[AllocationAccess<'_, D>]) -> Result<(Arc<D::Event>, Position)> {
        let recorded = self.order(OPERATION, touches)?.record()?;
        let position = recorded.position(self.lane.index);
        Ok((recorded.event, position))
    }

    /// Makes this stream wait for an event of another device, after which the accesses are over,
    /// and notes the accesses as its own. So whatever conflicts with them here waits too.
    #[track_caller]
    fn note_reader(&self, event: &D::Event, touches: &[AllocationAccess<'_, D>]) -> Result<()> {
        let mut to = self.submission();
        to.device.wait_for_peer(to.raw, event)?;
        to.note_late(touches);
        Ok(())
    }
}
