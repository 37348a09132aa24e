//! Handles on streams and events. They order a program's work.

mod submit;

pub(crate) use submit::Submission;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use crate::{
    Error, Result,
    backend::{Device, Event as _, Quiesced, Stream as _},
    context::{Context, ContextCore},
    debug_text::DeviceName,
    hazards::{LaneId, Mode, Position, RecordedEvent, Reporting, Untold},
    lock::lock,
    recorded::{Recorder, RecordingError},
    staging::{BusySlot, LentSlot},
};

/// An open stream: the queue in which operations run. Every call that enqueues one names it.
///
/// There is no default stream. Operations of one stream run in the order they were submitted;
/// operations of two streams that touch the same bytes are ordered by hazard tracking, by waits on
/// the device, never by blocking the host.
///
/// Cheap to clone; clones are the same stream. It may be used from several threads: submissions are
/// then ordered as they happen. Dropping the last clone neither blocks nor cancels what was
/// submitted.
pub struct StreamHandle<D: Device>(pub(crate) Arc<StreamCore<D>>);

/// One stream and its place in the tracker.
pub(crate) struct StreamCore<D: Device> {
    pub(crate) raw: Arc<D::Stream>,
    pub(crate) lane: LaneId,
    pub(crate) mode: Mode,
    pub(crate) core: Arc<ContextCore<D>>,
    pub(crate) role: Role<D>,
}

/// Whether operations of a stream run, are recorded, or are captured.
pub(crate) enum Role<D: Device> {
    /// They run.
    Runs,
    /// They are recorded. The stream itself is kept open: until then its place in the tracker is no other stream's.
    Records(Arc<Recorder<D>>, Arc<StreamCore<D>>),
    /// The backend captures them, or runs them in one turn. All are ordered together, as one
    /// operation. Here are noted the operations that report an index without a place.
    Captures(Mutex<Vec<Reporting<D>>>),
}

impl<D: Device> Context<D> {
    /// Opens a stream that automatically waits for conflicting operations on other streams.
    ///
    /// # Errors
    ///
    /// The device could not open another stream.
    pub fn stream(&self) -> Result<StreamHandle<D>> {
        StreamHandle::open(&self.0, Mode::Automatic)
    }

    /// Opens a stream that refuses, with [`Error::Hazard`], what [`stream`](Self::stream) would
    /// wait for: for programs that order their streams by events and want to be told where they
    /// forgot. (The tracker keeps 64 unfinished accesses of one array apart and merges further
    /// ones. A merged access may concern other bytes, so the stream waits for it instead of
    /// refusing.)
    ///
    /// # Errors
    ///
    /// The device could not open another stream.
    pub fn strict_stream(&self) -> Result<StreamHandle<D>> {
        StreamHandle::open(&self.0, Mode::Strict)
    }

    /// Opens a stream that neither waits nor refuses. Its accesses are noted, so other streams
    /// still wait for them.
    ///
    /// # Safety
    ///
    /// The caller orders every operation submitted to it, by events or waits, after every
    /// conflicting access of other streams. The allocation of its arrays counts as an access.
    ///
    /// # Errors
    ///
    /// The device could not open another stream.
    #[expect(unsafe_code, reason = "the contract is the caller's; nothing unsafe happens here")]
    pub unsafe fn unchecked_stream(&self) -> Result<StreamHandle<D>> {
        StreamHandle::open(&self.0, Mode::Unchecked)
    }
}

impl<D: Device> StreamHandle<D> {
    pub(crate) fn open(core: &Arc<ContextCore<D>>, mode: Mode) -> Result<Self> {
        let raw = Arc::new(core.device.open_stream()?);
        let lane = lock(&core.tracker).open(Arc::clone(&raw), &core.device);
        core.hold();
        Ok(Self(Arc::new(StreamCore { core: Arc::clone(core), raw, lane, mode, role: Role::Runs })))
    }

    /// The context it was opened in.
    #[must_use]
    pub fn context(&self) -> Context<D> {
        Context::of(&self.0.core)
    }

