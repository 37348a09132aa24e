//! Counts and limits pinned memory, and keeps it for reuse.
//!
//! Pinning needs a driver call that takes longer than most copies, and takes memory from all other
//! programs. So a context counts the pinned memory of its program, refuses more than a limit, and,
//! if told to, keeps returned memory for reuse.

mod context;

use std::{
    collections::VecDeque,
    fmt,
    mem::ManuallyDrop,
    num::NonZeroUsize,
    panic::Location,
    sync::{Arc, Mutex, MutexGuard},
};

use crate::{
    Error, Result,
    backend::{Device, HostBuffer, HostFlags},
    deferred_drop::Owner,
    kernel::Running,
    lock::lock,
    memory::{
        AllocationState, Ledger, LedgerEntry, LiveByTag, MemoryKind, Pending, Releases, Watch, limited,
    },
};

/// Host memory that a context's program holds for the device. Staging memory of the library is not
/// counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostMemoryStatistics {
    /// Pinned allocations in use, including mapped arrays.
    pub pinned: usize,
    /// Bytes of pinned allocations.
    pub pinned_bytes: usize,
    /// The most bytes of them at any time.
    pub peak_pinned_bytes: usize,
    /// Bytes kept for reuse.
    pub idle_bytes: usize,
    /// Allocations served by the device.
    pub allocations: u64,
    /// Allocations served from kept memory.
    pub reuses: u64,
    /// Ranges of the program's own memory that are pinned at present.
    pub registered: usize,
    /// Bytes of registered ranges.
    pub registered_bytes: usize,
    /// Managed allocations in use.
    pub managed: usize,
    /// Bytes of managed allocations.
    pub managed_bytes: usize,
}

/// The most pinned memory that a context's program may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedLimits {
    /// The most bytes in use and kept, together.
    pub total_bytes: usize,
    /// The most bytes kept for reuse; 0 keeps nothing.
    pub idle_bytes: usize,
}

impl PinnedLimits {
    /// Allows `total_bytes` in use and kept together, and `idle_bytes` of them kept.
    #[must_use]
    pub const fn new(total_bytes: usize, idle_bytes: usize) -> Self {
        Self { total_bytes, idle_bytes }
    }
}

impl Default for PinnedLimits {
    /// No limit, and nothing kept.
    fn default() -> Self {
        Self::new(usize::MAX, 0)
    }
}

/// The source of the pool's memory. It is not a closure, which would hide the caller's line from
/// reports.
pub(crate) trait Source<D: Device> {
    #[track_caller]
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<D::HostBuffer>;
}

/// The pool of one context.
pub(crate) struct PinnedPool<D: Device> {
    state: Mutex<State<D>>,
    watch: Arc<Watch>,
    releases: Arc<Releases<D>>,
}

#[derive(Debug)]
struct State<D: Device> {
    /// Oldest first.
    idle: VecDeque<(HostFlags, D::HostBuffer)>,
    limits: PinnedLimits,
    /// Live memory of all kinds except device memory.
    ledger: Ledger,
    /// Bytes that are being requested from the device.
    asked_bytes: usize,
    peak_bytes: usize,
    idle_bytes: usize,
    allocations: u64,
    reuses: u64,
}

impl<D: Device> State<D> {
    /// Takes out the oldest buffers until at most `idle_bytes` are kept and `room_bytes` more fit,
    /// or none is left.
    fn shrink(&mut self, idle_bytes: usize, room_bytes: usize) -> Vec<(HostFlags, D::HostBuffer)> {
        let mut surplus = Vec::new();
        while self.idle_bytes > idle_bytes || self.held_bytes() > self.room_for(room_bytes) {
            let Some(oldest) = self.idle.pop_front() else { break };
            self.idle_bytes -= oldest.1.len_bytes();
            surplus.push(oldest);
        }
        surplus
    }

    /// Bytes in use.
    fn pinned_bytes(&self) -> usize {
        self.ledger.live_bytes(MemoryKind::Pinned) + self.ledger.live_bytes(MemoryKind::Mapped)
    }

    /// Bytes in use, requested, and kept.
    fn held_bytes(&self) -> usize {
        self.pinned_bytes() + self.asked_bytes + self.idle_bytes
    }

    fn room_for(&self, len_bytes: usize) -> usize {
        self.limits.total_bytes.saturating_sub(len_bytes)
    }

    /// Enters memory that a caller gets.
    fn enter(
        &mut self,
        flags: HostFlags,
        len_bytes: usize,
        location: &'static Location<'static>,
    ) -> LedgerEntry {
        let kind = if flags.mapped { MemoryKind::Mapped } else { MemoryKind::Pinned };
        let entry = self.ledger.enter(kind, len_bytes, location);
        self.peak_bytes = self.peak_bytes.max(self.pinned_bytes());
        entry
    }

