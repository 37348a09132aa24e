//! Memory that is given back later: Numba's pending deallocations.
//!
//! Freeing pinned or managed memory waits for the whole device. So a program may put frees off:
//! until a number of allocations, or of bytes of all kinds together, is exceeded; or all of them
//! until a call has ended. Where memory is short, memory that was put off is given back at once.
//!
//! Nothing is put off unless the program asks for it. Device memory is freed in stream order, which
//! costs little.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Mutex, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use super::LedgerEntry;
use crate::{
    backend::Device,
    deferred_drop::Owner,
    hazards::{AccessLog, LaneId},
    lock::lock,
};

/// The most dropped memory that may wait before it is given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleaseLimits {
    /// The most allocations that wait. If there is one more, all are given back.
    pub count: usize,
    /// The most bytes that wait, of all kinds. If there is one more, all are given back.
    pub len_bytes: usize,
}

impl ReleaseLimits {
    /// Limits waiting memory to `count` allocations of `len_bytes` together. The default is no
    /// allocation and no byte, so that nothing waits.
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
    /// Bytes of these allocations.
    pub len_bytes: usize,
}

/// Memory that waits to be given back in one context.
#[derive(Debug)]
pub(crate) struct Releases<D: Device> {
    /// Whether anything may wait. It follows from the state, and can be read without its lock.
    is_deferring: AtomicBool,
    pub(super) state: Mutex<State<D>>,
    /// The context, which frees device memory.
    core: Weak<dyn Release<D>>,
}

#[derive(Debug)]
pub(super) struct State<D: Device> {
    /// Oldest first.
    pub(super) pending: VecDeque<(Pending<D>, usize)>,
    pub(super) len_bytes: usize,
    pub(super) limits: ReleaseLimits,
    /// The number of running calls of `defer_cleanup`.
    pub(super) scopes: usize,
}

/// The context, which gives memory back.
pub(crate) trait Release<D: Device>: Send + Sync {
    /// Frees device memory in stream order; drops an owner.
    fn release_now(&self, item: Pending<D>);
}

/// Device memory that nobody holds and that is not freed yet. Dropping it leaks it.
#[derive(Debug)]
pub(crate) struct DeviceMemory<D: Device> {
    pub(crate) buffer: D::Buffer,
    pub(crate) entry: LedgerEntry,
    pub(crate) home: LaneId,
    pub(crate) uses: AccessLog,
}

/// Memory that waits.
pub(crate) enum Pending<D: Device> {
    /// Memory to be freed in stream order.
    Device(DeviceMemory<D>),
    /// An owner to be dropped. Nothing uses its memory any more.
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
    pub(crate) fn new(core: Weak<dyn Release<D>>) -> Self {
        let (limits, scopes) = (ReleaseLimits::default(), 0);
        let state = Mutex::new(State { pending: VecDeque::new(), len_bytes: 0, limits, scopes });
        Self { is_deferring: AtomicBool::new(false), state, core }
    }

    /// Whether memory dropped now may have to wait.
    pub(crate) fn is_deferring(&self) -> bool {
        self.is_deferring.load(Relaxed)
    }

    pub(super) fn change(&self, core: &dyn Release<D>, change: impl FnOnce(&mut State<D>)) {
        let mut state = lock(&self.state);
        change(&mut state);
        self.is_deferring.store(state.is_deferring(), Relaxed);
        let is_over = state.is_over();
        drop(state);
        if is_over {
            self.flush(core);
        }
    }

    /// Puts an item off, or returns it for release now.
    #[must_use = "what is answered is to be released"]
    pub(crate) fn defer(&self, item: Pending<D>, len_bytes: usize) -> Option<Pending<D>> {
        // A context that is being dropped has no later call that could release it.
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
            self.flush(&*core);
        }
        None
    }

    /// Gives back what waits, and returns how much that was. No lock is held while the driver
    /// works. Failures are reported, and the rest continues.
    pub(crate) fn flush(&self, core: &dyn Release<D>) -> usize {
        // Only what waits now is released, so that other threads cannot keep this one busy.
        let count = lock(&self.state).pending.len();
        (0..count).map_while(|_| self.next().map(|item| core.release_now(item))).count()
    }

    /// Takes the oldest item. Items are taken one by one, so that the rest stays right if one
    /// fails.
    pub(super) fn next(&self) -> Option<Pending<D>> {
        let mut state = lock(&self.state);
        let (item, len_bytes) = state.pending.pop_front()?;
        state.len_bytes -= len_bytes;
        Some(item)
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