    /// The stream's device. Borrows it instead of making another handle on the context.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.0.core.device
    }

    /// A small number that tells live streams of a context apart. Errors name streams by it.
    #[must_use]
    pub fn number(&self) -> usize {
        self.0.lane.index
    }

    /// The backend's stream, for calls that only that backend has. Hazard tracking does not see
    /// them.
    #[must_use]
    pub fn raw(&self) -> &D::Stream {
        &self.0.raw
    }

    /// Captures everything submitted so far. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The device could not record an event; the stream is unchanged.
    #[track_caller]
    pub fn record(&self) -> Result<EventHandle<D>> {
        self.record_with(|_, stream| stream.record())
    }

    /// Like [`record`](Self::record), with an event that `make` makes.
    #[track_caller]
    pub(crate) fn record_with(
        &self,
        make: impl FnOnce(&D, &D::Stream) -> Result<D::Event>,
    ) -> Result<EventHandle<D>> {
        self.0.check_runs("record")?;
        let StreamCore { core, lane, .. } = &*self.0;
        let mark = lock(&core.tracker).record_with(lane.index, |stream| make(&core.device, stream))?;
        Ok(EventHandle::new(core, lane.index, mark))
    }

    /// Makes everything submitted later run after what `event` captured. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`Error::DeviceMismatch`]: the event belongs to another context.
    /// - The device could not enqueue the wait; the stream is unchanged.
    #[track_caller]
    pub fn wait(&self, event: &EventHandle<D>) -> Result<()> {
        self.0.check_core("wait", &event.core)?;
        self.0.check_runs("wait")?;
        lock(&self.0.core.tracker).wait(self.0.lane.index, event.lane, &event.mark)
    }

    /// Blocks the calling thread until everything submitted so far is finished.
    ///
    /// # Errors
    ///
    /// Some of the work, or the wait itself, failed.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        self.0.check_runs("synchronize")?;
        let (end, wait) = self.0.wait();
        self.0.core.program_waited(end, &wait).into_result()
    }

    /// Whether the two are the same stream.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<D: Device> StreamCore<D> {
    /// Returns an error if something belongs to another context.
    pub(crate) fn check_core(&self, operation: &'static str, core: &Arc<ContextCore<D>>) -> Result<()> {
        if Arc::ptr_eq(core, &self.core) {
            return Ok(());
        }
        Err(Error::DeviceMismatch { backend: self.core.backend(), operation })
    }

    /// Returns an error on the stream of a recording, if the recording does not take the operation.
    #[track_caller]
    pub(crate) fn check_runs(&self, operation: &'static str) -> Result<()> {
        match &self.role {
            Role::Runs | Role::Captures(_) => Ok(()),
            Role::Records(..) => Err(RecordingError::NotRecorded.of(operation)),
        }
    }

    /// Makes the same stream with another stream of the backend, which captures operations, or runs
    /// them as one.
    pub(crate) fn capturing(&self, raw: Arc<D::Stream>) -> Self {
        let core = Arc::clone(&self.core);
        Self { raw, lane: self.lane, mode: self.mode, core, role: Role::Captures(Mutex::default()) }
    }

    /// Takes the operations that were captured and may report an index without a place, in order.
    pub(crate) fn take_reports(&self) -> Vec<Reporting<D>> {
        match &self.role {
            Role::Captures(reports) => std::mem::take(&mut lock(reports)),
            Role::Runs | Role::Records(..) => Vec::new(),
        }
    }

    /// Whether recorded calls are made again here, to be captured or run. They allocate nothing.
    #[inline]
    pub(crate) fn replays(&self) -> bool {
        matches!(self.role, Role::Captures(_))
    }

    /// The recorder, if this is the stream of a recording.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<&Arc<Recorder<D>>> {
        match &self.role {
            Role::Records(recorder, _) => Some(recorder),
            Role::Runs | Role::Captures(_) => None,
        }
    }

    /// Waits, and returns what the wait covers. The position is taken first, because the wait does
    /// not cover work that other threads submit meanwhile.
    #[track_caller]
    pub(crate) fn wait(&self) -> (Quiesced, Position) {
        let position = lock(&self.core.tracker).position(self.lane.index);
        (self.raw.synchronize(), position)
    }

    /// Marks a slot as used by the operations of this stream so far.
    pub(crate) fn in_use(&self, slot: LentSlot<D>) -> Result<BusySlot<D>> {
        let recorded = lock(&self.core.tracker).record(self.lane.index);
        slot.until(self.lane.index, recorded, || self.is_over_now())
    }

    /// Waits, and lets the tracker forget finished work.
    #[track_caller]
    pub(crate) fn quiesce(&self) -> Quiesced {
        let (end, wait) = self.wait();
        if matches!(end, Quiesced::Done) {
            self.core.host_waited(&wait);
        }
        end
    }

    /// Waits, after an error that a call returns. Returns whether the device is finished with
    /// everything submitted. If the wait fails too, the list of the context gets that error.
    #[track_caller]
    pub(crate) fn is_over_now(&self) -> bool {
        let end = self.quiesce();
        let is_over = !matches!(end, Quiesced::Unknown(_));
        if let Quiesced::Ended(error) | Quiesced::Unknown(error) = end {
            self.core.report(error);
        }
        is_over
    }
}

