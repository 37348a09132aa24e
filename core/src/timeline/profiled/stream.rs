//! Streams of a profiled device. They put each operation between two timed events.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs no unsafe operation

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Instant,
};

use super::{
    Profiled, ProfiledEvent,
    captured_operations::CapturedOperations,
    log::{OpenLane, Operation},
};
use crate::{
    Result,
    backend::{
        Buffer as _, ChecksForeign, CopyOp, DeclaredAccess, DownloadOp, FillOp, FreeOp, Quiesced, RunsAtOnce,
        Stream, Timing, UploadOp,
    },
    lock::lock,
};

/// A stream of a [`Profiled`] device.
pub struct ProfiledStream<D: Timing> {
    device: Profiled<D>,
    stream: D::Stream,
    /// Its place among the streams of the device.
    lane: Arc<OpenLane<D>>,
    /// The operations so far, if the stream captures.
    captured: Option<Mutex<CapturedOperations>>,
}

impl<D: Timing> fmt::Debug for ProfiledStream<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProfiledStream({:?} of {:?})", self.stream, self.device)
    }
}

impl<D: Timing> ProfiledStream<D> {
    pub(super) fn new(device: Profiled<D>, stream: D::Stream) -> Self {
        let lane = Arc::new(device.log.open_lane());
        Self { device, stream, lane, captured: None }
    }

    /// Wraps another handle on the wrapped stream.
    fn on(&self, stream: D::Stream) -> Self {
        Self { device: self.device.clone(), stream, lane: Arc::clone(&self.lane), captured: None }
    }

    /// The stream it wraps.
    #[must_use]
    pub fn stream(&self) -> &D::Stream {
        &self.stream
    }

    /// Wraps another stream, which captures operations.
    pub(super) fn capturing(&self, stream: D::Stream) -> Self {
        Self { captured: Some(Mutex::default()), ..self.on(stream) }
    }

    /// The name of the backend.
    pub(super) fn backend(&self) -> &'static str {
        self.device.device.info().backend
    }

    /// The wrapped stream, and the operations that it captured.
    pub(super) fn into_captured(self) -> (D::Stream, CapturedOperations) {
        let captured = self.captured.and_then(|captured| captured.into_inner().ok());
        (self.stream, captured.unwrap_or_default())
    }

    /// Enqueues an operation between two timed events. If an event cannot be recorded, the
    /// operation still runs but is left out of the timeline. A captured operation is only counted,
    /// because its events would be captured too.
    pub(super) fn enqueue<R>(
        &self,
        operation: Operation,
        call: impl FnOnce(&D::Stream) -> Result<R>,
    ) -> Result<R> {
        if let Some(captured) = &self.captured {
            let result = call(&self.stream)?;
            lock(captured).add(&operation);
            return Ok(result);
        }
        let Profiled { device, log } = &self.device;
        let begin = self.record_begin();
        let called = Instant::now();
        let result = call(&self.stream)?;
        if let Some(begin) = begin
            && let Ok(end) = device.record_timed(&self.stream)
        {
            log.enqueued(device, &self.lane, called, operation, (begin, Arc::new(end)));
        }
        Ok(result)
    }

    /// Records a timed event, which is also the end of its own span.
    #[track_caller]
    pub(super) fn record_event(&self) -> Result<ProfiledEvent<D>> {
        let Profiled { device, log } = &self.device;
        let operation = Operation::new("record", crate::backend::call_location());
        let begin = self.record_begin();
        let called = Instant::now();
        let event = Arc::new(device.record_timed(&self.stream)?);
        let place = begin.and_then(|begin| {
            log.enqueued(device, &self.lane, called, operation, (begin, Arc::clone(&event)))
        });
        Ok(ProfiledEvent { event, log: Arc::clone(log), device: Arc::clone(device), place })
    }

    fn record_begin(&self) -> Option<D::Event> {
        let Profiled { device, log } = &self.device;
        log.is_recording().then(|| device.record_timed(&self.stream).ok()).flatten()
    }
}

