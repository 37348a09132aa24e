//! A queue of simulated work.
#![allow(unsafe_code)] // implements unsafe traits; performs no unsafe operation

use std::{num::NonZeroUsize, ops::Range, panic::Location, sync::Arc};

use devarray::{
    Error, Result,
    backend::{
        ChecksForeign, CopyOp, DeclaredAccess, Device, DownloadOp, FillOp, FreeOp, Quiesced, Stream,
        StreamOwner, UploadOp,
    },
    copy::Plan,
};

use super::{MockDevice, buffer::MockBuffer, event::MockEvent, limits, shared::Shared};
use crate::{
    allocation::Allocated as _,
    backend::BACKEND,
    engine::HostRange,
    engine::{Pattern, StreamName, Work},
    fault::Site,
    judge::Declared,
    time::Stamp,
};

/// A stream. Dropping it neither blocks nor cancels work.
pub struct MockStream {
    device: MockDevice,
    name: StreamName,
    /// Whether it was opened here, so that it is also closed here.
    own: bool,
    /// If set, operations that are enqueued here are work of other code, which declared these
    /// accesses.
    declared: Option<Declared>,
}

impl MockStream {
    pub(crate) fn new(device: MockDevice, lane: usize) -> Self {
        Self { device, name: StreamName::Lane(lane), own: true, declared: None }
    }

    /// A stream that was opened elsewhere, or not at all.
    pub(crate) fn named(device: MockDevice, name: StreamName) -> Self {
        Self { device, name, own: false, declared: None }
    }

    pub(crate) fn name(&self) -> StreamName {
        self.name
    }

    /// The owner of this stream, for its name.
    pub(crate) fn stream_owner(&self) -> StreamOwner {
        self.shared().stream_owner()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.device.shared()
    }

    /// Records an event. If a stamp is given, the event's time is stored in it.
    #[track_caller]
    pub(crate) fn record_stamped(&self, stamp: Option<Stamp>) -> Result<MockEvent> {
        let mut engine = self.shared().engine();
        engine.enter(Site::Record)?;
        let lane = engine.lane_of(self.name);
        let recorded = engine.record(lane, stamp.clone(), devarray::backend::call_location());
        Ok(MockEvent::new(self.shared(), &mut engine, recorded, stamp))
    }

    /// Enqueues a copy. The buffers in `own` must belong to this device.
    #[track_caller]
    pub(crate) fn copy_of(&self, op: &CopyOp<'_, MockBuffer>, site: Site, own: &[&MockBuffer]) -> Result<()> {
        let (dst, src) = (op.dst(), op.src());
        limits::check(op.plan(), &self.device.info().capabilities)?;
        let plan = moved("copy", op.plan(), dst, src)?;
        let work = Work::Copy { dst: dst.id, src: src.id, plan };
        self.enqueue_on(site, "copy", op.is_checked(), own, &[dst, src], work)
    }

    /// Enqueues a wait for an event of this machine.
    pub(crate) fn wait_at(
        &self,
        event: &MockEvent,
        site: Site,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let mut engine = self.shared().engine();
        engine.enter(site)?;
        let lane = engine.lane_of(self.name);
        engine.wait(lane, (event.mark, &event.snapshot), location);
        Ok(())
    }

    /// Enqueues an operation. Refuses it if it uses objects of another device or reaches outside a
    /// buffer.
    #[track_caller]
    pub(crate) fn enqueue(
        &self,
        site: Site,
        operation: &'static str,
        of_arrays: bool,
        buffers: &[&MockBuffer],
        work: Work,
    ) -> Result<()> {
        self.enqueue_on(site, operation, of_arrays, buffers, buffers, work)
    }

    /// Like [`enqueue`](Self::enqueue), if only some of the buffers must belong to this device.
    #[track_caller]
    fn enqueue_on(
        &self,
        site: Site,
        operation: &'static str,
        of_arrays: bool,
        own: &[&MockBuffer],
        buffers: &[&MockBuffer],
        work: Work,
    ) -> Result<()> {
        let mut engine = self.shared().engine();
        engine.enter(site)?;
        if own.iter().any(|buffer| !Arc::ptr_eq(&buffer.shared, self.shared())) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation });
        }
        let lane = engine.lane_of(self.name);
        if engine.is_out_of_bounds(lane, &work, buffers, devarray::backend::call_location()) {
            return Err(out_of_bounds(operation));
        }
        if of_arrays {
            engine.note_arrays(buffers);
        } else if let Some(declared) = &self.declared {
            engine.compare(lane, &work, declared, devarray::backend::call_location());
        }
        engine.forget_arrays(&work);
        engine.enqueue(lane, work, devarray::backend::call_location());
        Ok(())
    }
}

pub(super) fn out_of_bounds(operation: &'static str) -> Error {
    Error::Driver { backend: BACKEND, operation, code: 1, name: "out of bounds".to_owned() }
}

