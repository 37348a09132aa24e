//! How much memory of each kind.

use std::fmt;

use super::MemoryKind;
use crate::{Context, backend::Device, lock::lock, memory::AllocationRecord};

/// Memory of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindStatistics {
    /// Allocations that are live.
    pub live: usize,
    /// Bytes of them, as asked for: a device may set more aside.
    pub live_bytes: usize,
    /// Most bytes that were live at any time.
    pub peak_bytes: usize,
    /// Allocations made so far.
    pub allocations: u64,
    /// Allocations given back so far.
    pub frees: u64,
}

/// Memory of every kind that a context's program holds.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryStatistics(pub(super) [KindStatistics; MemoryKind::ALL.len()]);

impl MemoryStatistics {
    /// That of one kind.
    #[must_use]
    pub fn of(&self, kind: MemoryKind) -> KindStatistics {
        self.0[kind as usize]
    }

    /// Bytes that are live, of all kinds.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.0.iter().map(|of_kind| of_kind.live_bytes).sum()
    }

    /// Adds the kinds that another ledger keeps.
    fn join(mut self, other: &Self) -> Self {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if theirs.allocations > 0 {
                *mine = *theirs;
            }
        }
        self
    }
}

impl<D: Device> Context<D> {
    /// How much memory of each kind the program holds now, and held at most. Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context, memory::MemoryKind};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let kept = Array::<u8, _>::zeros(&stream, &[100])?;
    /// drop(Array::<u8, _>::zeros(&stream, &[50])?);
    /// let device = context.memory_statistics().of(MemoryKind::Device);
    /// assert_eq!((device.live, device.live_bytes, device.peak_bytes), (1, 100, 150));
    /// assert_eq!((device.allocations, device.frees), (2, 1));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn memory_statistics(&self) -> MemoryStatistics {
        self.0.deferred_drops.collect(&self.0);
        let of_host = self.0.pinned.with_ledger(|ledger| ledger.statistics());
        lock(&self.0.tracker).ledger.statistics().join(&of_host)
    }

    /// Every allocation that is live, by kind and number: at the end of a program, its leaks. Does
    /// not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// std::mem::forget(Array::<u8, _>::zeros(&stream, &[100])?);
    /// let leaks = context.live_allocations();
    /// assert!(leaks[0].to_string().starts_with("device memory, 100 bytes, number 1, allocated at "));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    #[doc(alias = "leaks")]
    pub fn live_allocations(&self) -> Vec<AllocationRecord> {
        self.0.live_allocations()
    }
}

impl<D: Device> crate::context::ContextCore<D> {
    /// Every allocation that is live.
    pub(crate) fn live_allocations(&self) -> Vec<AllocationRecord> {
        self.deferred_drops.collect(self);
        let mut live: Vec<_> = lock(&self.tracker).ledger.records().copied().collect();
        self.pinned.with_ledger(|ledger| live.extend(ledger.records()));
        live.sort_by_key(|record| (record.kind, record.number));
        live
    }
}

impl fmt::Debug for MemoryStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = MemoryKind::ALL.into_iter().filter(|&kind| self.of(kind).allocations > 0);
        let live = used.map(|kind| (kind, self.of(kind).live_bytes));
        f.write_str("MemoryStatistics of live bytes ")?;
        f.debug_map().entries(live).finish()
    }
}
