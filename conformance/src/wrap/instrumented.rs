//! A device that counts the calls to another one, and makes calls fail on request.
#![allow(unsafe_code)] // implements unsafe traits by forwarding; performs no unsafe operation

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use devarray::{
    Error, Result,
    backend::{
        Capability, ChecksForeign, CopyOp, DeclaredAccess, Device, DeviceInfo, DownloadOp, Event, FillOp,
        Forwarded, FreeOp, Maps, MemoryInfo, Quiesced, Reduces, RunsAtOnce, Stream, UploadOp, Wraps,
    },
};

/// A call to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// [`Device::open_stream`].
    OpenStream,
    /// [`Device::alloc_host`].
    AllocHost,
    /// [`Stream::alloc`].
    Alloc,
    /// [`Stream::free`].
    Free,
    /// [`Stream::copy`], or one copy of [`Stream::copy_all`].
    Copy,
    /// [`Stream::fill`].
    Fill,
    /// [`Stream::upload`].
    Upload,
    /// [`Stream::download`].
    Download,
    /// [`Stream::record`].
    Record,
    /// [`Stream::wait`].
    Wait,
    /// [`Stream::synchronize`].
    Synchronize,
    /// [`Event::query`].
    Query,
    /// [`Event::synchronize`].
    EventSynchronize,
    /// The operation of a capability, which [`Wraps::forward`] passes on.
    Operation(Capability),
}

/// The calls to one [`Instrumented`] device, and the call that is to fail.
#[derive(Default)]
pub struct Log(Mutex<LogState>);

#[derive(Debug, Default)]
struct LogState {
    calls: Vec<Call>,
    failing: Option<usize>,
}

/// Forwards everything to the device that it wraps, except the one call that its [`Log`] was told
/// to make fail.
#[derive(Debug)]
pub struct Instrumented<D> {
    inner: D,
    log: Arc<Log>,
}

/// A stream of an [`Instrumented`] device.
#[derive(Debug)]
pub struct InstrumentedStream<D: Device> {
    inner: D::Stream,
    log: Arc<Log>,
    backend: &'static str,
}

/// An event of an [`Instrumented`] device.
#[derive(Debug)]
pub struct InstrumentedEvent<D: Device> {
    inner: D::Event,
    log: Arc<Log>,
    backend: &'static str,
}

impl Log {
    /// The calls so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Forgets the calls so far.
    pub fn clear(&self) {
        self.state().calls.clear();
    }

    /// Makes a call fail, after `calls_before` more calls. A failed call does not reach the wrapped
    /// device; a failed `synchronize` does, and reports [`Quiesced::Ended`].
    pub fn fail_after(&self, calls_before: usize) {
        self.state().failing = Some(calls_before);
    }

