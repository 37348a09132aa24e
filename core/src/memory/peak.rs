//! Peaks of a part of a program.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::MemoryKind;
use crate::{Context, backend::Device, lock::lock};

/// The most bytes of each kind that were live while somebody watched.
#[derive(Debug, Default)]
pub(crate) struct Peaks([AtomicUsize; MemoryKind::ALL.len()]);

impl Peaks {
    pub(super) fn raise(&self, kind: MemoryKind, len_bytes: usize) {
        self.0[kind as usize].fetch_max(len_bytes, Relaxed);
    }
}

/// Watches the memory of a context from [`Context::peak_scope`] on. Scopes may nest and overlap as
/// they like.
#[derive(Debug)]
pub struct PeakScope<'c, D: Device> {
    context: &'c Context<D>,
    peaks: Arc<Peaks>,
}

impl<D: Device> Context<D> {
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
}

impl<D: Device> PeakScope<'_, D> {
    /// Most bytes of a kind that were live at any time since the scope began, including memory that
    /// was live before.
    #[must_use]
    pub fn peak_bytes(&self, kind: MemoryKind) -> usize {
        let core = &self.context.0;
        lock(&core.tracker).ledger.fold();
        core.pinned.with_ledger(super::Ledger::fold);
        self.peaks.0[kind as usize].load(Relaxed)
    }
}