impl<D: Device> Drop for StreamCore<D> {
    /// Leaves the last event of the stream behind, for later waits on its work.
    fn drop(&mut self) {
        if !matches!(self.role, Role::Runs) {
            // The lane belongs to another stream.
            return;
        }
        let closed = lock(&self.core.tracker).close(self.lane);
        if let Err(error) = closed {
            self.core.report(error);
        }
        self.core.release();
    }
}

/// A point in the work of a stream: everything submitted to it before [`StreamHandle::record`].
///
/// Cheap to clone; clones are the same event. It stays valid when its stream is dropped.
#[must_use = "an event that nobody waits for orders nothing"]
pub struct EventHandle<D: Device> {
    core: Arc<ContextCore<D>>,
    lane: usize,
    mark: RecordedEvent<D>,
    /// The lists of gathers that it covers, and whose errors a wait for it may report.
    untold: Vec<Arc<Untold>>,
}

impl<D: Device> EventHandle<D> {
    fn new(core: &Arc<ContextCore<D>>, lane: usize, mark: RecordedEvent<D>) -> Self {
        let untold = mark.covered.hold();
        Self { core: Arc::clone(core), lane, mark, untold }
    }

    /// Whether the captured work is finished. Does not block; asking again and again makes
    /// progress.
    ///
    /// # Errors
    ///
    /// Some of the work, or the device, failed.
    pub fn query(&self) -> Result<bool> {
        let finished = self.mark.event.query()?;
        if finished {
            self.core.host_waited(&self.mark.position(self.lane));
        }
        Ok(finished)
    }

    /// Blocks the calling thread until the captured work is finished.
    ///
    /// # Errors
    ///
    /// Some of the work, or the wait itself, failed.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        self.quiesce().into_result()
    }

    #[track_caller]
    pub(crate) fn quiesce(&self) -> Quiesced {
        self.core.program_waited(self.mark.event.synchronize(), &self.mark.position(self.lane))
    }

    /// The result of `measure` for an earlier event and this one, on their device.
    pub(crate) fn elapsed_since<R>(
        &self,
        earlier: &Self,
        operation: &'static str,
        measure: impl FnOnce(&D, &D::Event, &D::Event) -> Result<R>,
    ) -> Result<R> {
        if !Arc::ptr_eq(&self.core, &earlier.core) {
            return Err(Error::DeviceMismatch { backend: self.core.backend(), operation });
        }
        measure(&self.core.device, &earlier.mark.event, &self.mark.event)
    }

    /// The event and its lane, without the handle that keeps the context alive.
    pub(crate) fn into_mark(self) -> (usize, RecordedEvent<D>) {
        (self.lane, self.mark)
    }
}

impl<D: Device> Clone for EventHandle<D> {
    fn clone(&self) -> Self {
        let (mark, untold) = (self.mark.clone(), self.untold.clone());
        Self { core: Arc::clone(&self.core), lane: self.lane, mark, untold }
    }
}

impl<D: Device> fmt::Debug for EventHandle<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventHandle(of stream {} on {})", self.lane, DeviceName(&self.core.device))
    }
}

impl<D: Device> Clone for StreamHandle<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: Device> fmt::Debug for StreamHandle<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.0.mode {
            Mode::Automatic => "",
            Mode::Strict => ", strict",
            Mode::Unchecked => ", unchecked",
        };
        write!(f, "StreamHandle({} on {}{mode})", self.number(), DeviceName(&self.0.core.device))
    }
}
