//! The owner of a device: its tracker, its ledger and error sink, its staging memory.

use std::{
    fmt,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    Error, Result,
    backend::{Device, Event as _, Quiesced},
    collective::CollectiveError,
    deferred_drop::{DeferredDrops, Reports},
    hazards::{HazardTracker, Position},
    lock::lock,
    memory::{Releases, Watch},
    pinned_pool::PinnedPool,
    staging::{Pins, Staging},
    statistics::Statistics,
};

/// A device in use. It opens streams, and keeps the errors that no call could return.
///
/// Cheap to clone; clones are the same context. Arrays, streams and events belong to the context
/// they were made in and are refused by others with [`Error::DeviceMismatch`].
///
/// It has one stream of its own, which only frees memory whose home stream is gone.
///
/// ```
/// use devarray::{Array, Context, Device, Result};
///
/// fn doubled_shape<D: Device>(context: &Context<D>) -> Result<Vec<f32>> {
///     let stream = context.stream()?;
///     let row = Array::from_slice(&stream, &[1, 3], &[1.0, 2.0, 3.0])?;
///     row.view().broadcast_to(&[2, 3])?.to_vec(&stream)
/// }
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// assert_eq!(doubled_shape(&context)?, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct Context<D: Device>(pub(crate) Arc<ContextCore<D>>);

/// The shared part of a context, which its arrays, streams and events keep alive.
pub(crate) struct ContextCore<D: Device> {
    // Fields drop in this order: deferred drops and staging wait for their events, then the streams
    // go, and the device goes last.
    pub(crate) deferred_drops: DeferredDrops<D>,
    pub(crate) staging: Staging<D>,
    pub(crate) pinned: Arc<PinnedPool<D>>,
    pub(crate) tracker: Mutex<HazardTracker<D>>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) releases: Arc<Releases<D>>,
    /// The number of contexts and open streams that programs hold.
    handles: AtomicUsize,
    pub(crate) device: D,
}

impl<D: Device> Context<D> {
    /// Makes a context of a device. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The device could not open the internal stream.
    pub fn new(device: D) -> Result<Self> {
        let tracker = Mutex::new(HazardTracker::new(&device, device.open_stream()?));
        let (staging, deferred_drops) = (Staging::default(), DeferredDrops::default());
        let watch = Arc::new(Watch::new(device.info().backend));
        let core = Arc::new_cyclic(|core| {
            let releases = Arc::new(Releases::new(Weak::<ContextCore<D>>::clone(core)));
            let pinned = Arc::new(PinnedPool::new(Arc::clone(&watch), Arc::clone(&releases)));
            let handles = AtomicUsize::new(0);
            ContextCore { deferred_drops, staging, pinned, tracker, watch, releases, handles, device }
        });
        Ok(Self::of(&core))
    }

    /// Makes another handle on a context.
    pub(crate) fn of(core: &Arc<ContextCore<D>>) -> Self {
        core.hold();
        Self(Arc::clone(core))
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.0.device
    }

    /// Takes the errors that no call could return, oldest first: for example a failed free, or a
    /// failed wait in a drop.
    ///
    /// After these come [indices out of range](crate::gather#indices-out-of-range) found by work of
    /// closed streams, if no open stream and no event covers them, in the order of submission. The
    /// call blocks until such work is finished, because nobody else can wait for it; if there is
    /// none, it does not synchronize.
    #[must_use]
    pub fn take_errors(&self) -> Vec<Error> {
        let left = self.0.take_index_errors();
        let mut errors = self.0.watch.take_errors();
        errors.extend(left);
        errors
    }

    /// Counts of operations submitted to the device since the context was made.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        lock(&self.0.tracker).statistics
    }

    /// Whether the two are the same context.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<D: Device> ContextCore<D> {
    /// The backend's name, for errors.
    pub(crate) fn backend(&self) -> &'static str {
        self.device.info().backend
    }

    /// Notes that everything that a wait covers is finished. The wait does not report indices out
    /// of range to the program.
    pub(crate) fn host_waited(&self, wait: &Position) {
        lock(&self.tracker).host_waited(wait, &self.device);
    }

    /// Notes a wait of the program. If the wait succeeded, tells of an exchange of ranks that it covers and that was
    /// cut off, or of the first index out of range.
    pub(crate) fn program_waited(&self, end: Quiesced, wait: &Position) -> Quiesced {
        if !matches!(end, Quiesced::Done) {
            return end;
        }
        let mut tracker = lock(&self.tracker);
        tracker.host_waited(wait, &self.device);
        if let Some(operation) = tracker.take_cut_off(wait) {
            // An index out of range is left for the next wait.
            return Quiesced::Ended(CollectiveError::Aborted.of(self.backend(), operation));
        }
        let told = tracker.take_index_error(wait);
        drop(tracker);
        match told {
            Some((error, call)) => Quiesced::Ended(Error::Index { backend: self.backend(), error, call }),
            None => Quiesced::Done,
        }
    }

    /// Takes the index errors of closed streams that no wait of the program covers. Waits for such
    /// streams.
    fn take_index_errors(&self) -> Vec<Error> {
        let alone = lock(&self.tracker).left_alone();
        for (lane, mark) in alone {
            match mark.event.synchronize() {
                Quiesced::Done => self.host_waited(&mark.position(lane)),
                Quiesced::Ended(error) | Quiesced::Unknown(error) => {
                    lock(&self.tracker).forget_gathers(lane);
                    self.report(error);
                }
            }
        }
        let left = lock(&self.tracker).take_left(&self.device);
        left.into_iter().map(|(error, call)| Error::Index { backend: self.backend(), error, call }).collect()
    }

    /// Keeps an error that no call can return now.
    pub(crate) fn report(&self, error: Error) {
        self.watch.report(error);
    }

    /// Drops owners of memory that the device is finished with. Does not block.
    pub(crate) fn collect(&self) {
        self.deferred_drops.collect(self);
    }

    /// Counts a handle that a program got.
    pub(crate) fn hold(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a handle that a program dropped. After the last one nobody can use live memory any
    /// more, so the hook is told.
    pub(crate) fn release(&self) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.releases.flush(self);
            self.watch.closed(|| self.live_allocations());
        }
    }
}

impl<D: Device> Reports for ContextCore<D> {
    fn backend(&self) -> &'static str {
        Self::backend(self)
    }

    fn report(&self, error: Error) {
        Self::report(self, error);
    }

    fn host_waited(&self, wait: &Position) {
        Self::host_waited(self, wait);
    }
}

impl<D: Device> Pins<D> for ContextCore<D> {
    fn device(&self) -> &D {
        &self.device
    }

    fn collect(&self) {
        Self::collect(self);
    }
}

impl<D: Device> Clone for Context<D> {
    fn clone(&self) -> Self {
        Self::of(&self.0)
    }
}

impl<D: Device> Drop for Context<D> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl<D: Device> fmt::Debug for Context<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&crate::debug_text::DeviceName(&self.0.device)).finish()
    }
}