    /// Pinned memory in use, by tag.
    fn live_by_tag(&self) -> Vec<LiveByTag> {
        self.ledger.live_by_tag(|kind| matches!(kind, MemoryKind::Pinned | MemoryKind::Mapped))
    }

    fn statistics(&self) -> HostMemoryStatistics {
        let (count, bytes) = (|kind| self.ledger.live(kind), |kind| self.ledger.live_bytes(kind));
        HostMemoryStatistics {
            pinned: count(MemoryKind::Pinned) + count(MemoryKind::Mapped),
            pinned_bytes: self.pinned_bytes(),
            peak_pinned_bytes: self.peak_bytes,
            idle_bytes: self.idle_bytes,
            allocations: self.allocations,
            reuses: self.reuses,
            registered: count(MemoryKind::Registered),
            registered_bytes: bytes(MemoryKind::Registered),
            managed: count(MemoryKind::Managed),
            managed_bytes: bytes(MemoryKind::Managed),
        }
    }
}

impl<D: Device> PinnedPool<D> {
    /// Gets memory of at least `len_bytes`. Returns whether it is reused, and therefore not zeroed.
    #[track_caller]
    pub(crate) fn acquire(
        self: &Arc<Self>,
        backend: &'static str,
        len_bytes: NonZeroUsize,
        flags: HostFlags,
        source: &impl Source<D>,
    ) -> Result<(Pooled<D>, bool)> {
        let location = Location::caller();
        let mut state = lock(&self.state);
        // Reuse an idle buffer only if it is at most 12.5 % larger than requested.
        let most = len_bytes.get().saturating_add(len_bytes.get() / 8).max(MIN_BYTES);
        let fits = |(of, memory): &(HostFlags, D::HostBuffer)| {
            *of == flags && (len_bytes.get()..=most).contains(&memory.len_bytes())
        };
        if let Some((_, memory)) = state.idle.iter().rposition(fits).and_then(|at| state.idle.remove(at)) {
            state.idle_bytes -= memory.len_bytes();
            state.reuses += 1;
            return Ok((self.pooled(state, memory, flags, location), true));
        }
        let used_bytes = state.pinned_bytes() + state.asked_bytes;
        let room_bytes = state.room_for(used_bytes);
        if len_bytes.get() > room_bytes {
            let error = limited(backend, "pinned", len_bytes.get(), (used_bytes, state.limits.total_bytes));
            return Err(error.with_live(|| state.live_by_tag()));
        }
        // Memory that will be kept is rounded up to serve more requests, if there is room.
        let keeps = |size: &NonZeroUsize| size.get() <= room_bytes.min(state.limits.idle_bytes);
        let size = Some(rounded(len_bytes)).filter(keeps).unwrap_or(len_bytes);
        let surplus = state.shrink(usize::MAX, size.get());
        // Reserved before the call to the device, which runs without a lock.
        state.asked_bytes += size.get();
        drop(state);
        drop(surplus);
        let mut memory = source.alloc(size);
        if memory.as_ref().is_err_and(Error::is_retryable) {
            let kept = lock(&self.state).shrink(0, 0);
            if !kept.is_empty() {
                drop(kept);
                memory = source.alloc(size);
            }
        }
        let mut state = lock(&self.state);
        state.asked_bytes -= size.get();
        let memory = memory.map_err(|error| error.with_live(|| state.live_by_tag()))?;
        state.allocations += 1;
        Ok((self.pooled(state, memory, flags, location), false))
    }

    /// Enters memory in the ledger, and tells the hook.
    fn pooled(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State<D>>,
        memory: D::HostBuffer,
        flags: HostFlags,
        location: &'static Location<'static>,
    ) -> Pooled<D> {
        let entry = state.enter(flags, memory.len_bytes(), location);
        let record = state.ledger.record(&entry);
        drop(state);
        let held = Some((memory, entry));
        let pooled = Pooled { held, flags, slow_read: None, may_wait: true, pool: Arc::clone(self) };
        self.watch.allocated(&record);
        pooled
    }

    /// Enters memory of another kind in the ledger, and tells the hook. `location` is the program's
    /// call.
    pub(crate) fn enter(
        &self,
        kind: MemoryKind,
        len_bytes: usize,
        location: &'static Location<'static>,
    ) -> LedgerEntry {
        let mut state = lock(&self.state);
        let entry = state.ledger.enter(kind, len_bytes, location);
        let record = state.ledger.record(&entry);
        drop(state);
        self.watch.allocated(&record);
        entry
    }

