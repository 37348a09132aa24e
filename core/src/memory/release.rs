//! Memory that is given back later: Numba's pending deallocations.
//!
//! Freeing pinned or managed memory waits for the whole device. So a program may put frees off: up
//! to a number of allocations and bytes of all kinds together, or all of them for the time of a
//! call. Memory that was put off is given back at once where memory is short.
//!
//! Nothing is put off unless the program asks for it: device memory is freed in stream order, which
//! costs little.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use crate::{
    Context, allocation::DeviceMemory, backend::Device, context::ContextCore, deferred_drop::Owner,
    lock::lock,
};

/// How much memory that was dropped may wait before it is given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleaseLimits {
    /// Most allocations that wait; one more, and all are given back.
    pub count: usize,
    /// Most bytes that wait, of all kinds; one more, and all are given back.
    pub len_bytes: usize,
}

impl ReleaseLimits {
    /// At most `count` allocations of at most `len_bytes` together. The default, none of none, puts
    /// nothing off.
    #[must_use]
    pub const fn new(count: usize, len_bytes: usize) -> Self {
        Self { count, len_bytes }
    }
}

/// Memory that was dropped and waits to be given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingReleases {
    /// Allocations.
    pub count: usize,
    /// Bytes of them.
    pub len_bytes: usize,
}

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
        self.0.releases.change(&self.0, |state| state.limits = limits);
    }

    /// Runs `f`; memory of this context that is dropped meanwhile, on any thread, waits until it
    /// returns or unwinds, however much it is. Such calls nest: the outermost decides. Then the
    /// [limits](Self::set_release_limits) hold again.
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
        self.0.releases.change(&self.0, |state| state.scopes += 1);
        // In a frame of the library's own: nobody can forget it, and unwinding drops it.
        let _scope = Deferral(&self.0);
        f()
    }

    /// Gives back everything that waits, also inside [`defer_cleanup`](Self::defer_cleanup). Errors
    /// go to [`take_errors`](Self::take_errors). Blocks as long as the driver does.
    pub fn release_pending(&self) {
        self.0.releases.flush(&self.0);
    }

    /// What waits to be given back.
    #[must_use]
    pub fn pending_releases(&self) -> PendingReleases {
        let state = lock(&self.0.releases.state);
        PendingReleases { count: state.pending.len(), len_bytes: state.len_bytes }
    }
}

/// A call of [`Context::defer_cleanup`], until this is dropped.
struct Deferral<'c, D: Device>(&'c ContextCore<D>);

impl<D: Device> Drop for Deferral<'_, D> {
    fn drop(&mut self) {
        self.0.releases.change(self.0, |state| state.scopes -= 1);
    }
}

/// What waits in one context.
#[derive(Debug)]
pub(crate) struct Releases<D: Device> {
    /// Whether anything may wait, as the state says; asked first, without its lock.
    is_deferring: AtomicBool,
    state: Mutex<State<D>>,
    /// Who frees device memory.
    core: Weak<ContextCore<D>>,
}

#[derive(Debug)]
struct State<D: Device> {
    /// Oldest first.
    pending: VecDeque<(Pending<D>, usize)>,
    len_bytes: usize,
    limits: ReleaseLimits,
    /// Calls of `defer_cleanup` that run.
    scopes: usize,
}

/// One of them.
pub(crate) enum Pending<D: Device> {
    /// To be freed in stream order.
    Device(DeviceMemory<D>),
    /// To be dropped. Nothing uses it any more.
    Owner(Owner),
}

impl<D: Device> State<D> {
    fn is_deferring(&self) -> bool {
        self.scopes > 0 || self.limits != ReleaseLimits::default()
    }

    fn is_over(&self) -> bool {
        self.scopes == 0 && (self.pending.len() > self.limits.count || self.len_bytes > self.limits.len_bytes)
    }
}

impl<D: Device> Releases<D> {
    pub(crate) fn new(core: &Weak<ContextCore<D>>) -> Self {
        let (limits, scopes) = (ReleaseLimits::default(), 0);
        let state = Mutex::new(State { pending: VecDeque::new(), len_bytes: 0, limits, scopes });
        Self { is_deferring: AtomicBool::new(false), state, core: core.clone() }
    }

    /// Whether what is dropped now may have to wait.
    pub(crate) fn is_deferring(&self) -> bool {
        self.is_deferring.load(Relaxed)
    }

    fn change(&self, core: &ContextCore<D>, change: impl FnOnce(&mut State<D>)) {
        let mut state = lock(&self.state);
        change(&mut state);
        self.is_deferring.store(state.is_deferring(), Relaxed);
        let is_over = state.is_over();
        drop(state);
        if is_over {
            self.flush(core);
        }
    }

    /// Puts something off, or returns it for release now.
    #[must_use = "what is answered is to be released"]
    pub(crate) fn defer(&self, item: Pending<D>, len_bytes: usize) -> Option<Pending<D>> {
        // A context that goes away has no later call that could release it.
        let Some(core) = self.core.upgrade() else { return Some(item) };
        let mut state = lock(&self.state);
        if !state.is_deferring() {
            return Some(item);
        }
        state.pending.push_back((item, len_bytes));
        state.len_bytes += len_bytes;
        let is_over = state.is_over();
        drop(state);
        if is_over {
            self.flush(&core);
        }
        None
    }

    /// Gives back what waits, and says how much that was. No lock is held for the driver; failures
    /// are reported, and the rest goes on.
    pub(crate) fn flush(&self, core: &ContextCore<D>) -> usize {
        // No more than now, so that other threads cannot keep this one busy.
        let count = lock(&self.state).pending.len();
        (0..count).map_while(|_| self.next().map(|item| core.release_now(item))).count()
    }

    /// The oldest. Taken out one by one, so that the rest stays right if one fails.
    fn next(&self) -> Option<Pending<D>> {
        let mut state = lock(&self.state);
        let (item, len_bytes) = state.pending.pop_front()?;
        state.len_bytes -= len_bytes;
        Some(item)
    }
}

impl<D: Device> ContextCore<D> {
    fn release_now(&self, item: Pending<D>) {
        match item {
            Pending::Device(memory) => memory.free(self),
            Pending::Owner(owner) => self.drop_owner(owner),
        }
    }
}

impl<D: Device> Drop for ContextCore<D> {
    /// No later call releases what waits.
    fn drop(&mut self) {
        while let Some(item) = self.releases.next() {
            self.release_now(item);
        }
        // The device keeps what it found until it is asked, and may outlive the context.
        let Self { tracker, device, .. } = self;
        let tracker = tracker.get_mut().unwrap_or_else(PoisonError::into_inner);
        tracker.ask_of_finished(&|gather| device.take_index_error(gather));
    }
}

impl<D: Device> fmt::Debug for Pending<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(memory) => f.debug_tuple("Device").field(memory).finish(),
            Self::Owner(_) => f.write_str("Owner"),
        }
    }
}
