//! Pinned memory counted, limited, and kept for reuse.
//!
//! Pinning costs a driver call that takes longer than most copies, and takes memory from everybody. So a context counts
//! what its program has pinned, refuses what goes over a limit, and, if told to, keeps what was given back.

use std::{
    collections::VecDeque,
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use crate::{
    Context, Error, Result,
    backend::{Device, HostBuffer, HostFlags},
    context::lock,
};

/// Host memory that a context's program holds for the device. Staging memory of the library is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostMemoryStatistics {
    /// Pinned allocations in use, those of mapped arrays included.
    pub pinned: usize,
    /// Bytes of them.
    pub pinned_bytes: usize,
    /// Most bytes of them at any time.
    pub peak_pinned_bytes: usize,
    /// Bytes kept for reuse.
    pub idle_bytes: usize,
    /// Allocations served by the device.
    pub allocations: u64,
    /// Allocations served from what was kept.
    pub reuses: u64,
    /// Ranges of the program's own memory that are pinned now.
    pub registered: usize,
    /// Bytes of them.
    pub registered_bytes: usize,
    /// Managed allocations in use.
    pub managed: usize,
    /// Bytes of them.
    pub managed_bytes: usize,
}

/// How much pinned memory a context's program may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedLimits {
    /// Most bytes in use and kept, together.
    pub total_bytes: usize,
    /// Most bytes kept for reuse; 0 keeps nothing.
    pub idle_bytes: usize,
}

impl PinnedLimits {
    /// At most `total_bytes` in use and kept, of these at most `idle_bytes` kept.
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

impl<D: Device> Context<D> {
    /// Pinned, registered and managed memory that the program holds in this context.
    #[must_use]
    pub fn host_memory_statistics(&self) -> HostMemoryStatistics {
        self.0.custody.collect(&self.0);
        lock(&self.0.pinned.0).statistics
    }

    /// Limits the program's pinned memory, and says how much of what is given back is kept for reuse. What is over the
    /// new limits is kept no longer; what is in use stays.
    ///
    /// ```
    /// use devarray::{Context, PinnedLimits};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// context.set_pinned_limits(PinnedLimits::new(1 << 20, 1 << 16));
    /// drop(context.pinned::<u8>(1000)?);
    /// let again = context.pinned::<u8>(1000)?; // the same memory, zeroed again
    /// assert_eq!(context.host_memory_statistics().reuses, 1);
    /// assert!(context.pinned::<u8>(2 << 20).is_err());
    /// # Ok::<(), devarray::Error>(())
    /// ```
    pub fn set_pinned_limits(&self, limits: PinnedLimits) {
        let mut state = lock(&self.0.pinned.0);
        state.limits = limits;
        let surplus = state.shrink(limits.idle_bytes, 0);
        drop(state);
        drop(surplus);
    }
}

/// Where the pool has its memory from. Not a closure, which would hide the caller whose line reports name.
pub(crate) trait Source<D: Device> {
    #[track_caller]
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<D::HostBuffer>;
}

/// The pool of one context.
#[derive(Debug)]
pub(crate) struct PinnedPool<D: Device>(Mutex<State<D>>);

#[derive(Debug)]
struct State<D: Device> {
    /// Oldest first.
    idle: VecDeque<(HostFlags, D::HostBuffer)>,
    limits: PinnedLimits,
    statistics: HostMemoryStatistics,
}

impl<D: Device> State<D> {
    /// Takes the oldest out until at most `idle_bytes` are kept and `room_bytes` more fit, as far as that helps.
    fn shrink(&mut self, idle_bytes: usize, room_bytes: usize) -> Vec<(HostFlags, D::HostBuffer)> {
        let mut surplus = Vec::new();
        while self.statistics.idle_bytes > idle_bytes || self.held_bytes() > self.room_for(room_bytes) {
            let Some(oldest) = self.idle.pop_front() else { break };
            self.statistics.idle_bytes -= oldest.1.len_bytes();
            surplus.push(oldest);
        }
        surplus
    }

    fn held_bytes(&self) -> usize {
        self.statistics.pinned_bytes + self.statistics.idle_bytes
    }

    fn room_for(&self, len_bytes: usize) -> usize {
        self.limits.total_bytes.saturating_sub(len_bytes)
    }

    fn count_in(&mut self, len_bytes: usize) {
        let statistics = &mut self.statistics;
        statistics.pinned += 1;
        statistics.pinned_bytes += len_bytes;
        statistics.peak_pinned_bytes = statistics.peak_pinned_bytes.max(statistics.pinned_bytes);
    }