    /// Removes it from the ledger, and tells the hook.
    pub(crate) fn leave(&self, entry: LedgerEntry) {
        let mut state = lock(&self.state);
        let record = state.ledger.record(&entry);
        state.ledger.leave(entry);
        drop(state);
        self.watch.freed(&record);
    }

    /// Whether `len_bytes` more would be kept without freeing other memory.
    fn would_keep(&self, len_bytes: usize) -> bool {
        let state = lock(&self.state);
        state.idle_bytes.saturating_add(len_bytes) <= state.limits.idle_bytes
    }

    /// Whether memory dropped now should be released later. If so, the ledger marks this memory as
    /// waiting.
    pub(crate) fn puts_off(&self, entry: &LedgerEntry) -> bool {
        let puts_off = self.releases.is_deferring();
        if puts_off {
            lock(&self.state).ledger.set_state(entry, AllocationState::Pending);
        }
        puts_off
    }

    /// Lets an owner be dropped later, or drops it now if nothing waits after all.
    pub(crate) fn put_off(&self, owner: Owner, len_bytes: usize) {
        // This owner is the library's own, so its drop does not panic.
        drop(self.releases.defer(Pending::Owner(owner), len_bytes));
    }

    /// The ledger of all kinds of memory except device memory.
    pub(crate) fn with_ledger<R>(&self, use_ledger: impl FnOnce(&mut Ledger) -> R) -> R {
        use_ledger(&mut lock(&self.state).ledger)
    }

    /// A pool that keeps nothing, without a limit.
    pub(crate) fn new(watch: Arc<Watch>, releases: Arc<Releases<D>>) -> Self {
        let state = State {
            idle: VecDeque::new(),
            limits: PinnedLimits::default(),
            ledger: Ledger::default(),
            asked_bytes: 0,
            peak_bytes: 0,
            idle_bytes: 0,
            allocations: 0,
            reuses: 0,
        };
        Self { state: Mutex::new(state), watch, releases }
    }
}

/// Sizes of kept memory are multiples of at least this.
const MIN_BYTES: usize = 64;

/// The next size with at most three significant bits after the first, so that similar requests
/// share sizes. The next size is at most 12.5 % larger.
fn rounded(len_bytes: NonZeroUsize) -> NonZeroUsize {
    let step = (1_usize << len_bytes.ilog2()) / 8;
    len_bytes
        .get()
        .checked_next_multiple_of(step.max(MIN_BYTES))
        .and_then(NonZeroUsize::new)
        .unwrap_or(len_bytes)
}

/// Pinned memory in use: counted until it is dropped, then kept or freed.
pub(crate) struct Pooled<D: Device> {
    /// `None` only once `drop` took it.
    held: Option<(D::HostBuffer, LedgerEntry)>,
    pub(crate) flags: HostFlags,
    /// Called when the memory is read, if reading it is slow.
    pub(crate) slow_read: Option<fn(&D::HostBuffer)>,
    /// Whether its release may be put off. It is put off at most once.
    may_wait: bool,
    pool: Arc<PinnedPool<D>>,
}

impl<D: Device> Pooled<D> {
    pub(crate) fn memory(&self) -> &D::HostBuffer {
        &self.held.as_ref().expect("taken out by drop alone").0
    }
}

impl<D: Device> Drop for Pooled<D> {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        // In the host function of a kernel this panics, and leaks the memory, because dropping the
        // memory would be a second panic.
        let held = ManuallyDrop::new(held);
        Running::check();
        let (memory, entry) = ManuallyDrop::into_inner(held);
        // Keeping memory for reuse costs nothing now, so it need not be put off.
        if self.may_wait && !self.pool.would_keep(memory.len_bytes()) && self.pool.puts_off(&entry) {
            let (len_bytes, pool) = (memory.len_bytes(), Arc::clone(&self.pool));
            let held = Some((memory, entry));
            let later = Self { held, flags: self.flags, slow_read: None, may_wait: false, pool };
            return self.pool.put_off(Box::new(later), len_bytes);
        }
        let mut state = lock(&self.pool.state);
        let record = state.ledger.record(&entry);
        state.ledger.leave(entry);
        state.idle_bytes += memory.len_bytes();
        state.idle.push_back((self.flags, memory));
        let idle_bytes = state.limits.idle_bytes;
        let surplus = state.shrink(idle_bytes, 0);
        drop(state);
        drop(surplus);
        self.pool.watch.freed(&record);
    }
}

impl<D: Device> fmt::Debug for Pooled<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled").field("held", &self.held).field("flags", &self.flags).finish_non_exhaustive()
    }
}
