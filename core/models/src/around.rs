//! The rest of core that the sources need, in a few lines: no device, no arrays.

use std::sync::Arc;

use crate::{
    memory::{MemoryHook, Releases, Watch},
    pinned_pool::PinnedPool,
};

pub(crate) type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub(crate) enum Error {
    HookPanicked { backend: &'static str, operation: &'static str, message: String },
    Limited,
}

impl Error {
    pub(crate) fn is_retryable(&self) -> bool {
        matches!(self, Self::Limited)
    }

    pub(crate) fn with_live<T>(self, _: impl FnOnce() -> Vec<T>) -> Self {
        self
    }
}

pub(crate) struct Context<D: backend::Device>(pub(crate) Arc<context::ContextCore<D>>);

impl<D: backend::Device> Context<D> {
    pub(crate) fn new() -> Self {
        Self(Arc::new_cyclic(|core: &std::sync::Weak<context::ContextCore<D>>| {
            let core: std::sync::Weak<dyn crate::memory::Release<D>> = core.clone();
            let (watch, releases) = (Arc::new(Watch::new("model")), Arc::new(Releases::new(core)));
            let pinned = Arc::new(PinnedPool::new(Arc::clone(&watch), Arc::clone(&releases)));
            context::ContextCore { watch, releases, pinned }
        }))
    }
}

pub(crate) mod backend {
    pub(crate) trait Device: std::fmt::Debug + Send + Sync + Sized + 'static {
        type Buffer: std::fmt::Debug + Send + Sync;
        type HostBuffer: HostBuffer;
    }

    pub(crate) trait HostBuffer: std::fmt::Debug + Send + Sync + 'static {
        fn len_bytes(&self) -> usize;
    }

    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct HostFlags {
        pub(crate) mapped: bool,
    }
}

pub(crate) mod lock {
    use loom::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

pub(crate) mod hazards {
    #[derive(Debug)]
    pub(crate) struct AccessLog;

    #[derive(Debug)]
    pub(crate) struct LaneId;
}

pub(crate) mod context {
    use super::{Arc, PinnedPool, Releases, Watch, backend::Device};

    pub(crate) struct ContextCore<D: Device> {
        pub(crate) watch: Arc<Watch>,
        pub(crate) releases: Arc<Releases<D>>,
        pub(crate) pinned: Arc<PinnedPool<D>>,
    }

    impl<D: Device> ContextCore<D> {
        /// No transfer is in flight.
        pub(crate) fn collect(&self) {}
    }
}

pub(crate) mod kernel {
    /// No host function of a kernel runs.
    pub(crate) struct Running;

    impl Running {
        pub(crate) fn check() {}
    }
}

pub(crate) mod deferred_drop {
    pub(crate) type Owner = Box<dyn Send + Sync>;
}

pub(crate) mod memory {
    use std::panic::Location;

    pub(crate) use crate::memory::hook::MemoryHook;

    #[derive(Debug, Clone, Copy)]
    pub struct AllocationRecord {
        pub len_bytes: usize,
    }

    #[derive(Debug, Clone, Copy)]
    pub enum AllocationState {
        Pending,
    }

    #[derive(Debug, Clone, Copy)]
    pub enum MemoryKind {
        Pinned,
        Mapped,
        Registered,
        Managed,
    }

    pub struct LiveByTag;

    #[derive(Debug)]
    pub(crate) struct LedgerEntry(MemoryKind, usize);

    /// Counts, and nothing else.
    #[derive(Debug, Default)]
    pub(crate) struct Ledger([(usize, usize); 4]);

    impl Ledger {
        pub(crate) fn enter(&mut self, kind: MemoryKind, len_bytes: usize, _: &Location<'_>) -> LedgerEntry {
            self.0[kind as usize].0 += 1;
            self.0[kind as usize].1 += len_bytes;
            LedgerEntry(kind, len_bytes)
        }

        pub(crate) fn leave(&mut self, LedgerEntry(kind, len_bytes): LedgerEntry) {
            self.0[kind as usize].0 -= 1;
            self.0[kind as usize].1 -= len_bytes;
        }

        pub(crate) fn set_state(&mut self, _: &LedgerEntry, _: AllocationState) {}

        pub(crate) fn record(&self, entry: &LedgerEntry) -> AllocationRecord {
            AllocationRecord { len_bytes: entry.1 }
        }

        pub(crate) fn live(&self, kind: MemoryKind) -> usize {
            self.0[kind as usize].0
        }

        pub(crate) fn live_bytes(&self, kind: MemoryKind) -> usize {
            self.0[kind as usize].1
        }

        pub(crate) fn live_by_tag(&self, _: impl Fn(MemoryKind) -> bool) -> Vec<LiveByTag> {
            Vec::new()
        }
    }

    pub(crate) fn limited(_: &str, _: &str, _: usize, _: (usize, usize)) -> super::Error {
        super::Error::Limited
    }
}