    /// Lets every call succeed again. Returns whether the requested failure has not happened yet.
    pub fn stop_failing(&self) -> bool {
        self.state().failing.take().is_some()
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, call: Call, backend: &'static str) -> Result<()> {
        let mut state = self.state();
        state.calls.push(call);
        match state.failing {
            Some(0) => {
                state.failing = None;
                Err(injected(backend))
            }
            Some(calls_before) => {
                state.failing = Some(calls_before - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// The error of a call that fails on request.
fn injected(backend: &'static str) -> Error {
    Error::Driver { backend, operation: "injected", code: -1, name: "INJECTED".into() }
}

/// Whether an error was requested by [`Log::fail_after`].
#[must_use]
pub(crate) fn is_injected(error: &Error) -> bool {
    matches!(error, Error::Driver { operation: "injected", .. })
}

impl<D: Device> Instrumented<D> {
    /// Wraps a device. Returns it with the log that it writes.
    #[must_use]
    pub fn new(inner: D) -> (Self, Arc<Log>) {
        let log = Arc::new(Log::default());
        (Self { inner, log: Arc::clone(&log) }, log)
    }
}

// SAFETY: every method forwards to a device whose implementor vouches for it, or fails before
// anything is enqueued.
unsafe impl<D: Device> Device for Instrumented<D> {
    type Buffer = D::Buffer;
    type HostBuffer = D::HostBuffer;
    type Event = InstrumentedEvent<D>;
    type Stream = InstrumentedStream<D>;

    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn memory(&self) -> Result<MemoryInfo> {
        self.inner.memory()
    }

    fn open_stream(&self) -> Result<Self::Stream> {
        let backend = self.info().backend;
        self.log.note(Call::OpenStream, backend)?;
        Ok(InstrumentedStream { inner: self.inner.open_stream()?, log: Arc::clone(&self.log), backend })
    }

    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<Self::HostBuffer> {
        self.log.note(Call::AllocHost, self.info().backend)?;
        self.inner.alloc_host(len_bytes)
    }

    #[track_caller]
    fn note_host_access(&self, access: &DeclaredAccess<'_, D::Buffer>) {
        self.inner.note_host_access(access);
    }
}

impl<D: Device> InstrumentedStream<D> {
    fn note(&self, call: Call) -> Result<()> {
        self.log.note(call, self.backend)
    }

    /// Wraps another handle to the wrapped stream.
    fn on(&self, inner: D::Stream) -> Self {
        Self { inner, log: Arc::clone(&self.log), backend: self.backend }
    }
}

// SAFETY: as for the device; a `synchronize` that fails on request has waited first.
unsafe impl<D: Device> Stream for InstrumentedStream<D> {
    type Device = Instrumented<D>;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<D::Buffer> {
        self.note(Call::Alloc)?;
        self.inner.alloc(len_bytes)
    }

    fn free(&self, op: FreeOp<D::Buffer>) -> Result<()> {
        self.note(Call::Free)?;
        self.inner.free(op)
    }

    fn copy(&self, op: &CopyOp<'_, D::Buffer>) -> Result<()> {
        self.note(Call::Copy)?;
        self.inner.copy(op)
    }

    fn copy_all(&self, ops: &[CopyOp<'_, D::Buffer>]) -> Result<()> {
        for _ in ops {
            self.note(Call::Copy)?;
        }
        self.inner.copy_all(ops)
    }

    fn fill(&self, op: &FillOp<'_, D::Buffer>) -> Result<()> {
        self.note(Call::Fill)?;
        self.inner.fill(op)
    }

    fn upload(&self, op: &UploadOp<'_, D::Buffer>) -> Result<()> {
        self.note(Call::Upload)?;
        self.inner.upload(op)
    }

    fn download(&self, op: &DownloadOp<'_, D::Buffer>) -> Result<()> {
        self.note(Call::Download)?;
        self.inner.download(op)
    }

    fn record(&self) -> Result<InstrumentedEvent<D>> {
        self.note(Call::Record)?;
        Ok(InstrumentedEvent {
            inner: self.inner.record()?,
            log: Arc::clone(&self.log),
            backend: self.backend,
        })
    }

    fn wait(&self, event: &InstrumentedEvent<D>) -> Result<()> {
        self.note(Call::Wait)?;
        self.inner.wait(&event.inner)
    }

    fn synchronize(&self) -> Quiesced {
        ended(self.inner.synchronize(), self.note(Call::Synchronize))
    }
}

// SAFETY: the handle belongs to the wrapped stream.
unsafe impl<D: Device> ChecksForeign<D::Buffer> for InstrumentedStream<D> {
    fn for_foreign_work(&self, declared: &[DeclaredAccess<'_, D::Buffer>]) -> Option<Self> {
        self.inner.for_foreign_work(declared).map(|inner| self.on(inner))
    }
}

// SAFETY: the turn belongs to the wrapped stream.
unsafe impl<D: Device> RunsAtOnce<D::Buffer> for InstrumentedStream<D> {
    fn runs_at_once(&self) -> bool {
        self.inner.runs_at_once()
    }

    fn turn(&self) -> Option<Self> {
        self.inner.turn().map(|inner| self.on(inner))
    }

    unsafe fn over_host(&self, start: *mut u8, len_bytes: usize) -> Option<D::Buffer> {
        // SAFETY: as the caller promises
        unsafe { self.inner.over_host(start, len_bytes) }
    }
}

// SAFETY: the call is made once, or fails on request before it.
unsafe impl<D: Device> Wraps for Instrumented<D> {
    type Inner = D;

    fn inner(&self) -> &D {
        &self.inner
    }

    fn forward(
        &self,
        stream: &InstrumentedStream<D>,
        operation: Forwarded,
        call: impl FnOnce(&D, &D::Stream) -> Result<()>,
    ) -> Result<()> {
        stream.note(Call::Operation(operation.capability))?;
        call(&self.inner, &stream.inner)
    }
}

// Passes are counted one by one, so there is no fused form.
devarray::capabilities!(impl[D: Device + Maps + Reduces] Instrumented<D>: without Fuses);
devarray::capabilities!(impl[D: Device] Instrumented<D>: forward Maps, Reduces, Gathers, Orders, Products, Launch);
devarray::capabilities!(impl[D: Device] InstrumentedStream<D>: without Fetches, Captures);

// SAFETY: every method forwards; a `synchronize` that fails on request has waited first.
unsafe impl<D: Device> Event for InstrumentedEvent<D> {
    fn query(&self) -> Result<bool> {
        self.log.note(Call::Query, self.backend)?;
        self.inner.query()
    }

    fn synchronize(&self) -> Quiesced {
        ended(self.inner.synchronize(), self.log.note(Call::EventSynchronize, self.backend))
    }
}

/// The result of a wait that may have been asked to fail.
fn ended(end: Quiesced, noted: Result<()>) -> Quiesced {
    match (end, noted) {
        (Quiesced::Done, Err(error)) => Quiesced::Ended(error),
        (end, _) => end,
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Log({} calls)", self.state().calls.len())
    }
}
