//! Questions and settings of a program about the memory of its context.

use std::sync::Arc;

use super::{
    AllocationRecord, Ledger, MemoryHook, MemoryKind, MemoryLimit, MemoryStatistics, limit::part_of,
    peak::Peaks,
};
use crate::{Context, Result, backend::Device, context::ContextCore, lock::lock};

impl<D: Device> Context<D> {
    /// Sets the hook of allocations, or none. The previous hook is dropped. Does not synchronize.
    pub fn set_memory_hook(&self, hook: Option<Arc<dyn MemoryHook>>) {
        self.0.watch.set(hook);
    }

    /// Limits the memory that arrays take. Memory already over the limit stays. An allocation that
    /// would exceed it is refused, after the same attempts to make room as when the device is full.
    /// Does not synchronize.
    ///
    /// ```
    /// use devarray::{Array, Context, Error, memory::MemoryLimit};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// context.set_memory_limit(MemoryLimit::Bytes(1000))?;
    /// let kept = Array::<u8, _>::zeros(&stream, &[600])?;
    /// let refused = Array::<u8, _>::zeros(&stream, &[500]).unwrap_err();
    /// assert!(matches!(refused, Error::OutOfMemory { limited: true, free_bytes: Some(400), .. }));
    ///
    /// context.set_memory_limit(MemoryLimit::Fraction(0.5))?;
    /// Array::<u8, _>::zeros(&stream, &[500])?;
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A fraction was given and the device could not state its number of bytes; the limit stays as
    /// it was.
    #[doc(alias = "set_limit")]
    pub fn set_memory_limit(&self, limit: MemoryLimit) -> Result<()> {
        let limit_bytes = match limit {
            MemoryLimit::Unlimited => usize::MAX,
            MemoryLimit::Bytes(bytes) => bytes,
            MemoryLimit::Fraction(fraction) => part_of(self.0.device.memory()?.total_bytes, fraction),
        };
        lock(&self.0.tracker).ledger.limit_bytes = limit_bytes;
        Ok(())
    }

    /// Begins to watch the peak of live memory.
    ///
    /// ```
    /// use devarray::{Array, Context, memory::MemoryKind};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// drop(Array::<u8, _>::zeros(&stream, &[1000])?); // before
    /// let kept = Array::<u8, _>::zeros(&stream, &[10])?;
    ///
    /// let scope = context.peak_scope();
    /// drop(Array::<u8, _>::zeros(&stream, &[100])?);
    /// assert_eq!(scope.peak_bytes(MemoryKind::Device), 110); // what was there already counts
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use = "a scope watches until it is dropped"]
    pub fn peak_scope(&self) -> PeakScope<'_, D> {
        let peaks = Arc::default();
        lock(&self.0.tracker).ledger.watch_peaks(&peaks);
        self.0.pinned.with_ledger(|ledger| ledger.watch_peaks(&peaks));
        PeakScope { context: self, peaks }
    }

    /// Statistics of each kind of memory: what the program holds now, and the most that it held.
    /// Does not synchronize.
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
        self.0.collect();
        let of_host = self.0.pinned.with_ledger(|ledger| ledger.statistics());
        lock(&self.0.tracker).ledger.statistics().join(&of_host)
    }

    /// Lists every live allocation, by kind and number. At the end of a program these are its
    /// leaks. Does not synchronize.
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

/// Watches the memory of a context. [`Context::peak_scope`] begins it. Scopes may nest and overlap.
#[derive(Debug)]
pub struct PeakScope<'c, D: Device> {
    context: &'c Context<D>,
    peaks: Arc<Peaks>,
}

impl<D: Device> PeakScope<'_, D> {
    /// The most bytes of a kind that were live at any time since the scope began, including memory
    /// that was live before.
    #[must_use]
    pub fn peak_bytes(&self, kind: MemoryKind) -> usize {
        let core = &self.context.0;
        lock(&core.tracker).ledger.fold();
        core.pinned.with_ledger(Ledger::fold);
        self.peaks.of(kind)
    }
}

impl<D: Device> ContextCore<D> {
    /// Every allocation that is live.
    pub(crate) fn live_allocations(&self) -> Vec<AllocationRecord> {
        self.collect();
        let mut live: Vec<_> = lock(&self.tracker).ledger.records().copied().collect();
        self.pinned.with_ledger(|ledger| live.extend(ledger.records()));
        live.sort_by_key(|record| (record.kind, record.number));
        live
    }
}
