//! Calls of a program, and of the context, for memory that is given back later.

use std::sync::PoisonError;

use super::{Pending, PendingReleases, Release, ReleaseLimits};
use crate::{Context, backend::Device, context::ContextCore, deferred_drop::Reports as _, lock::lock};

impl<D: Device> Context<D> {
    /// Lets dropped memory wait until it exceeds `limits`, and then gives all of it back. Memory
    /// that waits now and exceeds the new limits is given back at once.
    ///
    /// This applies to arrays, pinned buffers, mapped and managed arrays; the pinned pool still
    /// keeps memory for reuse. Waiting memory counts as live in statistics and limits, and is
    /// [pending](super::AllocationState::Pending) in the ledger.
    ///
    /// ```
    /// use devarray::{Array, Context, Device, memory::ReleaseLimits};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let fifth = context.device().memory()?.total_bytes / 5;
    /// context.set_release_limits(ReleaseLimits::new(10, fifth)); // as Numba does
    /// for _ in 0..10 {
    ///     drop(Array::<u8, _>::zeros(&stream, &[100])?);
    /// }
    /// assert_eq!((context.pending_releases().count, context.pending_releases().len_bytes), (10, 1000));
    /// drop(context.pinned::<u8>(100)?); // the eleventh
    /// assert_eq!(context.pending_releases().count, 0);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[doc(alias = "NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT")]
    #[doc(alias = "NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO")]
    pub fn set_release_limits(&self, limits: ReleaseLimits) {
        self.0.releases.change(&*self.0, |state| state.limits = limits);
    }

    /// Runs `f`. Memory of this context that is dropped meanwhile, on any thread, waits until `f`
    /// returns or unwinds, however much it is. Such calls nest: memory waits until the outermost
    /// ends. Then the [limits](Self::set_release_limits) hold again.
    ///
    /// An allocation that finds no other room, and [`release_pending`](Self::release_pending),
    /// still give memory back at once.
    ///
    /// ```
    /// use devarray::{Context, Error};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// context.defer_cleanup(|| {
    ///     drop(context.pinned::<u8>(100)?);
    ///     assert_eq!(context.pending_releases().len_bytes, 100); // the device is not stopped for it now
    ///     Ok::<(), Error>(())
    /// })?;
    /// assert_eq!(context.pending_releases().len_bytes, 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn defer_cleanup<R>(&self, f: impl FnOnce() -> R) -> R {
        self.0.releases.change(&*self.0, |state| state.scopes += 1);
        // It lives in a frame of the library's own: nobody can forget it, and unwinding drops it.
        let _scope = Deferral(&self.0);
        f()
    }

    /// Gives back everything that waits, also inside [`defer_cleanup`](Self::defer_cleanup). Errors
    /// go to [`take_errors`](Self::take_errors). Blocks as long as the driver does.
    pub fn release_pending(&self) {
        self.0.releases.flush(&*self.0);
    }

    /// The memory that waits to be given back.
    #[must_use]
    pub fn pending_releases(&self) -> PendingReleases {
        let state = lock(&self.0.releases.state);
        PendingReleases { count: state.pending.len(), len_bytes: state.len_bytes }
    }
}

/// A running call of [`Context::defer_cleanup`]. Dropping it ends the call.
struct Deferral<'c, D: Device>(&'c ContextCore<D>);

impl<D: Device> Drop for Deferral<'_, D> {
    fn drop(&mut self) {
        self.0.releases.change(self.0, |state| state.scopes -= 1);
    }
}

impl<D: Device> Release<D> for ContextCore<D> {
    fn release_now(&self, item: Pending<D>) {
        match item {
            Pending::Device(memory) => memory.free(self),
            Pending::Owner(owner) => self.drop_owner(owner),
        }
    }
}

impl<D: Device> Drop for ContextCore<D> {
    /// No later call would release waiting memory, so this does.
    fn drop(&mut self) {
        while let Some(item) = self.releases.next() {
            self.release_now(item);
        }
        // The device keeps results of gathers until it is asked, and may outlive the context. So it
        // is asked now.
        let Self { tracker, device, .. } = self;
        let tracker = tracker.get_mut().unwrap_or_else(PoisonError::into_inner);
        tracker.ask_of_finished(device);
    }
}