/// A plan with positions in the memories that the buffers are part of.
fn moved(operation: &'static str, plan: &Plan, dst: &MockBuffer, src: &MockBuffer) -> Result<Box<Plan>> {
    if (dst.start_bytes(), src.start_bytes()) == (0, 0) {
        return Ok(Box::new(plan.clone()));
    }
    let moved = plan.moved(dst.start_bytes(), src.start_bytes());
    moved.map(Box::new).ok_or_else(|| out_of_bounds(operation))
}

/// A range of a buffer as positions in the memory that it is part of.
fn range_in(operation: &'static str, buffer: &MockBuffer, bytes: Range<usize>) -> Result<Range<usize>> {
    let start =
        bytes.start.checked_add_signed(buffer.start_bytes()).ok_or_else(|| out_of_bounds(operation))?;
    Ok(start..start + bytes.len())
}

impl Drop for MockStream {
    fn drop(&mut self) {
        if let StreamName::Lane(lane) = self.name
            && self.own
        {
            self.shared().engine().close_lane(lane);
        }
    }
}

// SAFETY: every operation goes to the end of this stream's lane, or has no effect at all; what the
// engine then does is argued at `Device for MockDevice`.
unsafe impl Stream for MockStream {
    type Device = MockDevice;

    #[track_caller]
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<MockBuffer> {
        let len_bytes = len_bytes.get();
        let mut engine = self.shared().engine();
        engine.enter_asking(Site::Alloc, len_bytes)?;
        let reserved = engine.reserve(len_bytes, devarray::backend::call_location())?;
        let (id, address) = (reserved.buffer, reserved.address);
        engine.memory_of(id, self.device.info().ordinal);
        let lane = engine.lane_of(self.name);
        engine.enqueue(lane, Work::Alloc { buffer: id, len_bytes }, devarray::backend::call_location());
        Ok(MockBuffer { shared: Arc::clone(self.shared()), id, len_bytes, address, within: None })
    }

    #[track_caller]
    fn free(&self, op: FreeOp<MockBuffer>) -> Result<()> {
        let buffer = op.into_buffer();
        let work = Work::Free { buffer: buffer.id, len_bytes: buffer.len_bytes };
        self.enqueue(Site::Free, "free", false, &[&buffer], work)
    }

    #[track_caller]
    fn copy(&self, op: &CopyOp<'_, MockBuffer>) -> Result<()> {
        self.copy_of(op, Site::Copy, &[op.dst(), op.src()])
    }

    #[track_caller]
    fn fill(&self, op: &FillOp<'_, MockBuffer>) -> Result<()> {
        let pattern = Pattern::new(op.pattern());
        let plan = moved("fill", op.plan(), op.dst(), op.dst())?;
        let work = Work::Fill { dst: op.dst().id, plan, pattern };
        self.enqueue(Site::Fill, "fill", op.is_checked(), &[op.dst()], work)
    }

    #[track_caller]
    fn upload(&self, op: &UploadOp<'_, MockBuffer>) -> Result<()> {
        let host = HostRange::source(op);
        let work = Work::Upload {
            dst: op.dst().id,
            bytes: range_in("upload", op.dst(), op.dst_range_bytes())?,
            host,
        };
        self.enqueue(Site::Upload, "upload", op.is_checked(), &[op.dst()], work)
    }

    #[track_caller]
    fn download(&self, op: &DownloadOp<'_, MockBuffer>) -> Result<()> {
        let host = HostRange::destination(op);
        let work = Work::Download {
            src: op.src().id,
            bytes: range_in("download", op.src(), op.src_range_bytes())?,
            host,
        };
        self.enqueue(Site::Download, "download", op.is_checked(), &[op.src()], work)
    }

    #[track_caller]
    fn record(&self) -> Result<MockEvent> {
        self.record_stamped(None)
    }

    #[track_caller]
    fn wait(&self, event: &MockEvent) -> Result<()> {
        if !Arc::ptr_eq(&event.shared, self.shared()) {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation: "wait" });
        }
        self.wait_at(event, Site::Wait, devarray::backend::call_location())
    }

    #[track_caller]
    fn synchronize(&self) -> Quiesced {
        let mut engine = self.shared().engine();
        let lane = engine.lane_of(self.name);
        engine.synchronize_lane(lane, devarray::backend::call_location())
    }
}

// SAFETY: the handle names the same lane.
unsafe impl ChecksForeign<MockBuffer> for MockStream {
    fn for_foreign_work(&self, declared: &[DeclaredAccess<'_, MockBuffer>]) -> Option<Self> {
        let buffers: Vec<&MockBuffer> = declared.iter().map(|access| access.buffer).collect();
        self.shared().engine().note_arrays(&buffers);
        let mut told = Self::named(self.device.clone(), self.name);
        told.declared = Some(Declared::of(declared));
        Some(told)
    }
}

devarray::capabilities!(impl[] MockStream: without Fetches, RunsAtOnce);