// SAFETY: every method forwards to a stream whose implementor vouches for it, or fails when nothing
// but an event was enqueued, which touches nothing.
unsafe impl<D: Timing> Stream for ProfiledStream<D> {
    type Device = Profiled<D>;

    #[track_caller]
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<D::Buffer> {
        let operation = Operation::new("alloc", crate::backend::call_location()).bytes(len_bytes.get());
        self.enqueue(operation, |stream| stream.alloc(len_bytes))
    }

    #[track_caller]
    fn free(&self, op: FreeOp<D::Buffer>) -> Result<()> {
        let operation = Operation::new("free", crate::backend::call_location()).bytes(op.buffer.len_bytes());
        self.enqueue(operation, |stream| stream.free(op))
    }

    #[track_caller]
    fn copy(&self, op: &CopyOp<'_, D::Buffer>) -> Result<()> {
        let operation = Operation::new("copy", crate::backend::call_location()).bytes(op.plan().len_bytes());
        self.enqueue(operation, |stream| stream.copy(op))
    }

    #[track_caller]
    fn copy_all(&self, ops: &[CopyOp<'_, D::Buffer>]) -> Result<()> {
        let bytes = ops.iter().map(|op| op.plan().len_bytes()).sum();
        let operation = Operation::new("copy", crate::backend::call_location()).bytes(bytes);
        self.enqueue(operation, |stream| stream.copy_all(ops))
    }

    #[track_caller]
    fn fill(&self, op: &FillOp<'_, D::Buffer>) -> Result<()> {
        let operation = Operation::new("fill", crate::backend::call_location()).bytes(op.plan().len_bytes());
        self.enqueue(operation, |stream| stream.fill(op))
    }

    #[track_caller]
    fn upload(&self, op: &UploadOp<'_, D::Buffer>) -> Result<()> {
        let operation = Operation::new("upload", crate::backend::call_location()).bytes(op.len_bytes());
        self.enqueue(operation, |stream| stream.upload(op))
    }

    #[track_caller]
    fn download(&self, op: &DownloadOp<'_, D::Buffer>) -> Result<()> {
        let operation = Operation::new("download", crate::backend::call_location()).bytes(op.len_bytes());
        self.enqueue(operation, |stream| stream.download(op))
    }

    #[track_caller]
    fn record(&self) -> Result<ProfiledEvent<D>> {
        self.record_event()
    }

    #[track_caller]
    fn wait(&self, event: &ProfiledEvent<D>) -> Result<()> {
        let of_this = Arc::ptr_eq(&event.log, &self.device.log);
        let place = event.place.filter(|_| of_this);
        let operation = Operation::new("wait", crate::backend::call_location()).after(place);
        self.enqueue(operation, |stream| stream.wait(&event.event))
    }

    fn synchronize(&self) -> Quiesced {
        let Profiled { device, log } = &self.device;
        let last = log.last(&self.lane);
        let called = Instant::now();
        let end = self.stream.synchronize();
        log.waited(device, called, "sync_stream", last);
        end
    }
}

// SAFETY: the handle is one of the stream it wraps.
unsafe impl<D: Timing> ChecksForeign<D::Buffer> for ProfiledStream<D> {
    fn for_foreign_work(&self, declared: &[DeclaredAccess<'_, D::Buffer>]) -> Option<Self> {
        let stream = self.stream.for_foreign_work(declared)?;
        Some(self.on(stream))
    }
}

// SAFETY: the turn is one of the stream it wraps.
unsafe impl<D: Timing> RunsAtOnce<D::Buffer> for ProfiledStream<D> {
    fn runs_at_once(&self) -> bool {
        self.stream.runs_at_once()
    }

    fn turn(&self) -> Option<Self> {
        self.stream.turn().map(|stream| self.on(stream))
    }

    unsafe fn over_host(&self, start: *mut u8, len_bytes: usize) -> Option<D::Buffer> {
        // SAFETY: as the caller promises
        unsafe { self.stream.over_host(start, len_bytes) }
    }
}

crate::capabilities!(impl[D: Timing] ProfiledStream<D>: without Fetches);