    fn count_out(&mut self, len_bytes: usize) {
        self.statistics.pinned -= 1;
        self.statistics.pinned_bytes -= len_bytes;
    }
}

impl<D: Device> PinnedPool<D> {
    /// Memory of at least `len_bytes`, and whether it was used before, so is not zeroed.
    #[track_caller]
    pub(crate) fn acquire(
        self: &Arc<Self>,
        backend: &'static str,
        len_bytes: NonZeroUsize,
        flags: HostFlags,
        source: &impl Source<D>,
    ) -> Result<(Pooled<D>, bool)> {
        let mut state = lock(&self.0);
        // Of what is kept, nothing that wastes more than an eighth.
        let most = len_bytes.get().saturating_add(len_bytes.get() / 8).max(MIN_BYTES);
        let fits = |(of, memory): &(HostFlags, D::HostBuffer)| {
            *of == flags && (len_bytes.get()..=most).contains(&memory.len_bytes())
        };
        if let Some((_, memory)) = state.idle.iter().rposition(fits).and_then(|at| state.idle.remove(at)) {
            state.statistics.idle_bytes -= memory.len_bytes();
            state.statistics.reuses += 1;
            state.count_in(memory.len_bytes());
            return Ok((self.pooled(memory, flags), true));
        }
        let size = if state.limits.idle_bytes > 0 { rounded(len_bytes) } else { len_bytes };
        let surplus = state.shrink(usize::MAX, size.get());
        if state.held_bytes() > state.room_for(size.get()) || size.get() > state.limits.total_bytes {
            let (total, held) = (state.limits.total_bytes, state.held_bytes());
            drop(state);
            return Err(Error::OutOfMemory {
                backend,
                operation: "pinned",
                requested_bytes: len_bytes.get(),
                free_bytes: Some(total.saturating_sub(held)),
                total_bytes: Some(total),
            });
        }
        // Reserved before the call, which no lock is held for.
        state.count_in(size.get());
        drop(state);
        drop(surplus);
        let mut memory = source.alloc(size);
        if memory.as_ref().is_err_and(Error::is_retryable) {
            let kept = lock(&self.0).shrink(0, 0);
            if !kept.is_empty() {
                drop(kept);
                memory = source.alloc(size);
            }
        }
        let mut state = lock(&self.0);
        state.count_out(size.get());
        let memory = memory?;
        state.statistics.allocations += 1;
        state.count_in(memory.len_bytes());
        Ok((self.pooled(memory, flags), false))
    }

    fn pooled(self: &Arc<Self>, memory: D::HostBuffer, flags: HostFlags) -> Pooled<D> {
        Pooled { memory: Some(memory), flags, slow_read: None, pool: Arc::clone(self) }
    }

    /// Changes the counts of other kinds.
    pub(crate) fn count(&self, change: impl FnOnce(&mut HostMemoryStatistics)) {
        change(&mut lock(&self.0).statistics);
    }
}

impl<D: Device> Default for PinnedPool<D> {
    fn default() -> Self {
        let (limits, statistics) = (PinnedLimits::default(), HostMemoryStatistics::default());
        Self(Mutex::new(State { idle: VecDeque::new(), limits, statistics }))
    }
}

/// Sizes of memory that is kept are multiples of this at least.
const MIN_BYTES: usize = 64;

/// The next size that has three significant bits after the first: an eighth more at most, so that sizes meet again.
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
    /// Taken out by `drop` alone.
    memory: Option<D::HostBuffer>,
    pub(crate) flags: HostFlags,
    /// Whom to tell of reads that are slow.
    pub(crate) slow_read: Option<fn(&D::HostBuffer)>,
    pool: Arc<PinnedPool<D>>,
}

impl<D: Device> Pooled<D> {
    pub(crate) fn memory(&self) -> &D::HostBuffer {
        self.memory.as_ref().expect("taken out by drop alone")
    }
}

impl<D: Device> Drop for Pooled<D> {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        let mut state = lock(&self.pool.0);
        state.count_out(memory.len_bytes());
        state.statistics.idle_bytes += memory.len_bytes();
        state.idle.push_back((self.flags, memory));
        let idle_bytes = state.limits.idle_bytes;
        let surplus = state.shrink(idle_bytes, 0);
        drop(state);
        drop(surplus);
    }
}

impl<D: Device> fmt::Debug for Pooled<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled")
            .field("memory", &self.memory)
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}
